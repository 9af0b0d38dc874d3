"""Real PhysX behind the double's simulation: the live stage, stepped as Isaac Sim steps it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ovphysx.types import SimObjectType
from pxr import Sdf, Usd, UsdGeom, UsdPhysics

from irsim_isaac.simulators.engine import BodyState, PhysxEngine

WARM_UP_STEPS = 2
DEFAULT_RATE = 60

_RATE = "physxScene:timeStepsPerSecond"


def articulated(stage: Usd.Stage) -> dict[str, list[Usd.Prim]]:
    """Return the joints of each articulation by the path of its root prim."""
    joints = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    ends = {}
    for prim in joints:
        joint = UsdPhysics.Joint(prim)
        targets = [*joint.GetBody0Rel().GetTargets(), *joint.GetBody1Rel().GetTargets()]
        ends[prim.GetPath()] = {str(path) for path in targets}
    found = {}
    for prim in stage.Traverse():
        if not prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            continue
        reached = {str(prim.GetPath())}
        reached |= ends.get(prim.GetPath(), set())
        if not any(reached & bodies for bodies in ends.values()):
            below = str(prim.GetPath()) + "/"
            reached |= {
                path for bodies in ends.values() for path in bodies if path.startswith(below)
            }
        grown = True
        while grown:
            grown = False
            for bodies in ends.values():
                if bodies & reached and not bodies <= reached:
                    reached |= bodies
                    grown = True
        found[str(prim.GetPath())] = [joint for joint in joints if ends[joint.GetPath()] & reached]
    return found


def is_angular(joint: Usd.Prim) -> bool:
    """Return whether a joint turns, so that PhysX has it in degrees."""
    return joint.IsA(UsdPhysics.RevoluteJoint)


class World:
    """The physics of the stage that is open, from play to stop."""

    def __init__(self) -> None:
        self.engine: PhysxEngine | None = None
        self.stage: Usd.Stage | None = None
        self.time = 0.0
        self.stepping = False
        self.steps = 0
        self.shown: dict[str, BodyState] = {}
        self._read: dict[str, BodyState] | None = None
        self.articulations: dict[str, list[Usd.Prim]] = {}
        self.step_callbacks: dict[int, Callable[..., None]] = {}
        self.rendered: list[Callable[[], None]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def valid(self) -> bool:
        """Whether there is a simulation view: from the first play to the stop."""
        return self.engine is not None

    def scene(self, stage: Usd.Stage) -> Usd.Prim | None:
        """Return the first physics scene of a stage."""
        return next((prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Scene)), None)

    def dt(self, stage: Usd.Stage) -> float:
        """Return the step [s] that the stage's physics scene states."""
        prim = self.scene(stage)
        attribute = prim.GetAttribute(_RATE) if prim else None
        rate = attribute.Get() if attribute else None
        return 1.0 / (rate or DEFAULT_RATE)

    def set_dt(self, stage: Usd.Stage, seconds: float) -> None:
        """State the step; the rate is cut to a whole number, as Isaac Sim does."""
        assert not self.valid, "the physics step cannot be set while playing"
        prim = self.scene(stage) or UsdPhysics.Scene.Define(stage, "/PhysicsScene").GetPrim()
        prim.AddAppliedSchema("PhysxSceneAPI")
        prim.CreateAttribute(_RATE, Sdf.ValueTypeNames.UInt, False).Set(int(1.0 / seconds))

    def start(self, stage: Usd.Stage) -> None:
        """Load the stage, session layer included, and take the warm-up steps at time 0."""
        self._folder = tempfile.TemporaryDirectory(prefix="irsim-isaac-double-")
        path = Path(self._folder.name) / "live.usda"
        stage.Flatten(addSourceFileComment=False).Export(str(path))
        self.stage = stage
        self.engine = PhysxEngine(path)
        self._read = None
        self.articulations = articulated(stage)
        self.time, self.steps = 0.0, 0
        for _ in range(WARM_UP_STEPS):
            self.engine.step(self.dt(stage))
            self._read = None
            self.steps += 1
            self.time += self.dt(stage)
        self.show()

    def stop(self) -> None:
        """Let go of the simulation; the stage is where it was before it was played."""
        if self.engine is not None:
            self.engine.close()
            self.engine = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
        self.time, self.steps = 0.0, 0

    def step(self, seconds: float) -> None:
        """Take one physics step and call back."""
        assert self.engine is not None
        self.engine.step(seconds)
        self._read = None
        self.time += seconds
        self.steps += 1
        self.stepping = True
        try:
            for callback in list(self.step_callbacks.values()):
                callback(seconds)
        finally:
            self.stepping = False

    def show(self) -> None:
        """Let the renderer see where the bodies are."""
        self.shown = self.bodies()

    def bodies(self) -> dict[str, BodyState]:
        """Return every body and link by its prim path."""
        assert self.engine is not None
        if self._read is None:
            self._read = {**self.engine.bodies(links=False), **self.engine.bodies(links=True)}
        return self._read

    def mass_centre(self, path: str) -> np.ndarray[Any, Any]:
        """Return the centre of mass of a body in its frame."""
        assert self.engine is not None
        return np.asarray(self.engine.mass_centres.get(path, np.zeros(3)))

    def update_articulations_kinematic(self) -> None:
        """Bring the links to where their roots and joints are."""
        assert self.engine is not None
        self._read = None
        self.engine.update_links()

    def place(self, path: str, position: Any, quaternion: Any) -> None:
        """Put a body or an articulation's root somewhere; its velocity stays."""
        self._write(path, "position", "rootPosition", position)
        self._write(path, "orientation", "rootOrientation", quaternion)

    def set_velocity(self, path: str, linear: Any, angular: Any) -> None:
        """Give a body or an articulation's root a velocity; its pose stays to the bit."""
        self._write(path, "linearVelocity", "rootLinearVelocity", linear)
        self._write(path, "angularVelocity", "rootAngularVelocity", angular)

    def _write(self, path: str, of_body: str, of_root: str, value: Any) -> None:
        # The engine's own calls write pose and velocity together, which rounds the pose again.
        assert self.engine is not None
        kinds = SimObjectType
        kind, name = (
            (kinds.ARTICULATION, of_root)
            if path in self.articulations
            else (kinds.RIGID_BODY, of_body)
        )
        self._read = None
        self.engine._write(kind, name, {path: np.asarray(value, dtype=np.float64)})

    def root_of(self, path: str) -> str:
        """Return the prim below a path, or itself, that carries the articulation root."""
        roots = [root for root in self.articulations if root == path or root.startswith(path + "/")]
        if len(roots) != 1:
            raise ValueError(f"no articulation at {path}")
        return roots[0]

    def joints(self, path: str) -> dict[str, Usd.Prim]:
        """Return the joints of an articulation that move, by name."""
        return {
            prim.GetName(): prim
            for prim in self.articulations[self.root_of(path)]
            if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint)
        }

    def joint_positions(self, joints: list[Usd.Prim]) -> np.ndarray[Any, Any]:
        """Return joint positions in radians or lengths."""
        assert self.engine is not None
        values = self.engine.joint_values([str(joint.GetPath()) for joint in joints])
        return np.array(
            [
                math.radians(value) if is_angular(joint) else value
                for joint, value in zip(joints, values, strict=True)
            ],
            dtype=np.float32,
        )

    def set_joints(self, attribute: str, joints: list[Usd.Prim], values: Any) -> None:
        """Set an attribute of joints in radians or lengths."""
        assert self.engine is not None
        self._read = None
        self.engine.set_joints(
            attribute,
            {
                str(joint.GetPath()): math.degrees(value) if is_angular(joint) else float(value)
                for joint, value in zip(joints, np.asarray(values).reshape(-1), strict=True)
            },
        )


def authored_pose(stage: Usd.Stage, path: str) -> tuple[list[float], list[float]]:
    """Return the position and the quaternion wxyz of a prim as they are written in USD."""
    prim = stage.GetPrimAtPath(path)
    matrix = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())
    quaternion = matrix.ExtractRotationQuat()
    return list(matrix.ExtractTranslation()), [
        quaternion.GetReal(),
        *quaternion.GetImaginary(),
    ]
