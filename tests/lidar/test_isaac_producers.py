"""What Isaac Sim itself makes of lidar output, reproduced."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar import (
    VALID,
    CoordsType,
    GenericModelOutput,
    LidarProfile,
    Ros2LaserScanMessage,
    ScanMetadata,
    array_message,
    graph_message,
    srtx_message,
)
from tests.lidar.scenes import frame

TEN = ScanMetadata((-180.0, 180.0), (0.1, 30.0), 360.0, 36.0, 10.0)
"""Ten bins."""


def graph_ranges(gmo: GenericModelOutput, metadata: ScanMetadata = TEN) -> list[float]:
    message = graph_message(gmo, metadata, stamp=1.0)
    assert message is not None
    return message.getRangeData().tolist()


@pytest.mark.parametrize(
    ("quotient", "index"),
    [
        (-0.4, 0),
        (-0.99, 0),
        (-1.0, 9),
        (-3.5, 9),
        (-1e30, 9),
        (math.nan, 9),
        (math.inf, 0),
        (-math.inf, 9),
        (1e20, 0),
        (1e19, 9),
        (9.99, 9),
        (10.0, 9),
        (123.0, 9),
        (4.7, 4),
    ],
)
def test_an_azimuth_is_cast_as_on_x86_64(quotient: float, index: int) -> None:
    metadata = ScanMetadata((0.0, 10.0), (0.1, 30.0), 10.0, 1.0, 10.0)
    ranges = graph_ranges(frame([quotient], 2.0), metadata)
    assert ranges == [2.0 if place == index else -1.0 for place in range(10)]


@pytest.mark.parametrize(
    ("scalar", "intensity"),
    [
        (1.2, 50),
        (300 / 255, 44),
        (-0.1, 231),
        (2.0, 254),
        (math.nan, 0),
        (math.inf, 0),
        (-math.inf, 0),
        (1e9, 0),
        (0.5, 127),
        (1.0, 255),
    ],
)
def test_an_intensity_is_cast_as_on_x86_64(scalar: float, intensity: int) -> None:
    message = graph_message(frame([0.0], 2.0, scalar=[scalar]), TEN, stamp=1.0)
    assert message is not None
    assert message.getIntensitiesData().tolist() == [0.0] * 5 + [intensity] + [0.0] * 4


def test_half_a_turn_to_the_left_falls_in_the_last_bin() -> None:
    assert graph_ranges(frame([180.0], 4.0)) == [-1.0] * 9 + [4.0]


def oracle(gmo: GenericModelOutput, metadata: ScanMetadata) -> tuple[list[float], list[float]]:
    """Bin one element after another, as the node's loop does."""
    f32 = np.float32
    count = int(f32(metadata.horizontal_fov) / f32(metadata.horizontal_resolution))
    ranges, intensities = [-1.0] * count, [0.0] * count
    for azimuth, distance, scalar in zip(gmo.x, gmo.z, gmo.scalar, strict=True):
        quotient = (azimuth - f32(metadata.azimuth_range[0])) / f32(metadata.horizontal_resolution)
        whole = math.trunc(float(quotient))
        index = whole if 0 <= whole < count else count - 1
        ranges[index] = float(distance)
        intensities[index] = float(math.trunc(float(scalar * f32(255.0))) % 256)
    return ranges, intensities


@given(
    st.lists(
        st.tuples(
            st.floats(-200, 200, width=32), st.floats(0, 50, width=32), st.floats(0, 1, width=32)
        ),
        min_size=1,
        max_size=60,
    ),
    st.sampled_from([(360.0, 36.0), (360.0, 7.3), (270.0, 270 / 811), (90.0, 33.0)]),
)
@settings(max_examples=80)
def test_the_graph_bins_as_a_loop_over_the_elements_does(
    elements: list[tuple[float, float, float]], field: tuple[float, float]
) -> None:
    azimuths, distances, scalars = zip(*elements, strict=True)
    gmo = frame(azimuths, distances, scalar=scalars)
    metadata = ScanMetadata((-field[0] / 2, field[0] / 2), (0.1, 30.0), *field, 10.0)
    message = graph_message(gmo, metadata, stamp=1.0)
    assert message is not None
    ranges, intensities = oracle(gmo, metadata)
    assert message.getRangeData().tolist() == ranges
    assert message.getIntensitiesData().tolist() == intensities


def test_the_graph_ignores_flags_and_the_limits_of_the_range() -> None:
    gmo = frame([0.0, 0.0, 90.0], [5.0, 0.0, 999.0], flags=[VALID, 0, 0])
    assert graph_ranges(gmo) == [-1.0] * 5 + [0.0, -1.0, 999.0, -1.0, -1.0]


def test_the_graph_takes_the_distance_in_space_of_cartesian_output() -> None:
    gmo = frame([0.0, 3.0], [0.0, 4.0], [5.0, 0.0], coords=CoordsType.CARTESIAN)
    ranges = graph_ranges(gmo)
    assert ranges == [-1.0] * 5 + [5.0, -1.0, 5.0, -1.0, -1.0]


def test_the_graph_writes_an_end_that_is_one_increment_too_far() -> None:
    message = graph_message(frame([0.0], 1.0), TEN, stamp=1.0, frame_id="lidar")
    assert message is not None
    inner = message.getPtr()
    assert inner.angle_max == np.float32(math.pi)
    assert (inner.header.frame_id, inner.header.stamp.sec) == ("lidar", 1)
    assert inner.time_increment == np.float32(0.1) / np.float32(10)


@pytest.mark.parametrize("count", [10, 360, 500, 999, 3200])
def test_the_number_of_bins_is_a_float32_quotient_cut_off(count: int) -> None:
    profile = LidarProfile.full_turn("turning", count, scan_rate=10.0)
    message = graph_message(frame([0.0], 1.0), ScanMetadata.from_profile(profile), stamp=1.0)
    assert message is not None
    assert message.getRangeData().size == {500: 499}.get(count, count)


def test_a_bin_is_lost_at_288_of_the_counts() -> None:
    lost = []
    gmo = frame([0.0], 1.0)
    for count in range(10, 7201):
        metadata = ScanMetadata(horizontal_resolution=360.0 / count)
        message = graph_message(gmo, metadata, stamp=1.0)
        assert message is not None
        if message.getRangeData().size != count:
            assert message.getRangeData().size == count - 1
            lost.append(count)
    assert len(lost) == 288
    assert {125, 175, 250, 324, 325, 350, 500, 635, 700, 1000, 2000, 4000} <= set(lost)
    assert {360, 720, 800, 1080, 1440, 3200, 3600, 5000}.isdisjoint(lost)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (ScanMetadata(horizontal_resolution=0.0), "expected both to be more than 0"),
        (ScanMetadata(horizontal_resolution=-1.0), "expected both to be more than 0"),
        (ScanMetadata(horizontal_fov=0.0), "expected both to be more than 0"),
        (ScanMetadata(horizontal_resolution=361.0), "writes out of bounds"),
        (ScanMetadata(horizontal_resolution=math.nan), "expected both to be more than 0"),
    ],
)
@pytest.mark.parametrize("publish", [graph_message, srtx_message])
def test_where_isaac_sim_fails_an_error_says_so(publish, metadata, message) -> None:
    with pytest.raises(ScanError, match=message):
        publish(frame([0.0], 1.0), metadata, stamp=1.0)


@pytest.mark.parametrize("publish", [graph_message, srtx_message])
def test_nothing_is_published_of_an_empty_frame(publish) -> None:
    assert publish(frame([], []), TEN, stamp=1.0) is None


def test_srtx_demands_the_flag_and_leaves_intensities_as_they_came() -> None:
    gmo = frame([0.0, 0.0, 90.0], [5.0, 9.0, 3.0], flags=[VALID, 0, VALID | 1], scalar=0.75)
    message = srtx_message(gmo, TEN, stamp=1.0)
    assert message is not None
    assert message.getRangeData().tolist() == [-1.0] * 5 + [5.0, -1.0, 3.0, -1.0, -1.0]
    assert message.getIntensitiesData().tolist() == [0.0] * 5 + [0.75, 0.0, 0.75, 0.0, 0.0]
    assert message.getPtr().angle_max == np.float32(144.0) * np.float32(math.pi / 180)


def test_srtx_writes_the_data_before_the_buffers() -> None:
    message = Ros2LaserScanMessage()
    srtx_message(frame([0.0], 1.0), TEN, stamp=1.0, message=message)
    assert message.getPtr().time_increment == np.inf
    srtx_message(frame([0.0], 1.0), TEN, stamp=2.0, message=message)
    assert message.getPtr().time_increment == np.float32(0.1) / np.float32(10)
    still = srtx_message(
        frame([0.0], 1.0), ScanMetadata(TEN.azimuth_range, (0.1, 30.0), 360.0, 36.0, 0.0), stamp=1.0
    )
    assert still is not None
    assert math.isnan(still.getPtr().time_increment)


def test_srtx_puts_all_cartesian_output_into_one_bin_and_reads_z() -> None:
    gmo = frame([5.0, 0.0], [0.5, 0.25], [0.0, 5.0], coords=CoordsType.CARTESIAN)
    message = srtx_message(gmo, TEN, stamp=1.0)
    assert message is not None
    assert message.getRangeData().tolist() == [-1.0] * 5 + [0.25] + [-1.0] * 4


@pytest.mark.parametrize("publish", [graph_message, srtx_message])
def test_a_message_that_is_used_again_holds_nothing_of_the_last_frame(publish) -> None:
    message = Ros2LaserScanMessage()
    publish(frame(np.arange(-180, 180, 36), 7.0), TEN, stamp=1.0, message=message)
    publish(frame([0.0], 2.0), TEN, stamp=0.0, message=message)
    assert message.getRangeData().tolist() == [-1.0] * 5 + [2.0] + [-1.0] * 4
    assert message.getPtr().header.stamp.sec == 1, "a stamp of 0 leaves the last one"


def test_coordinates_that_do_not_apply_are_refused() -> None:
    gmo = frame([0.0], 1.0, coords=CoordsType.NOT_APPLICABLE)
    for publish in (graph_message, srtx_message):
        with pytest.raises(ScanError, match="NOT_APPLICABLE"):
            publish(gmo, TEN, stamp=1.0)


def test_the_array_path_takes_what_it_is_given(caplog: pytest.LogCaptureFixture) -> None:
    metadata = ScanMetadata((-180.0, 144.0), (0.1, 30.0), 360.0, 90.0, 10.0)
    message = array_message([1.0, -1.0, 30.0, 0.0], [1, 2, 3, 4], metadata, stamp=1.0)
    assert message is not None
    assert message.getRangeData().tolist() == [1.0, -1.0, 30.0, 0.0]
    assert message.getIntensitiesData().tolist() == [1.0, 2.0, 3.0, 4.0]
    guessed = array_message([1.0, -1.0, 30.0, 0.0], None, metadata, stamp=1.0)
    assert guessed is not None
    assert guessed.getIntensitiesData().tolist() == [255.0, 0.0, 255.0, 0.0]
    assert not caplog.records
    other = array_message([1.0, -1.0], [9], metadata, stamp=1.0)
    assert other is not None
    assert other.getIntensitiesData().tolist() == [255.0, 0.0]
    assert len(caplog.records) == 1
    assert array_message([], None, metadata, stamp=1.0) is None
    with pytest.raises(ScanError, match="numRows is 2"):
        array_message([1.0, 2.0], None, metadata, stamp=1.0, rows=2, columns=1)
    with pytest.raises(ScanError, match="2 depths, expected numCols = 3"):
        array_message([1.0, 2.0], None, metadata, stamp=1.0, columns=3)


def test_the_helper_loses_beams_of_lists_that_cross_0_and_360(shared: Path) -> None:
    lost = {}
    for name in ("SICK_tim781", "SICK_picoScan150", "SICK_microscan3_ABAZ90ZA1P01"):
        profile = LidarProfile.from_isaac_json(shared / "lidar" / "isaacsim" / f"{name}.json")
        azimuths = np.array(profile.emitters[0].azimuths)
        # RTX output lies in -180 to 180 whatever the list says.
        azimuths = np.where(azimuths > 180.0, azimuths - 360.0, azimuths)
        metadata = ScanMetadata.from_profile(profile)
        message = graph_message(frame(azimuths, 5.0), metadata, stamp=1.0)
        assert message is not None
        lost[name] = azimuths.size - int((message.getRangeData() > 0.0).sum())
    assert lost == {
        "SICK_tim781": 202,
        "SICK_picoScan150": 643,
        "SICK_microscan3_ABAZ90ZA1P01": 648,
    }
