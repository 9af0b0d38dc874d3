"""Mirror the robots of a stage in Isaac Sim with IR-SIM in a process beside it.

    python.sh standalone/mirror_robot.py STAGE --forward 0.5 --turn 0.2 --steps 600

IR-SIM loads the world that is made of the stage. By ``--direction follow`` it drives and Isaac Sim
goes where it goes, by ``lead`` the other way round; ``beside`` gives both the same commands and
tells how far apart they came. An IR-SIM whose process ends is started again where it was.
"""

import argparse
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Mirror the robots of a stage with IR-SIM.")
parser.add_argument("stage", help="the stage, a USD file with a robot or a robot start pose")
parser.add_argument(
    "--direction", choices=("follow", "lead", "beside"), default="follow", help="who moves whom"
)
parser.add_argument("--forward", type=float, default=0.4, help="the speed forward [m/s]")
parser.add_argument("--turn", type=float, default=0.1, help="the turn to the left [rad/s]")
parser.add_argument("--steps", type=int, default=600, help="how many steps of 0.1 s")
parser.add_argument("--irsim-python", help="the Python of IR-SIM, in place of the setting's")
parser.add_argument("--test", action="store_true", help="take at most 20 steps")
args, _ = parser.parse_known_args()

from isaacsim import SimulationApp

# A fast shutdown would end the process with 0 whatever happened.
simulation_app = SimulationApp({"headless": True, "fast_shutdown": False})

sys.path.append(str(Path(__file__).resolve().parents[1]))
from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.application import open_file
from irsim_isaac.kit.live_mirror import LiveMirror
from irsim_isaac.kit.script import enable_extensions


def mirror() -> None:
    """Mirror for the steps that were asked for, and tell how far apart the robots are."""
    enable_extensions()
    from irsim_isaac.mirror import Policy
    from irsim_isaac.msg import Twist, Vector3

    open_file(args.stage)
    command = Twist(Vector3(args.forward, 0.0, 0.0), Vector3(0.0, 0.0, args.turn))
    session = LiveMirror(
        drive="step",
        step_time=0.1,
        commands=lambda state: dict.fromkeys((robot.name for robot in state.robots), command),
        policy=Policy(lost="resume"),
        python=args.irsim_python,
    )
    try:
        session.start(args.direction)
        session.run(min(args.steps, 20) if args.test else args.steps)
        robots = {robot.name for robot in session.irsim_state.robots}
        for name, apart in sorted(session.divergence.present.items()):
            if name in robots:
                x, y, _ = apart.right
                print(f"{name}: at ({x:.3f}, {y:.3f}) m, {apart.position:.6f} m apart")
        for resumption in session.resumptions:
            print(f"IR-SIM was resumed at {resumption.time:g} s: {resumption.reason}")
        print(f"{session.counts.steps} steps")
    finally:
        session.close()


status = 0
try:
    mirror()
except (IrsimIsaacError, OSError) as error:
    print(f"mirror_robot: {error}", file=sys.stderr)
    status = 2
simulation_app.close()
sys.exit(status)
