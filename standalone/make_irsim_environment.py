"""Make the Python that IR-SIM runs in beside Isaac Sim.

    python.sh standalone/make_irsim_environment.py --yes

It is a virtual environment of Isaac Sim's Python in the folder of the setting
``/exts/irsim_isaac/irsim_environment``. Without ``--yes`` nothing is made: what would be run is
printed, ready for a terminal.
"""

import argparse
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Make the Python that IR-SIM runs in.")
parser.add_argument("--yes", action="store_true", help="make it, by pip from the network")
parser.add_argument("--test", action="store_true", help="print what would be run and make nothing")
args, _ = parser.parse_known_args()

from isaacsim import SimulationApp

# A fast shutdown would end the process with 0 whatever happened.
simulation_app = SimulationApp({"headless": True, "fast_shutdown": False})

sys.path.append(str(Path(__file__).resolve().parents[1]))
from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.irsim_process import make_environment, making_commands

status = 0
if args.yes and not args.test:
    try:
        print(make_environment(progress=lambda done, total, what: print(f"{what} ...", flush=True)))
    except IrsimIsaacError as error:
        print(f"make_irsim_environment: {error}", file=sys.stderr)
        status = 2
else:
    print("nothing was made; with --yes this is run:")
    for line in making_commands():
        print(line)
simulation_app.close()
sys.exit(status)
