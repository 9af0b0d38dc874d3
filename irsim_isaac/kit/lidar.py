"""The live RTX lidar: its frames to scans."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from irsim_isaac.errors import ScanError, SimulatorError
from irsim_isaac.kit.events import on_stage
from irsim_isaac.kit.layer import OwnLayer
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.versions import Frames, FrameSource, IsaacSim, isaac_sim
from irsim_isaac.lidar import GenericModelOutput, LidarProfile, ScanAssembler
from irsim_isaac.msg import Header, LaserScan
from irsim_isaac.robot import LidarMount

if TYPE_CHECKING:
    from irsim_isaac.map import FogMap

__all__ = ["LidarCounts", "RtxLidar", "close_lidars"]

_OMNI_LIDAR = "OmniLidar"

_open_lidars: weakref.WeakSet[RtxLidar] = weakref.WeakSet()
"""The lidars that have not been closed."""


def close_lidars() -> None:
    """Close every lidar that is still open."""
    for lidar in list(_open_lidars):
        lidar.close()


@dataclass(frozen=True, slots=True)
class LidarCounts:
    """What became of what a lidar was asked for.

    Attributes:
        polls: How often it was asked.
        missing: How often it had no frame at all.
        bad: How many frames were no GenericModelOutput, as the first ones after play may be.
        empty: How many frames held no element.
        repeated: How many frames were the one before again.
        dropped: How many frames were let go of because too many were waiting.
        scans: How many scans came of them.
        last_error: Why the last bad frame was bad; empty where none was.
    """

    polls: int = 0
    missing: int = 0
    bad: int = 0
    empty: int = 0
    repeated: int = 0
    dropped: int = 0
    scans: int = 0
    last_error: str = ""


class RtxLidar:
    """A lidar prim of the open stage, its frames put together to scans.

    When the stage closes it lets go of the prim; when another opens that has a lidar at the same
    path, it takes that one up.

    Args:
        path: The OmniLidar prim.
        isaac: The interface to this Isaac Sim; found by itself where None.
        frame_id: The frame of the scans; empty for ``{name of the prim}``.
        mount: Where it sits on its robot, for ``reveal``.
        source: How it is read: ``"writer"`` is given every frame, which costs memory between
            two polls; the others have the last one alone.
        assembling: What ``ScanAssembler`` takes besides.

    Raises:
        SimulatorError: There is no such prim, or no way to read it.
        ScanError: Its attributes do not describe a lidar.
    """

    def __init__(
        self,
        path: str,
        *,
        isaac: IsaacSim | None = None,
        frame_id: str = "",
        mount: LidarMount | None = None,
        source: FrameSource = "auto",
        assembling: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self._path = path
        self._isaac = isaac_sim() if isaac is None else isaac
        self._frame_id = frame_id or path.rsplit("/", 1)[-1]
        if source not in ("auto", "sensor", "annotator", "writer"):
            raise SimulatorError(
                f"lidar {path}: source is {source!r}; 'auto', 'sensor', 'annotator' or 'writer' "
                "was expected"
            )
        self._mount = mount
        self._source: FrameSource = source
        self._assembling = dict(assembling)
        self._frames: Frames | None = None
        self._layer: OwnLayer | None = None
        self._scan: LaserScan | None = None
        self._polls = self._missing = self._bad = 0
        self._dropped_before = 0
        self._last_error = ""
        self._attach()
        _open_lidars.add(self)
        self._guards = [on_stage("CLOSING", self._detach), on_stage("OPENED", self._take_up)]

    @property
    def profile(self) -> LidarProfile:
        """What the prim measures."""
        return self._assembler.profile

    @property
    def scan(self) -> LaserScan | None:
        """The last whole scan, or None before the first."""
        return self._scan

    @property
    def counts(self) -> LidarCounts:
        """What became of the frames so far."""
        return LidarCounts(
            polls=self._polls,
            missing=self._missing,
            bad=self._bad,
            empty=self._assembler.empty_frames,
            repeated=self._assembler.duplicate_frames,
            dropped=self._dropped_before + (self._frames.dropped if self._frames else 0),
            scans=self._assembler.scans,
            last_error=self._last_error,
        )

    def unmeasured(self, stamp: float) -> LaserScan:
        """Return the scan that stands for none: no beam of it is measured.

        Args:
            stamp: The time of the scan [s].
        """
        profile = self.profile
        return LaserScan(
            header=Header(0, stamp, self._frame_id),
            angle_min=profile.angle_min,
            angle_max=profile.angle_max,
            angle_increment=profile.angle_increment,
            time_increment=profile.time_increment,
            scan_time=profile.scan_time,
            range_min=profile.range_min,
            range_max=profile.range_max,
            ranges=np.full(profile.beam_count, np.nan, dtype=np.float32),
            intensities=np.zeros(0, dtype=np.float32),
        )

    def poll(self) -> LaserScan | None:
        """Take up the frame that the lidar has now, or all that a writer has been given.

        Returns:
            The last scan that was completed, or None where none was.

        Raises:
            SimulatorError: The lidar is closed, or the stage has no such prim any longer.
        """
        if self._frames is None:
            raise SimulatorError(f"lidar {self._path}: it is closed, or its stage is")
        self._polls += 1
        frames = self._frames.read()
        if not frames:
            self._missing += 1
        completed = None
        for data in frames:
            try:
                scans = self._assembler.push(GenericModelOutput.from_buffer(data))
            except ScanError as error:
                self._bad += 1
                self._last_error = str(error)
                continue
            if scans:
                completed = self._scan = scans[-1]
        return completed

    def reveal(self, fog_map: FogMap, pose: tuple[float, float, float]) -> bool:
        """Reveal on a fog map what the last scan has seen.

        Args:
            fog_map: The map.
            pose: Where the robot was: x, y [m], yaw [rad].

        Returns:
            Whether there was a scan.

        Raises:
            SimulatorError: The lidar was not told where it sits on its robot.
        """
        if self._mount is None:
            raise SimulatorError(f"lidar {self._path}: its mount is not known")
        if self._scan is None:
            return False
        fog_map.reveal_from_scan(self._scan, pose, self._mount)
        return True

    def close(self) -> None:
        """Let go of the prim; closing twice is no error."""
        while self._guards:
            self._guards.pop()()
        self._detach()
        _open_lidars.discard(self)

    def _attach(self) -> None:
        from irsim_isaac.stage import lidar_profile

        stage = open_stage()
        prim = stage.GetPrimAtPath(self._path)
        if not prim or prim.GetTypeName() != _OMNI_LIDAR:
            found = f"a prim of type '{prim.GetTypeName()}'" if prim else "no prim"
            raise SimulatorError(f"lidar {self._path}: found {found}, expected an {_OMNI_LIDAR}")
        self._assembler = ScanAssembler(
            lidar_profile(prim), frame_id=self._frame_id, **self._assembling
        )
        self._layer = OwnLayer(stage)
        with self._layer.editing():
            self._frames = self._isaac.frames(self._path, self._source)
        self._scan = None

    def _detach(self) -> None:
        if self._frames is not None:
            self._frames.close()
            self._dropped_before += self._frames.dropped
            self._frames = None
        if self._layer is not None:
            self._layer.remove()
            self._layer = None

    def _take_up(self) -> None:
        """Attach to the lidar of the stage that has opened, if it has one there."""
        prim = open_stage().GetPrimAtPath(self._path)
        if prim and prim.GetTypeName() == _OMNI_LIDAR:
            self._attach()
