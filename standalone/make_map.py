"""Map a stage with Isaac Sim's Python, without a window.

    python.sh standalone/make_map.py STAGE -o DIRECTORY

STAGE is a file or an address that Isaac Sim can open. DIRECTORY gets ``map/map.yaml`` for nav2
and ``world/world.yaml`` for IR-SIM. What this script does not know is passed on to Kit.
"""

import argparse
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Map a stage with Isaac Sim's Python.")
parser.add_argument("stage", help="the stage: a file, or an address that Isaac Sim can open")
parser.add_argument("-o", "--output", required=True, help="the folder to write to")
parser.add_argument("--resolution", type=float, default=0.05, help="the size of a cell [m]")
parser.add_argument(
    "--height",
    type=float,
    nargs=2,
    default=(0.1, 0.62),
    metavar=("LOW", "HIGH"),
    help="the band of heights above the floor that counts [m]",
)
parser.add_argument("--floor", type=float, default=0.0, help="the floor's height [m]")
parser.add_argument(
    "--geometry",
    choices=("visual", "collision"),
    default="visual",
    help="what is drawn, or what is collided with",
)
parser.add_argument(
    "--test", action="store_true", help="wait at most 100 frames for the stage to load"
)
args, _ = parser.parse_known_args()

from isaacsim import SimulationApp

# A fast shutdown would end the process with 0 whatever happened.
simulation_app = SimulationApp({"headless": True, "fast_shutdown": False})

import carb

sys.path.append(str(Path(__file__).resolve().parents[1]))
from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit import map_stage
from irsim_isaac.kit.application import open_file

status = 0
try:
    open_file(args.stage, frames=100 if args.test else 10_000)
    mapped = map_stage(
        args.output,
        resolution=args.resolution,
        height=tuple(args.height),
        floor=args.floor,
        geometry=args.geometry,
    )
except (IrsimIsaacError, OSError) as error:
    carb.log_error(str(error))
    print(f"make_map: {error}", file=sys.stderr)
    status = 2
else:
    print(mapped.map)
    print(mapped.world)
    for omission in mapped.report.omissions:
        print(f"left out: {omission.where}: {omission.reason}")
simulation_app.close()
sys.exit(status)
