"""Recorded frames, and the command that makes scans of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irsim_isaac.cli import main
from irsim_isaac.errors import ScanError
from irsim_isaac.lidar import (
    GenericModelOutput,
    LidarProfile,
    check_scan,
    profile_beside,
    read_frames,
    scan_from_gmo,
    write_frames,
)
from irsim_isaac.msg import LaserScan
from tests.lidar.scenes import frame


def turns(count: int, parts: int = 6) -> list[GenericModelOutput]:
    """Return the frames of a lidar of 3200 beams that turns clockwise, ten times a second."""
    made = []
    rays = 3200 // parts + 1
    for start in range(0, 3200 * count, rays):
        ray = np.arange(start, start + rays)
        azimuths = 180.0 - 0.1125 * (ray % 3200 + 1)
        times = ray * 31_250
        made.append(
            frame(
                azimuths,
                5.0 + ray // 3200,
                offsets=times - times[0],
                stamp=1_000_000_000 + int(times[0]),
                frameId=start,
            )
        )
    return made


def scans_of(path: Path) -> list[LaserScan]:
    from irsim_isaac.recording import read

    return [state.objects[0].scan for state in read(path)]


def test_frames_are_read_as_they_were_written(tmp_path: Path) -> None:
    frames = [*turns(1), frame([], [], stamp=3)]
    write_frames(tmp_path / "all.gmo", frames)
    found = [gmo.to_bytes() for gmo in read_frames(tmp_path / "all.gmo")]
    assert found == [gmo.to_bytes() for gmo in frames]
    folder = tmp_path / "folder"
    for index, gmo in enumerate(frames):
        write_frames(folder / f"{index:03d}.gmo", [gmo])
    assert [gmo.to_bytes() for gmo in read_frames(folder)] == found


def test_what_is_no_recording_of_frames_is_refused_by_file_and_byte(tmp_path: Path) -> None:
    path = tmp_path / "frames.gmo"
    data = turns(1)[0].to_bytes()
    path.write_bytes(data + data[:-1])
    found = read_frames(path)
    assert next(found).to_bytes() == data
    with pytest.raises(ScanError, match=rf"frames\.gmo at byte {len(data)}: .*sizeInBytes"):
        next(found)
    path.write_bytes(b"")
    with pytest.raises(ScanError, match="the file is empty"):
        next(read_frames(path))
    with pytest.raises(ScanError, match="no such file or folder"):
        next(read_frames(tmp_path / "absent"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScanError, match="holds no file"):
        next(read_frames(tmp_path / "empty"))


@pytest.mark.parametrize("suffix", [".jsonl", ".mcap"])
def test_the_command_makes_a_recording_of_scans(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if suffix == ".mcap":
        pytest.importorskip("mcap")
        pytest.importorskip("rosbags")
    frames, output = tmp_path / "frames.gmo", tmp_path / f"scans{suffix}"
    write_frames(frames, [frame([], [], stamp=1), *turns(3)])
    arguments = ["scan", str(frames), "-o", str(output), "--profile", "RPLIDAR_S2E", "--json"]
    assert main([*arguments, "--name", "front"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert (counts["scans"], counts["empty_frames"], counts["scans_with_problems"]) == (3, 1, 0)
    scans = scans_of(output)
    assert len(scans) == 3
    for number, scan in enumerate(scans):
        assert scan.header.frame_id == "front/laser"
        assert np.array_equal(scan.ranges, np.full(3200, 5.0 + number, dtype=np.float32))
        assert check_scan(scan) == []


def test_the_profile_may_lie_beside_the_frames(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profile = LidarProfile.load("RPLIDAR_S2E")
    frames, output = tmp_path / "frames.gmo", tmp_path / "scans.jsonl"
    write_frames(frames, turns(1), profile=profile)
    assert profile_beside(frames) == profile
    assert main(["scan", str(frames), "-o", str(output)]) == 0
    assert len(scans_of(output)) == 1
    folder = tmp_path / "folder"
    write_frames(folder / "1.gmo", turns(1))
    with pytest.raises(ScanError, match=r"neither .*lidar\.yaml nor .*lidar\.json.*TIM781"):
        profile_beside(folder)
    profile.save(folder / "lidar.json")
    assert profile_beside(folder).beam_count == 3200
    assert main(["scan", str(folder), "-o", str(output)]) == 0
    assert len(scans_of(output)) == 1
    capsys.readouterr()


@pytest.mark.parametrize("producer", ["graph", "srtx"])
def test_the_command_reproduces_what_isaac_sim_makes_of_frames(
    producer: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames, output = tmp_path / "frames.gmo", tmp_path / "scans.jsonl"
    made = turns(1)
    write_frames(frames, [*made, frame([], [], stamp=10**10)])
    arguments = ["scan", str(frames), "-o", str(output), "--profile", "RPLIDAR_S2E"]
    assert main([*arguments, "--producer", producer]) == 0
    told = capsys.readouterr()
    assert "1 empty frames" in told.out
    assert "a scan is wrong: " in told.err
    profile = LidarProfile.load("RPLIDAR_S2E")
    expected = [
        scan_from_gmo(gmo, profile, producer=producer, frame_id="lidar/laser") for gmo in made
    ]
    assert scans_of(output) == expected


def test_the_command_takes_what_the_assembler_takes(tmp_path: Path) -> None:
    frames, output = tmp_path / "frames.gmo", tmp_path / "scans.jsonl"
    write_frames(frames, turns(1)[:3])
    arguments = ["scan", str(frames), "-o", str(output), "--profile", "RPLIDAR_S2E"]
    options = ["--partial", "mark", "--tilt", str(math.pi), "0", "--finite", "--frame-id", "up"]
    assert main([*arguments, *options, "--strategy", "last", "--own-body", "0.5"]) == 0
    (scan,) = scans_of(output)
    assert scan.header.frame_id == "up"
    assert scan.time_increment > 0.0
    assert sorted(set(scan.ranges.round(5).tolist())) == [5.0, 30.0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--producer", "ros"], "--producer is 'ros'"),
        (["--profile", "SICK"], "no lidar profile 'SICK'"),
        (["--partial", "keep"], "partial is 'keep'"),
        (["--ring", "3"], "ring is 3, but 'RPLIDAR S2E' has the rings 0 to 0"),
        ([], "make no whole scan; '--partial mark' keeps"),
    ],
)
def test_the_command_refuses_in_one_line_and_leaves_nothing(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames, output = tmp_path / "frames.gmo", tmp_path / "scans.jsonl"
    write_frames(frames, turns(1)[:3])
    base = ["scan", str(frames), "-o", str(output), "--profile", "RPLIDAR_S2E"]
    assert main([*base, *arguments]) == 2
    told = capsys.readouterr()
    assert message in told.err
    assert len(told.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == [frames]
