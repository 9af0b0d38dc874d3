from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.lidar.ray_casting import RayCaster, sensor_beams
from irsim_isaac.map import FogMap
from irsim_isaac.robot import LidarMount
from irsim_isaac.simulators.poses import pose_of
from irsim_isaac.stage import read_geometry, stage_units
from tests.kit.host import ROOT, Kit

pytest.importorskip("ovphysx")

STAGE = ROOT / "data" / "warehouse.usda"


def lidar_path(stage: Any) -> str:
    (prim,) = (prim for prim in stage.Traverse() if prim.GetTypeName() == "OmniLidar")
    return str(prim.GetPath())


@pytest.fixture
def stage(headless: Kit) -> Any:
    return headless.open_stage(STAGE)


def play(kit: Kit) -> Any:
    timeline = kit.module("omni.timeline").get_timeline_interface()
    timeline.play()
    timeline.commit()
    return timeline


def run(kit: Kit, lidar: Any, frames: int) -> list[Any]:
    """Update the application and return the scans that came of it."""
    scans = []
    for _ in range(frames):
        kit.module("omni.kit.app").get_app().update()
        scan = lidar.poll()
        if scan is not None:
            scans.append(scan)
    return scans


def test_frames_become_scans_of_what_the_rays_meet(headless: Kit, stage: Any) -> None:
    path = lidar_path(stage)
    lidar = headless.module("irsim_isaac.kit.lidar").RtxLidar(path, frame_id="rover/laser")
    play(headless)
    scans = run(headless, lidar, 30)
    assert len(scans) >= 2
    assert lidar.scan is scans[-1]
    profile = lidar.profile
    scan = scans[-1]
    assert (profile.name, profile.beam_count, profile.clockwise) == ("Lidar", 3200, True)
    assert scan.header.frame_id == "rover/laser"
    assert len(scan.ranges) == 3200
    geometry = read_geometry(stage)
    robot = path.split("/")[1:3]
    parts = [part for part in geometry.parts if str(part.path).split("/")[1:3] != robot]
    offsets = np.cumsum([0, *(len(part.points) for part in parts)])
    caster = RayCaster(
        np.concatenate([part.points for part in parts]),
        np.concatenate(
            [part.triangles + offset for part, offset in zip(parts, offsets, strict=False)]
        ),
    )
    from pxr import Usd, UsdGeom

    place = UsdGeom.Xformable(stage.GetPrimAtPath(path)).ComputeLocalToWorldTransform(
        Usd.TimeCode.Default()
    )
    expected = caster.scan(
        sensor_beams(profile.bearings),
        pose_of(*stage_units(stage).pose(place)),
        range_max=profile.range_max,
    )[0]
    close = np.abs(np.asarray(scan.ranges) - expected) < 1e-3
    # The crate settles a little while the simulation plays.
    assert close.mean() > 0.99


def test_first_frames_that_are_missing_empty_or_bad_are_counted(headless: Kit, stage: Any) -> None:
    lidar = headless.module("irsim_isaac.kit.lidar").RtxLidar(lidar_path(stage))
    assert lidar.poll() is None
    play(headless)
    run(headless, lidar, 3)
    counts = lidar.counts
    assert (counts.polls, counts.missing, counts.bad) == (4, 2, 1)
    assert "magicNumber is 0x00000000" in counts.last_error
    run(headless, lidar, 17)
    counts = lidar.counts
    assert (counts.polls, counts.missing, counts.bad, counts.scans) == (21, 2, 1, 3)
    assert counts.repeated == 21 - 2 - 1 - 3


class OneMemory:
    """An Isaac Sim whose lidar writes every frame into the same memory."""

    def __init__(self, isaac: Any) -> None:
        self._isaac = isaac
        self.memory = np.zeros(1_000_000, dtype=np.uint8)

    def frames(self, path: str) -> OneMemory:
        self._frames = self._isaac.frames(path)
        return self

    def read(self) -> np.ndarray | None:
        data = self._frames.read()
        if data is None:
            return None
        self.memory[: len(data)] = data
        return self.memory[: len(data)]

    def close(self) -> None:
        self._frames.close()


def test_the_scan_outlives_the_memory_it_came_from(headless: Kit, stage: Any) -> None:
    isaac = OneMemory(headless.module("irsim_isaac.kit.versions").isaac_sim())
    lidar = headless.module("irsim_isaac.kit.lidar").RtxLidar(lidar_path(stage), isaac=isaac)
    play(headless)
    scan = run(headless, lidar, 20)[-1]
    before = np.array(scan.ranges)
    isaac.memory[:] = 255
    assert np.array_equal(np.array(scan.ranges), before, equal_nan=True)
    assert np.isfinite(before).any()


def test_a_fog_map_clears_where_the_lidar_looks(headless: Kit, stage: Any) -> None:
    module = headless.module("irsim_isaac.kit.lidar")
    mount = LidarMount(module.RtxLidar(lidar_path(stage)).profile, z=0.3)
    lidar = module.RtxLidar(lidar_path(stage), mount=mount)
    fog = FogMap(20.0, 12.0, 0.1, (-10.0, -6.0))
    assert not lidar.reveal(fog, (0.0, 0.0, 0.0))
    play(headless)
    run(headless, lidar, 20)
    before = fog.explored_ratio
    assert lidar.reveal(fog, (0.0, 0.0, 0.0))
    assert fog.explored_ratio > before + 0.05


def test_it_follows_the_stage_and_leaves_nothing(headless: Kit, stage: Any) -> None:
    module = headless.module("irsim_isaac.kit.lidar")
    before = headless.registered()
    lidar = module.RtxLidar(lidar_path(stage))
    timeline = play(headless)
    assert run(headless, lidar, 20)
    timeline.stop()
    timeline.commit()
    context = headless.module("omni.usd").get_context()
    context.new_stage()
    assert headless.registered()["annotators"] == []
    with pytest.raises(SimulatorError, match="it is closed, or its stage is"):
        lidar.poll()
    headless.open_stage(STAGE)
    play(headless)
    assert run(headless, lidar, 20)
    lidar.close()
    lidar.close()
    assert headless.registered() == before


@pytest.mark.parametrize(
    ("path", "found"),
    [("/World/Nowhere", "no prim"), ("/World/Crate", "a prim of type 'Cube'")],
)
def test_what_is_no_lidar_is_named(headless: Kit, stage: Any, path: str, found: str) -> None:
    module = headless.module("irsim_isaac.kit.lidar")
    with pytest.raises(SimulatorError, match=rf"lidar {path}: found {found}, expected an Omni"):
        module.RtxLidar(path)
    assert headless.registered()["observers"] == []


def test_an_address_is_read_for_as_long_as_the_buffer_says() -> None:
    from irsim_isaac.kit.versions.generic_model_output import as_bytes
    from irsim_isaac.lidar import GenericModelOutput

    data = GenericModelOutput(
        x=np.array([1, 2], np.float32),
        y=np.zeros(2, np.float32),
        z=np.ones(2, np.float32),
        scalar=np.ones(2, np.float32),
        flags=np.full(2, 0x40, np.uint8),
        timeOffsetNs=np.zeros(2, np.int32),
    ).to_bytes()
    held = ctypes.create_string_buffer(data + b"beyond")
    read = as_bytes(ctypes.addressof(held))
    assert read is not None
    assert read.tobytes() == data
    assert as_bytes(0) is None
    assert as_bytes(None) is None
    assert as_bytes({"data": np.zeros(0, np.uint8)}) is None


def test_output_on_the_gpu_is_refused_with_the_setting_to_change(
    tmp_path: Path, headless: Kit, stage: Any
) -> None:
    name = "/app/sensors/nv/lidar/outputBufferOnGPU"
    headless.module("carb.settings").get_settings().set(name, True)
    frames = headless.module("irsim_isaac.kit.versions.generic_model_output").ReplicatorFrames
    with pytest.raises(SimulatorError, match=f"set {name} to false"):
        frames(lidar_path(stage))
