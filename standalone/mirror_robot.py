"""Move the robots of a stage in Isaac Sim as IR-SIM's kinematics move them.

    python.sh standalone/mirror_robot.py STAGE --forward 0.5 --turn 0.2 --steps 600

The leader is the kinematic simulator on the same stage, which steps as IR-SIM does; Isaac Sim
follows it pose by pose. ``--beside`` gives both the same commands instead and tells how far
apart they came.
"""

import argparse
import sys
from pathlib import Path

parser = argparse.ArgumentParser(description="Mirror the robots of a stage in Isaac Sim.")
parser.add_argument("stage", help="the stage, a USD file with a robot start pose")
parser.add_argument("--forward", type=float, default=0.4, help="the speed forward [m/s]")
parser.add_argument("--turn", type=float, default=0.1, help="the turn to the left [rad/s]")
parser.add_argument("--steps", type=int, default=600, help="how many steps of 0.1 s")
parser.add_argument("--beside", action="store_true", help="drive both, move neither")
parser.add_argument("--test", action="store_true", help="take at most 20 steps")
args, _ = parser.parse_known_args()

from isaacsim import SimulationApp

# A fast shutdown would end the process with 0 whatever happened.
simulation_app = SimulationApp({"headless": True, "fast_shutdown": False})

sys.path.append(str(Path(__file__).resolve().parents[1]))
from irsim_isaac.errors import IrsimIsaacError, SimulatorError
from irsim_isaac.kit import open_stage
from irsim_isaac.kit.application import open_file
from irsim_isaac.kit.script import enable_extensions


def mirror() -> None:
    """Mirror for the steps that were asked for, and tell how far apart the robots are."""
    enable_extensions()
    from irsim_isaac.mirror import Mirror
    from irsim_isaac.msg import Twist, Vector3
    from irsim_isaac.simulators import make
    from irsim_isaac.stage import robot_specs, robot_starts

    open_file(args.stage)
    robots, starts = robot_specs(open_stage()), robot_starts(open_stage())
    if not robots:
        raise SimulatorError(f"{args.stage} holds no robot and no robot start pose")
    command = Twist(Vector3(args.forward, 0.0, 0.0), Vector3(0.0, 0.0, args.turn))
    leader = make("stage", stage=args.stage, robots=robots, starts=starts)
    follower = make("isaac", robots=robots, starts=starts)
    try:
        session = Mirror(
            leader,
            follower,
            direction="beside" if args.beside else "follow",
            commands=lambda state: dict.fromkeys(leader.robots, command),
        )
        session.start()
        session.run(min(args.steps, 20) if args.test else args.steps)
        there = {state.name: state for state in follower.read().robots}
        for state in session.left_state.robots:
            one = state.odom.pose.pose.position
            other = there[state.name].odom.pose.pose.position
            apart = ((one.x - other.x) ** 2 + (one.y - other.y) ** 2) ** 0.5
            print(f"{state.name}: at ({other.x:.3f}, {other.y:.3f}) m, {apart:.6f} m apart")
        print(f"{session.counts.steps} steps")
    finally:
        follower.close()
        leader.close()


status = 0
try:
    mirror()
except (IrsimIsaacError, OSError) as error:
    print(f"mirror_robot: {error}", file=sys.stderr)
    status = 2
simulation_app.close()
sys.exit(status)
