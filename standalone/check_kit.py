"""Check inside Isaac Sim that it is what the extension takes it for.

    python.sh standalone/check_kit.py

Every name of ``docs/kit_api.md`` is imported and its signature compared; then a lidar frame is
read, a robot is stepped and mirrored. One line a check, fit to be sent with a bug report.
"""

import argparse
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Check this Isaac Sim against what is used of it.")
parser.add_argument("--names", action="store_true", help="check the names and run nothing")
parser.add_argument("--test", action="store_true", help="the same: it runs for a moment only")
args, _ = parser.parse_known_args()

from isaacsim import SimulationApp

# A fast shutdown would end the process with 0 whatever happened.
simulation_app = SimulationApp({"headless": True, "fast_shutdown": False})

sys.path.append(str(Path(__file__).resolve().parents[1]))
from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.script import enable_extensions
from irsim_isaac.kit.self_check import check_names, report, self_check

try:
    enable_extensions()
except IrsimIsaacError as error:
    print(f"FAIL  start: {error}")
    status = 1
else:
    status = report(check_names() if args.names else self_check())
simulation_app.close()
sys.exit(status)
