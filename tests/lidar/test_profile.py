"""Lidar profiles, from and to each of their forms."""

from __future__ import annotations

import json
import math
import pickle
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import ScanError
from irsim_isaac.lidar import EmitterState, LidarProfile, lidar_profiles

ISAAC_FILES = (
    "Debug_Rotary",
    "Hesai_XT32_SD10",
    "OS1_REV7_128ch10hz1024res",
    "RPLIDAR_S2E",
    "SICK_microscan3_ABAZ90ZA1P01",
    "SICK_picoScan150",
    "SICK_tim781",
    "Simple_Example_Solid_State",
)
CORE = "omni:sensor:Core:"


def assert_same_lidar(left: LidarProfile, right: LidarProfile) -> None:
    """Hold every number to what a passage through degrees leaves of it."""
    for field in fields(LidarProfile):
        one, other = getattr(left, field.name), getattr(right, field.name)
        if field.name in ("name", "emitters", "attributes"):
            continue
        if isinstance(one, (float, tuple)):
            assert other == pytest.approx(one, rel=1e-12, abs=1e-12), field.name
        else:
            assert one == other, field.name


@pytest.mark.parametrize("name", lidar_profiles())
def test_a_shipped_profile_passes_through_every_form(name: str, tmp_path: Path) -> None:
    profile = LidarProfile.load(name)
    profile.save(tmp_path / "own.yaml")
    assert LidarProfile.load(tmp_path / "own.yaml") == profile
    for release in ("5", "6"):
        attributes = profile.to_omni_lidar(release=release)
        assert_same_lidar(LidarProfile.from_omni_lidar(attributes), profile)
        assert attributes["omni:sensor:tickRate"] == profile.scan_rate
    profile.save(tmp_path / "isaac.json")
    assert_same_lidar(LidarProfile.load(tmp_path / "isaac.json"), profile)
    assert LidarProfile.load(tmp_path / "isaac.json").name == profile.name
    irsim = LidarProfile.from_irsim(profile.to_irsim())
    assert irsim.beam_count == profile.beam_count
    assert np.allclose(irsim.bearings, profile.bearings, rtol=0.0, atol=1e-12)
    assert (irsim.range_min, irsim.range_max) == (profile.range_min, profile.range_max)
    assert pickle.loads(pickle.dumps(profile)) == profile


def test_the_planar_lidars_are_shipped() -> None:
    assert {"RPLIDAR_S2E", "TIM781", "picoScan150", "microScan3"} <= set(lidar_profiles())
    seen = {
        name: (
            LidarProfile.load(name).beam_count,
            round(math.degrees(LidarProfile.load(name).angle_increment), 6),
            LidarProfile.load(name).range_min,
            LidarProfile.load(name).range_max,
            LidarProfile.load(name).scan_rate,
        )
        for name in ("RPLIDAR_S2E", "TIM781", "picoScan150", "microScan3")
    }
    assert seen == {
        "RPLIDAR_S2E": (3200, 0.1125, 0.05, 30.0, 10.0),
        "TIM781": (811, 0.333333, 0.05, 25.0, 15.0),
        "picoScan150": (2761, 0.1, 0.05, 45.0, 20.0),
        "microScan3": (2750, 0.1, 0.05, 64.0, 20.0),
    }
    rotary = LidarProfile.load("RPLIDAR_S2E")
    assert (rotary.full_circle, rotary.clockwise, rotary.range_accuracy) == (True, True, 0.03)
    assert rotary.time_increment == pytest.approx(-0.1 / 3200)


@pytest.mark.parametrize("name", ISAAC_FILES)
def test_a_profile_of_isaac_sim_passes_through_every_form(
    name: str, shared: Path, tmp_path: Path
) -> None:
    profile = LidarProfile.load(shared / "lidar" / "isaacsim" / f"{name}.json")
    for suffix in ("yaml", "json"):
        profile.save(tmp_path / f"{name}.{suffix}")
        assert LidarProfile.load(tmp_path / f"{name}.{suffix}") == profile
    for release in ("5", "6"):
        attributes = profile.to_omni_lidar(release=release)
        found = LidarProfile.from_omni_lidar(attributes, name=profile.name)
        # What only the JSON has words for is not written to a prim.
        held = tuple(pair for pair in profile.attributes if not pair[0].startswith("json:"))
        assert found == replace(profile, attributes=held)


@pytest.mark.parametrize("name", ISAAC_FILES)
def test_nothing_of_a_file_of_isaac_sim_is_lost(name: str, shared: Path) -> None:
    path = shared / "lidar" / "isaacsim" / f"{name}.json"
    content = json.loads(path.read_text())
    written = LidarProfile.load(path).to_isaac_json()
    assert (written["class"], written["type"], written["name"]) == (
        "sensor", "lidar", content["name"],
    )  # fmt: skip
    for key, value in content["profile"].items():
        if "comment" in key:
            continue
        if key == "emitterStates":
            states = [{k: v for k, v in state.items() if "comment" not in k} for state in value]
            assert written["profile"][key] == states
        else:
            assert written["profile"][key] == value, key


@pytest.mark.parametrize(
    ("file", "shipped", "emitters"),
    [
        ("SICK_tim781", "TIM781", 811),
        ("SICK_picoScan150", "picoScan150", 2761),
        ("SICK_microscan3_ABAZ90ZA1P01", "microScan3", 2750),
    ],
)
def test_each_emitter_of_a_list_that_crosses_0_and_360_has_its_own_beam(
    file: str, shipped: str, emitters: int, shared: Path
) -> None:
    found = LidarProfile.load(shared / "lidar" / "isaacsim" / f"{file}.json")
    for profile in (found, LidarProfile.load(shipped)):
        azimuths = np.radians(found.emitters[0].azimuths)
        position = np.remainder(azimuths - profile.angle_min + 1e-9, 2 * math.pi)
        beams = position / profile.angle_increment
        assert profile.beam_count == emitters
        assert np.array_equal(np.sort(np.rint(beams)), np.arange(emitters))
        assert np.abs(beams - np.rint(beams)).max() < 1e-5
        assert not profile.full_circle
    # They are fired clockwise, one after another.
    assert found.time_increment == pytest.approx(
        LidarProfile.load(shipped).time_increment, rel=1e-4
    )
    assert found.time_increment < 0.0


def test_rings_and_columns_of_a_lidar_with_many_emitters(shared: Path) -> None:
    ouster = LidarProfile.load(shared / "lidar" / "isaacsim" / "OS1_REV7_128ch10hz1024res.json")
    assert (ouster.beam_count, ouster.full_circle, len(ouster.elevations)) == (1024, True, 128)
    assert np.degrees(ouster.elevations[[0, -1]]).tolist() == pytest.approx([-21.48, 20.93])
    solid = LidarProfile.load(shared / "lidar" / "isaacsim" / "Simple_Example_Solid_State.json")
    assert np.degrees(solid.bearings) == pytest.approx([-1.5, -0.5, 0.5, 1.5])
    assert np.degrees(solid.elevations) == pytest.approx([-8.0, 0.0, 8.0])


def test_beams_that_are_not_even_get_a_finer_fan() -> None:
    attributes = {
        CORE + "scanType": "SOLID_STATE",
        CORE + "scanRateBaseHz": 10,
        CORE + "emitterState:s001:azimuthDeg": [0.0, 1.0, 4.0, 10.0],
        CORE + "emitterState:s001:elevationDeg": [0.0] * 4,
    }
    profile = LidarProfile.from_omni_lidar(attributes)
    assert np.degrees(profile.bearings) == pytest.approx(np.arange(11.0))
    assert profile.gaps == (2, 3, 5, 6, 7, 8, 9)
    assert profile.time_increment == 0.0
    bare = replace(profile, emitters=())
    assert LidarProfile.from_omni_lidar(bare.to_omni_lidar()).gaps == profile.gaps
    with tempfile.TemporaryDirectory() as folder:
        profile.save(f"{folder}/any.yaml")
        assert LidarProfile.load(f"{folder}/any.yaml") == profile
    attributes[CORE + "emitterState:s001:azimuthDeg"] = [7.0]
    attributes[CORE + "emitterState:s001:elevationDeg"] = [0.0]
    assert LidarProfile.from_omni_lidar(attributes).bearings == pytest.approx([math.radians(7)])


def test_a_full_ring_of_emitters_is_a_full_circle() -> None:
    azimuths = np.arange(0.0, 360.0, 2.0)
    attributes = {
        CORE + "scanType": "SOLID_STATE",
        CORE + "scanRateBaseHz": 10,
        CORE + "emitterState:s001:azimuthDeg": azimuths.tolist(),
        CORE + "emitterState:s001:elevationDeg": [0.0] * 180,
    }
    profile = LidarProfile.from_omni_lidar(attributes)
    assert profile.full_circle
    assert profile.beam_count == 180


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [(225.0, 135.0, -135.0, 135.0), (0.0, 90.0, 0.0, 90.0), (90.0, 270.0, 90.0, 270.0)],
)
def test_a_window_of_a_rotary_lidar_may_wrap(
    start: float, end: float, first: float, last: float
) -> None:
    profile = LidarProfile.from_omni_lidar(
        {
            CORE + "scanType": "ROTARY",
            CORE + "rotationDirection": "CW",
            CORE + "scanRateBaseHz": 10,
            CORE + "patternFiringRateHz": 3600,
            CORE + "validStartAzimuthDeg": start,
            CORE + "validEndAzimuthDeg": end,
        }
    )
    window = (math.degrees(profile.angle_min), math.degrees(profile.angle_max))
    assert window == pytest.approx((first, last))
    assert profile.beam_count == round(last - first) + 1
    assert profile.time_increment == pytest.approx(-0.1 / 360)
    assert LidarProfile.from_omni_lidar(profile.to_omni_lidar()) == replace(
        profile, name="OmniLidar", emitters=(EmitterState((0.0,), (0.0,), (0.0,)),)
    )


def test_what_is_not_authored_has_the_values_of_the_schema() -> None:
    profile = LidarProfile.from_omni_lidar(
        {CORE + "scanRateBaseHz": 10, CORE + "reportRateBaseHz": 36000}
    )
    assert (profile.range_min, profile.range_max) == (0.3, 200.0)
    assert profile.beam_count == 3600
    assert not profile.clockwise


def test_the_names_of_each_release_are_written() -> None:
    profile = LidarProfile.load("RPLIDAR_S2E")
    new, old = profile.to_omni_lidar(), profile.to_omni_lidar(release="5")
    assert new[CORE + "patternFiringRateHz"] == old[CORE + "reportRateBaseHz"] == 32000
    assert CORE + "reportRateBaseHz" not in new
    assert CORE + "patternFiringRateHz" not in old
    assert new[CORE + "rotationDirection"] == "CW"
    assert new[CORE + "scanType"] == "ROTARY"


finite = st.floats(-math.pi, 0.0)


@given(
    st.sampled_from(["turn", "fan"]),
    st.integers(2, 600),
    finite,
    st.floats(0.01, 2 * math.pi),
    st.floats(0.0, 1.0),
    st.floats(1.5, 200.0),
    st.floats(0.5, 600.0),
    st.sampled_from(["rotary", "solid_state"]),
    st.booleans(),
)
@settings(max_examples=50)
def test_any_profile_passes_through_every_form(
    kind: str,
    count: int,
    low: float,
    span: float,
    range_min: float,
    range_max: float,
    rate: float,
    scan_type: Any,
    clockwise: bool,
) -> None:
    options: dict[str, Any] = {
        "range_min": range_min,
        "range_max": range_max,
        "scan_rate": rate,
        "clockwise": clockwise,
    }
    if kind == "turn":
        profile = LidarProfile.full_turn("any", count, scan_type=scan_type, **options)
    else:
        profile = LidarProfile.fan(
            "any", count, low, low + span, scan_type="solid_state", **options
        )
    with tempfile.TemporaryDirectory() as folder:
        profile.save(f"{folder}/any.yaml")
        assert LidarProfile.load(f"{folder}/any.yaml") == profile
    found = LidarProfile.from_omni_lidar(profile.to_omni_lidar(), name="any")
    assert found.beam_count == count
    turned = np.remainder(found.bearings - profile.bearings + math.pi, 2 * math.pi) - math.pi
    if profile.full_circle:
        turned = np.sort(np.remainder(found.bearings + 1e-9, 2 * math.pi)) - np.sort(
            np.remainder(profile.bearings + 1e-9, 2 * math.pi)
        )
    assert np.abs(turned).max() < 1e-9
    assert found.scan_rate == rate
    assert (found.range_min, found.range_max) == (range_min, range_max)
    irsim = LidarProfile.from_irsim(profile.to_irsim())
    assert np.allclose(irsim.bearings, profile.bearings, rtol=0.0, atol=1e-9)


def test_the_lidar_of_irsim_has_its_defaults() -> None:
    profile = LidarProfile.from_irsim({})
    assert (profile.beam_count, profile.range_min, profile.range_max) == (100, 0.0, 10.0)
    assert (profile.angle_min, profile.angle_max) == (-math.pi / 2, pytest.approx(math.pi / 2))
    assert (profile.scan_time, profile.range_accuracy) == (0.1, 0.0)
    assert LidarProfile.from_irsim({"noise": True}).range_accuracy == 0.2
    wide = LidarProfile.from_irsim({"angle_range": 9.0, "number": 361, "offset": [1, 2, 0.5]})
    assert wide.angle_min == pytest.approx(0.5 - math.pi)
    assert wide.angle_increment == pytest.approx(2 * math.pi / 360)


def test_irsim_itself_has_the_same_beams() -> None:
    pytest.importorskip("irsim")
    from irsim.world.sensors.lidar2d import Lidar2D

    for name in ("TIM781", "RPLIDAR_S2E"):
        profile = LidarProfile.load(name)
        parameters = profile.to_irsim()
        parameters.pop("name")
        sensor = Lidar2D(state=np.zeros((3, 1)), obj_id=0, **parameters)
        bearings = np.asarray(sensor.angle_list) + parameters["offset"][2]
        assert np.allclose(bearings, profile.bearings, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_count": 0}, "0 beams, at least 1"),
        ({"angle_increment": 0.0}, "angle_increment is 0.0, expected more than 0"),
        ({"angle_increment": math.nan}, "angle_increment is nan"),
        ({"beam_count": 400}, "span more than a turn"),
        ({"range_min": 40.0}, "expected 0 <= range_min < range_max"),
        ({"range_min": -1.0}, "expected 0 <= range_min < range_max"),
        ({"scan_rate": 0.0}, "scan_rate is 0.0"),
        ({"scan_type": "spinning"}, "expected 'rotary' or 'solid_state'"),
        ({"rings": ()}, "it has no ring"),
        ({"gaps": (360,)}, "gaps names beams beyond the 360"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScanError, match=message):
        LidarProfile(**changes)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "scanRateBaseHz is missing"),
        ({"scanRateBaseHz": 0}, "scanRateBaseHz is 0.0, expected more than 0"),
        ({"scanRateBaseHz": "ten"}, "scanRateBaseHz is 'ten', expected a number"),
        ({"scanRateBaseHz": 10}, "patternFiringRateHz is 0.0"),
        ({"scanRateBaseHz": 10, "patternFiringRateHz": 1}, "no beam in a scan"),
        ({"scanType": "FLASH", "scanRateBaseHz": 10}, "scanType is 'FLASH'"),
        ({"scanType": "SOLID_STATE", "scanRateBaseHz": 10}, "no emitterState"),
        (
            {
                "scanType": "SOLID_STATE",
                "scanRateBaseHz": 10,
                "emitterState:s001:azimuthDeg": [0.0, 1.0],
                "emitterState:s001:elevationDeg": [0.0],
            },
            "emitterState:s001: an emitter state has 1 elevations",
        ),
    ],
)
def test_attributes_that_describe_no_lidar_are_refused(
    attributes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScanError, match=f"/World/lidar.*{message}"):
        LidarProfile.from_omni_lidar(
            {CORE + name: value for name, value in attributes.items()}, where="/World/lidar"
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nbeams: 4\n", "scan_rate_hz: Field required; range_m: Field required"),
        ("name: [", "not YAML"),
        ("3", "keys and values of a lidar were expected, found int"),
        ("name: a\nscan_rate_hz: 10\nbeams: 4\nrange_m: [0, 1]\nbeam: 1\n", "beam: Extra inputs"),
        ("name: a\nscan_rate_hz: 10\nbeams: 4\nrange_m: [2, 1]\n", "expected 0 <= range_min"),
        ("name: a\nscan_rate_hz: .nan\nbeams: 4\nrange_m: [0, 1]\n", "scan_rate_hz"),
    ],
)
def test_a_file_that_is_no_profile_is_refused_by_its_keys(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "lidar.yaml"
    path.write_text(text)
    with pytest.raises(ScanError, match=message):
        LidarProfile.load(path)


def test_other_things_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ScanError, match=r"no lidar profile 'SICK'; there are: .*TIM781"):
        LidarProfile.load("SICK")
    with pytest.raises(ScanError, match="not a readable lidar profile"):
        LidarProfile.load(tmp_path / "absent.yaml")
    for text, message in [
        ("{", "not a readable JSON"),
        ("[]", "an object 'profile'"),
        ('{"profile": {"emitterStates": 3}}', "not a list of objects"),
    ]:
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ScanError, match=message):
            LidarProfile.load(tmp_path / "bad.json")
    for parameters, message in [
        ({"number": 1.5}, "number is 1.5, expected a whole number"),
        ({"number": 0}, "0 beams"),
        ({"range_max": "far"}, "range_max is 'far'"),
        ({"offset": 3}, "offset is 3"),
        ({"scan_time": 0}, "scan_time is 0.0"),
    ]:
        with pytest.raises(ScanError, match=message):
            LidarProfile.from_irsim(parameters)


def test_beams_are_a_whole_number() -> None:
    """Refuse half a beam."""
    with pytest.raises(ScanError, match=r"2\.5 beams"):
        LidarProfile("half", beam_count=2.5)  # type: ignore[arg-type]
