"""The physics of Isaac Sim behind the calls of the PhysX engine outside of it.

Everything here is in the stage's own units and axes, as there; quaternions are x, y, z, w and
joints that turn are in degrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.versions import Articulation, IsaacSim
from irsim_isaac.kit.versions.interface import JointAttribute
from irsim_isaac.simulators.engine import BodyState, ContactPoint

__all__ = ["IsaacEngine"]

_ATTRIBUTES: dict[str, JointAttribute] = {
    "jointPosition": "position",
    "jointVelocity": "velocity",
    "jointPositionTarget": "position_target",
    "jointVelocityTarget": "velocity_target",
}

Floats = npt.NDArray[np.float64]


def _xyzw(wxyz: Floats) -> Floats:
    """Return a quaternion of Isaac Sim as x, y, z, w."""
    w, x, y, z = wxyz
    return np.array([x, y, z, w])


def _wxyz(xyzw: Floats) -> Floats:
    """Return x, y, z, w as a quaternion of Isaac Sim."""
    x, y, z, w = xyzw
    return np.array([w, x, y, z])


@dataclass(slots=True)
class _Chain:
    """An articulation of the stage: its root, its links and its joints that move."""

    root: str
    links: set[str] = field(default_factory=set)
    joints: dict[str, bool] = field(default_factory=dict)
    """By path: whether it turns."""
    starts: dict[str, float] = field(default_factory=dict)
    """By path: its position [degrees or lengths] as the stage has it."""


class IsaacEngine:
    """The stage that Isaac Sim plays.

    Args:
        isaac: The interface to this Isaac Sim.
        stage: The open stage; the simulation must be playing or paused. Isaac Sim authors on
            prims that it gives access to: the edit target is to be a layer of ours.
        render_every: How many physics steps make a frame; 0 for no frames at all.
        rendered: Called after each frame.

    Attributes:
        mass_centres: The centre of mass of each body in its own frame, by prim path.
    """

    def __init__(
        self,
        isaac: IsaacSim,
        stage: Any,
        *,
        render_every: int = 0,
        rendered: Callable[[], None] | None = None,
    ) -> None:
        self._isaac = isaac
        self._rendered = rendered
        self._render_every = render_every
        self._steps = 0
        self._chains = _chains(stage)
        self._chain_of = {path: chain for chain in self._chains for path in chain.joints}
        self._links = {path for chain in self._chains for path in chain.links}
        self._paths = _body_paths(stage)
        self._index = {path: index for index, path in enumerate(self._paths)}
        self._bodies = isaac.bodies(self._paths) if self._paths else None
        self._articulations = {
            chain.root: isaac.articulation(chain.root) for chain in self._chains if chain.joints
        }
        self._states: dict[str, BodyState] | None = None
        self.mass_centres: dict[str, Floats] = {}
        if self._bodies is not None:
            self.mass_centres = dict(zip(self._paths, self._bodies.mass_centres(), strict=True))

    def close(self) -> None:
        """Let go of the prims."""
        self._bodies = None
        self._articulations = {}
        self._states = None

    def changed(self) -> None:
        """Read anew, because the simulation has gone on by itself."""
        self._states = None

    def step(self, seconds: float) -> None:
        """Take one physics step, and render a frame where one is due.

        Args:
            seconds: The length of the step, which is that of Isaac Sim's physics.
        """
        length = self._isaac.physics_step_time()
        if not math.isclose(length, seconds, rel_tol=1e-6):
            raise SimulatorError(
                f"isaac: the physics step is {length:g} s, {seconds:g} s was expected; "
                "it must not be changed while the simulation plays"
            )
        self._isaac.step()
        self._states = None
        self._steps += 1
        if self._render_every and self._steps % self._render_every == 0:
            render_frame()
            if self._rendered is not None:
                self._rendered()

    def bodies(self, *, links: bool) -> dict[str, BodyState]:
        """Return how bodies move, by prim path.

        Args:
            links: The links of articulations, else the bodies that stand alone.
        """
        if self._states is None:
            self._states = self._read()
        return {
            path: state for path, state in self._states.items() if (path in self._links) is links
        }

    def joint_values(self, paths: Sequence[str]) -> list[float]:
        """Return the positions of joints with one axis [degrees or lengths]."""
        values = []
        for path in paths:
            chain = self._chain(path)
            (value,) = self._articulation(chain).joint_positions([_leaf(path)])
            values.append(math.degrees(value) if chain.joints[path] else float(value))
        return values

    def set_joints(self, attribute: str, values: Mapping[str, float]) -> None:
        """Set one attribute of joints with one axis.

        Args:
            attribute: ``jointVelocityTarget``, ``jointPositionTarget``, ``jointPosition`` or
                ``jointVelocity``.
            values: Degrees (a second) or lengths (a second), by joint path.
        """
        for chain in self._chains:
            chosen = {path: value for path, value in values.items() if path in chain.joints}
            if chosen:
                self._articulation(chain).set_joints(
                    _ATTRIBUTES[attribute],
                    [_leaf(path) for path in chosen],
                    np.array(
                        [
                            math.radians(value) if chain.joints[path] else value
                            for path, value in chosen.items()
                        ]
                    ),
                )
        unknown = [path for path in values if path not in self._chain_of]
        if unknown:
            raise SimulatorError(f"isaac: {unknown[0]} is no joint of an articulation")
        self._states = None

    def rest_joints(self, below: str) -> None:
        """Put the joints of an articulation where the stage has them, at rest.

        Args:
            below: The prim that holds the robot.
        """
        for chain in self._chains:
            if any(path == below or path.startswith(f"{below}/") for path in chain.links):
                self.set_joints("jointPosition", chain.starts)
                self.set_joints("jointVelocity", dict.fromkeys(chain.starts, 0.0))

    def is_link(self, path: str) -> bool:
        """Return whether a body is a link of an articulation."""
        return path in self._links

    def place_body(self, path: str, state: BodyState, *, kinematic: bool = False) -> None:
        """Put a body that stands alone somewhere, with a velocity."""
        self._view().set_pose(self._index[path], state.position, _wxyz(state.quaternion))
        if not kinematic:
            self.set_velocity(path, state.linear, state.angular)
        self._states = None

    def set_velocity(self, path: str, linear: Floats, angular: Floats) -> None:
        """Give a body that stands alone a velocity."""
        self._view().set_velocity(self._index[path], linear, angular)
        self._states = None

    def place_articulation(self, path: str, state: BodyState) -> None:
        """Put the root link of an articulation somewhere, with a velocity.

        Args:
            path: The prim that carries the articulation root.
            state: Of the root link.
        """
        chain = next((chain for chain in self._chains if chain.root == path), None)
        if chain is None:
            raise SimulatorError(f"isaac: {path} carries no articulation root")
        articulation = self._articulation(chain)
        articulation.set_pose(state.position, _wxyz(state.quaternion))
        articulation.set_velocity(state.linear, state.angular)
        self._states = None

    def update_links(self) -> None:
        """Bring the links of articulations to where their joints and roots have been put."""
        self._isaac.update_links()
        self._states = None

    def contacts(self) -> dict[str, list[ContactPoint]]:
        """Return what each body with a contact report touched in the last step, by prim path."""
        from omni.physx import get_physx_simulation_interface
        from pxr import PhysicsSchemaTools

        headers, data = get_physx_simulation_interface().get_contact_report()
        seconds = self._isaac.physics_step_time()
        found: dict[str, list[ContactPoint]] = {}
        for header in headers:
            first = str(PhysicsSchemaTools.intToSdfPath(header.actor0))
            second = str(PhysicsSchemaTools.intToSdfPath(header.actor1))
            start = header.contact_data_offset
            for index in range(start, start + header.num_contact_data):
                contact = data[index]
                point = np.array([*contact.position], dtype=np.float64)
                # The normal points from the second to the first, the impulse acts on the first.
                normal = np.array([*contact.normal], dtype=np.float64)
                force = np.array([*contact.impulse], dtype=np.float64) @ normal / seconds
                if force < 0.0:
                    normal, force = -normal, -force
                for path, other, sign in ((first, second, 1.0), (second, first, -1.0)):
                    if path in self._index:
                        found.setdefault(path, []).append(
                            ContactPoint(
                                other, point, sign * normal, float(force), float(contact.separation)
                            )
                        )
        return found

    def _view(self) -> Any:
        if self._bodies is None:
            raise SimulatorError("isaac: the stage has no rigid body")
        return self._bodies

    def _read(self) -> dict[str, BodyState]:
        if self._bodies is None:
            return {}
        positions, quaternions = self._bodies.poses()
        linear, angular = self._bodies.velocities()
        return {
            path: BodyState(
                positions[index], _xyzw(quaternions[index]), linear[index], angular[index]
            )
            for path, index in self._index.items()
        }

    def _chain(self, joint: str) -> _Chain:
        chain = self._chain_of.get(joint)
        if chain is None:
            raise SimulatorError(f"isaac: {joint} is no joint of an articulation")
        return chain

    def _articulation(self, chain: _Chain) -> Articulation:
        if chain.root not in self._articulations:
            raise SimulatorError(f"isaac: the articulation {chain.root} has no joint that moves")
        return self._articulations[chain.root]


def render_frame() -> None:
    """Let the application render one frame without a physics step of its own."""
    import carb.settings
    import omni.kit.app

    settings = carb.settings.get_settings()
    before = settings.get(_PLAY_SIMULATIONS)
    settings.set(_PLAY_SIMULATIONS, False)
    try:
        omni.kit.app.get_app().update()
    finally:
        settings.set(_PLAY_SIMULATIONS, before is not False)


_PLAY_SIMULATIONS = "/app/player/playSimulations"


def _leaf(path: str) -> str:
    return path.rsplit("/", 1)[-1]


def _body_paths(stage: Any) -> list[str]:
    """Return the rigid bodies of a stage that are enabled."""
    from pxr import UsdPhysics

    found = []
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            enabled = UsdPhysics.RigidBodyAPI(prim).GetRigidBodyEnabledAttr().Get()
            if enabled is not False:
                found.append(str(prim.GetPath()))
    return found


def _chains(stage: Any) -> list[_Chain]:
    """Return the articulations of a stage: what hangs together by joints and has a root."""
    from pxr import UsdPhysics

    ends: dict[str, set[str]] = {}
    turning: dict[str, bool] = {}
    roots = []
    for prim in stage.Traverse():
        path = str(prim.GetPath())
        if prim.IsA(UsdPhysics.Joint):
            joint = UsdPhysics.Joint(prim)
            if joint.GetExcludeFromArticulationAttr().Get():
                continue
            targets = (*joint.GetBody0Rel().GetTargets(), *joint.GetBody1Rel().GetTargets())
            ends[path] = {str(target) for target in targets}
            if prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint):
                turning[path] = prim.IsA(UsdPhysics.RevoluteJoint)
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            roots.append(path)
    chains = []
    for root in roots:
        chain = _Chain(root)
        # The root may be a link, a joint to the world, or a prim above them.
        chain.links = ends.get(root) or {
            path
            for bodies in ends.values()
            for path in bodies
            if path == root or path.startswith(f"{root}/")
        }
        reached = False
        while not reached:
            grown = set(chain.links)
            for bodies in ends.values():
                if bodies & chain.links:
                    grown |= bodies
            reached = grown == chain.links
            chain.links = grown
        chain.joints = {path: turns for path, turns in turning.items() if ends[path] & chain.links}
        for path, turns in chain.joints.items():
            name = f"state:{'angular' if turns else 'linear'}:physics:position"
            state = stage.GetPrimAtPath(path).GetAttribute(name)
            chain.starts[path] = float((state.Get() if state else None) or 0.0)
        chains.append(chain)
    return chains
