"""What the double's lidars send out: the bytes of GenericModelOutput, from rays on the stage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pxr import Usd, UsdGeom, UsdPhysics

from irsim_isaac.lidar import LidarProfile
from irsim_isaac.lidar.generic_model_output import VALID, GenericModelOutput
from irsim_isaac.lidar.ray_casting import RayCaster, sensor_beams
from irsim_isaac.simulators.poses import pose_of
from irsim_isaac.simulators.scene import SceneBody, ray_caster
from irsim_isaac.stage import read_geometry, stage_units
from tests.kit.physics import World

EMPTY_FRAMES = 1
BAD_FRAMES = 1


class LidarOutput:
    """The frames of one lidar, rendered with the application's updates.

    The first frame after play is empty, the second has no magic number; then each turn of the
    lidar is one frame, and the frames in between are the last one again.
    """

    def __init__(self, world: World, path: str) -> None:
        self._world = world
        self._path = path
        self._profile: LidarProfile | None = None
        self._caster: RayCaster | None = None
        self._frame: bytes | None = None
        self.memory = np.zeros(1_000_000, dtype=np.uint8)
        self._rendered = 0
        self._turns = -1

    def as_numpy(self) -> np.ndarray[Any, Any]:
        """Return the last frame as the annotator gives it; of no length before the first.

        Every frame is written into the same memory.
        """
        frame = self._frame or b""
        self.memory[: len(frame)] = np.frombuffer(frame, dtype=np.uint8)
        return self.memory[: len(frame)]

    def render(self) -> None:
        """Make the frame of this update."""
        world = self._world
        if not world.valid or world.stage is None:
            self._frame, self._rendered, self._turns = None, 0, -1
            self._caster = None
            return
        self._rendered += 1
        if self._rendered <= EMPTY_FRAMES:
            self._frame = b""
            return
        if self._rendered <= EMPTY_FRAMES + BAD_FRAMES:
            self._frame = bytes(GenericModelOutput(magicNumber=0).to_bytes())
            return
        if self._caster is None:
            self._look(world.stage)
        assert self._profile is not None
        # A whole turn is out when the physics steps have filled it.
        turns = math.floor(world.time * self._profile.scan_rate + 1e-6)
        if turns != self._turns:
            self._turns = turns
            self._frame = self._measure(world)

    def _look(self, stage: Usd.Stage) -> None:
        prim = stage.GetPrimAtPath(self._path)
        self._profile = LidarProfile.from_omni_lidar(
            {item.GetName(): item.Get() for item in prim.GetAttributes() if item.HasValue()}
        )
        self._units = stage_units(stage)
        bodies = [item for item in stage.Traverse() if item.HasAPI(UsdPhysics.RigidBodyAPI)]
        carrier = prim.GetParent()
        while carrier and not carrier.HasAPI(UsdPhysics.RigidBodyAPI):
            carrier = carrier.GetParent()
        self._carrier = str(carrier.GetPath()) if carrier else ""
        here = self._written(prim)
        self._local = np.linalg.inv(self._written(carrier)) @ here if carrier else here
        self._caster = ray_caster(
            read_geometry(stage),
            robots={},
            robot_roots={},
            starts={},
            bodies=[
                SceneBody(str(item.GetPath()), str(item.GetPath()), self._written(item), False)
                for item in bodies
            ],
        )

    def _written(self, prim: Usd.Prim) -> np.ndarray[Any, Any]:
        """Return where a prim is in USD, in metres with z up, shape (4, 4)."""
        matrix = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(Usd.TimeCode.Default())
        return pose_of(*self._units.pose(matrix))

    def _measure(self, world: World) -> bytes:
        assert self._profile is not None and self._caster is not None
        poses = {
            path: self._pose(state.position, state.quaternion)
            for path, state in world.shown.items()
            if path in self._caster.bodies
        }
        self._caster.move(poses)
        pose = poses[self._carrier] @ self._local if self._carrier else self._local
        profile = self._profile
        beams = sensor_beams(profile.bearings)
        ranges = self._caster.scan(
            beams, pose, range_max=profile.range_max, own=self._carrier or None
        )[0]
        met = np.isfinite(ranges) & (ranges >= profile.range_min)
        # In the order in which they are measured, spread over the turn.
        order = np.arange(len(ranges))
        if profile.clockwise:
            order = order[::-1]
        offsets = np.arange(len(ranges)) * (profile.scan_time / len(ranges) * 1e9)
        offsets, order = offsets[met[order]], order[met[order]]
        count = len(order)
        began = (self._turns - 1) * profile.scan_time
        return GenericModelOutput(
            x=np.degrees(profile.bearings[order]).astype(np.float32),
            y=np.zeros(count, dtype=np.float32),
            z=ranges[order].astype(np.float32),
            scalar=np.full(count, 0.5, dtype=np.float32),
            flags=np.full(count, VALID, dtype=np.uint8),
            timeOffsetNs=offsets.astype(np.int32),
            timestampNs=max(1, round(began * 1e9)),
            frameId=self._turns,
        ).to_bytes()

    def _pose(self, position: Any, quaternion: Any) -> np.ndarray[Any, Any]:
        from pxr import Gf

        matrix = Gf.Matrix4d(
            Gf.Rotation(Gf.Quatd(float(quaternion[3]), Gf.Vec3d(*map(float, quaternion[:3])))),
            Gf.Vec3d(*map(float, position)),
        )
        return pose_of(*self._units.pose(matrix))
