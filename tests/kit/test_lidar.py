from __future__ import annotations

import ctypes
import sys
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


SOURCES = ["sensor", "annotator", "writer"]


def reading(kit: Kit, stage: Any, source: str, **options: Any) -> Any:
    """Return a lidar that is read in one way, or in its own where this Isaac Sim lacks that."""
    lidar = kit.module("irsim_isaac.kit.lidar").RtxLidar
    if source == "sensor" and kit.release == "5_1":
        with pytest.raises(SimulatorError, match=r"5\.1\.0 has no sensor to read a lidar by"):
            lidar(lidar_path(stage), source=source)
        assert kit.registered()["render products"] == []
        source = "auto"
    return lidar(lidar_path(stage), source=source, **options)


@pytest.mark.parametrize("source", SOURCES)
def test_the_scan_outlives_the_memory_it_came_from(headless: Kit, stage: Any, source: str) -> None:
    lidar = reading(headless, stage, source)
    play(headless)
    scan = run(headless, lidar, 20)[-1]
    before = np.array(scan.ranges)
    (product,) = headless.module("omni.replicator.core").products.values()
    product.output.memory[:] = 255
    assert np.array_equal(np.array(scan.ranges), before, equal_nan=True)
    assert np.isfinite(before).any()


@pytest.mark.parametrize("source", SOURCES)
def test_every_way_to_read_gives_the_same_scans(headless: Kit, stage: Any, source: str) -> None:
    lidar = reading(headless, stage, source)
    other = headless.module("irsim_isaac.kit.lidar").RtxLidar(lidar_path(stage))
    play(headless)
    found, expected = [], []
    for _ in range(30):
        found += run(headless, lidar, 1)
        expected += [scan] if (scan := other.poll()) is not None else []
    assert len(expected) >= 4
    assert [scan.to_dict() for scan in found] == [scan.to_dict() for scan in expected]
    assert (lidar.counts.missing, lidar.counts.bad) == (1, 1)
    lidar.close()
    other.close()
    assert headless.registered()["annotators"] == []
    assert headless.registered()["render products"] == []
    assert headless.log == []


def test_a_writer_misses_no_frame_however_seldom_it_is_read(headless: Kit, stage: Any) -> None:
    module = headless.module("irsim_isaac.kit.lidar")
    often, seldom = (module.RtxLidar(lidar_path(stage), source="writer") for _ in range(2))
    annotated = module.RtxLidar(lidar_path(stage), source="annotator")
    play(headless)
    app = headless.module("omni.kit.app").get_app()
    for _ in range(60):
        app.update()
        often.poll()
    scan = seldom.poll()
    annotated.poll()
    assert seldom.counts.scans == often.counts.scans >= 9
    assert scan.to_dict() == often.scan.to_dict()
    assert annotated.counts.scans == 1
    assert seldom.counts.dropped == 0


def test_frames_that_wait_too_long_are_counted(headless: Kit, stage: Any) -> None:
    lidar = reading(headless, stage, "writer")
    play(headless)
    app = headless.module("omni.kit.app").get_app()
    for _ in range(80):
        app.update()
    # The first frame is empty, and 64 wait at most.
    assert lidar.counts.dropped == 80 - 1 - 64
    lidar.poll()
    assert lidar.counts.dropped == 80 - 1 - 64
    assert lidar.counts.scans + lidar.counts.repeated + lidar.counts.bad == 64
    headless.module("omni.usd").get_context().close_stage()
    assert lidar.counts.dropped == 80 - 1 - 64


def test_there_are_three_ways_to_read(headless: Kit, stage: Any) -> None:
    lidar = headless.module("irsim_isaac.kit.lidar").RtxLidar
    with pytest.raises(SimulatorError, match="source is 'camera'; 'auto', 'sensor', 'annotator'"):
        lidar(lidar_path(stage), source="camera")


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


@pytest.mark.parametrize("source", ["annotator", "writer"])
def test_output_on_the_gpu_is_refused_with_the_setting_to_change(
    headless: Kit, stage: Any, source: str
) -> None:
    name = "/app/sensors/nv/lidar/outputBufferOnGPU"
    headless.module("carb.settings").get_settings().set(name, True)
    with pytest.raises(SimulatorError, match=f"set {name} to false"):
        headless.module("irsim_isaac.kit.lidar").RtxLidar(lidar_path(stage), source=source)


@pytest.mark.parametrize("source", ["auto", "annotator", "writer"])
def test_without_replicator_what_is_needed_is_named(
    headless: Kit, stage: Any, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("omni.replicator.core", "isaacsim.sensors.experimental.rtx"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SimulatorError, match=r"omni\.replicator\.core, which is not enabled"):
        headless.module("irsim_isaac.kit.lidar").RtxLidar(lidar_path(stage), source=source)
