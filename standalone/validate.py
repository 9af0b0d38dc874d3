"""Validate a scenario with the live Isaac Sim as one of its two simulators.

    python.sh standalone/validate.py warehouse -o out/isaac --left irsim --right isaac

It is ``irsim-isaac validate`` under Isaac Sim's Python, with the same arguments and exit codes:
0 good, 1 a threshold exceeded, 2 bad input.
"""

import argparse
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Validate a scenario with the live Isaac Sim.")
parser.add_argument("scenario", help="a scenario: a YAML file, or a bundled name")
parser.add_argument("-o", "--output", required=True, help="the folder to write to")
parser.add_argument("--left", help="the left simulator, in place of the scenario's")
parser.add_argument("--right", default="isaac", help="the right simulator")
parser.add_argument("--test", action="store_true", help="start, and only read the scenario")
args, _ = parser.parse_known_args()

from isaacsim import SimulationApp

# A fast shutdown would end the process with 0 whatever happened.
simulation_app = SimulationApp({"headless": True, "fast_shutdown": False})

sys.path.append(str(Path(__file__).resolve().parents[1]))
from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.packages import COMMANDS, require
from irsim_isaac.kit.script import enable_extensions


def validate() -> int:
    """Run the command and return its exit code."""
    require(COMMANDS, "validating")
    enable_extensions()
    if args.test:
        from irsim_isaac.validation import find_scenario, load_scenario

        load_scenario(find_scenario(args.scenario))
        return 0
    from irsim_isaac.cli import main

    given = ["validate", args.scenario, "-o", args.output, "--right", args.right]
    return main([*given, "--left", args.left] if args.left else given)


try:
    status = validate()
except (IrsimIsaacError, OSError) as error:
    print(f"validate: {error}", file=sys.stderr)
    status = 2
simulation_app.close()
sys.exit(status)
