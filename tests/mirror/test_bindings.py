"""Poses go to the other side and back, in any frame, unit and up axis."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irsim_isaac.errors import MirrorError
from irsim_isaac.mirror import (
    Binding,
    bind_by_label,
    bind_by_name,
    bind_by_prim_path,
    bindings_from_config,
)
from irsim_isaac.msg import Odometry, Point, Quaternion, Vector3
from tests.validation.worlds import odometry, thing, world

ANGLE = st.floats(-3.1, 3.1)
PLACE = st.floats(-100, 100)
POSE = st.tuples(PLACE, PLACE, ANGLE)
TWIST = st.tuples(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
OFFSET = st.tuples(st.floats(-5, 5), st.floats(-5, 5), ANGLE)
UNITS = st.sampled_from([(1.0, "Z"), (0.01, "Z"), (1.0, "Y"), (0.01, "Y"), (0.0254, "Y")])


def axis_turn(axis: str, angle: float) -> Quaternion:
    part = {axis: math.sin(angle / 2)}
    return Quaternion(**{key: part.get(key, 0.0) for key in "xyz"}, w=math.cos(angle / 2))


def times(a: Quaternion, b: Quaternion) -> Quaternion:
    """First b, then a."""
    return Quaternion(
        a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
        a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
        a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
        a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
    )


def planar(odom: Odometry) -> tuple[float, ...]:
    pose, twist = odom.pose.pose, odom.twist.twist
    return (
        pose.position.x,
        pose.position.y,
        pose.orientation.to_yaw(),
        twist.linear.x,
        twist.linear.y,
        twist.angular.z,
    )


def close(found, wanted, tolerance=1e-9):
    for index, (a, b) in enumerate(zip(found, wanted, strict=True)):
        gap = math.remainder(a - b, 2 * math.pi) if index == 2 else a - b
        assert abs(gap) <= tolerance, (index, found, wanted)


@given(POSE, TWIST, OFFSET, OFFSET, UNITS)
def test_there_and_back_is_the_same(pose, twist, frame, base, units):
    binding = Binding("a", "b", frame=frame, base=base, meters_per_unit=units[0], up_axis=units[1])
    there = binding.to_right(odometry(*pose, twist))
    close(planar(binding.to_left(there)), (*pose, *twist))
    close(binding.left_pose(there), pose)


@given(POSE, TWIST, OFFSET, OFFSET, UNITS, st.floats(-0.9, 0.9), st.floats(-0.9, 0.9), PLACE)
def test_height_roll_and_pitch_are_kept_on_the_way_back(
    pose, twist, frame, base, units, roll, pitch, height
):
    scale, up = units
    binding = Binding("a", "b", frame=frame, base=base, meters_per_unit=scale, up_axis=up)
    present = Odometry()
    lean = times(axis_turn("y" if up == "Z" else "z", pitch), axis_turn("x", roll))
    present.pose.pose.orientation = times(axis_turn(up.lower(), 0.7), lean)
    present.pose.pose.position = Point(1.0, 2.0, height) if up == "Z" else Point(1.0, height, -2.0)
    there = binding.to_right(odometry(*pose, twist), present)
    where = there.pose.pose.position
    kept = where.z if up == "Z" else where.y
    assert kept == pytest.approx(height, abs=1e-9)
    assert binding.tilt(there) == pytest.approx(binding.tilt(present), abs=1e-7)
    close(binding.left_pose(there), pose)
    # What the turn about the up axis leaves is the lean that was there.
    now = there.pose.pose.orientation
    before = present.pose.pose.orientation
    turn = times(now, Quaternion(-before.x, -before.y, -before.z, before.w))
    assert {key: getattr(turn, key) for key in "xyz" if key != up.lower()} == pytest.approx(
        {key: 0.0 for key in "xyz" if key != up.lower()}, abs=1e-9
    )


def test_a_frame_offset_by_hand():
    # The right world lies 10 m along x of the left one, turned a quarter to the left.
    binding = Binding("a", "b", frame=(10.0, 0.0, math.pi / 2))
    there = binding.to_right(odometry(10.0, 3.0, math.pi / 2, (1.0, 0.0, 0.2)))
    close(planar(there), (3.0, 0.0, 0.0, 1.0, 0.0, 0.2))


def test_a_base_offset_by_hand():
    # The right base sits 1 m ahead of the left one and looks back.
    binding = Binding("a", "b", base=(1.0, 0.0, math.pi))
    there = binding.to_right(odometry(0.0, 0.0, math.pi / 2, (0.5, 0.0, 1.0)))
    close(planar(there), (0.0, 1.0, -math.pi / 2, -0.5, -1.0, 1.0))


def test_centimetres_with_y_up_by_hand():
    binding = Binding("a", "b", meters_per_unit=0.01, up_axis="Y")
    there = binding.to_right(odometry(1.0, 2.0, math.pi / 2, (0.5, 0.1, 0.3)))
    place, turn = there.pose.pose.position, there.pose.pose.orientation
    assert (place.x, place.y, place.z) == pytest.approx((100.0, 0.0, -200.0))
    half = math.sqrt(0.5)
    assert (turn.x, turn.y, turn.z, turn.w) == pytest.approx((0.0, half, 0.0, half))
    moving, turning = there.twist.twist.linear, there.twist.twist.angular
    assert (moving.x, moving.y, moving.z) == pytest.approx((50.0, 0.0, -10.0))
    assert (turning.x, turning.y, turning.z) == pytest.approx((0.0, 0.3, 0.0))


@pytest.mark.parametrize(("up", "across"), [("Z", "y"), ("Y", "z")])
def test_the_heading_of_a_tilted_body_is_where_its_front_points_seen_from_above(up, across):
    odom = Odometry()
    odom.pose.pose.orientation = times(axis_turn(up.lower(), 1.0), axis_turn(across, 0.8))
    binding = Binding("a", "b", up_axis=up)
    assert binding.left_pose(odom)[2] == pytest.approx(1.0)
    assert binding.tilt(odom) == pytest.approx(0.8)


def test_a_flat_body_at_its_height_is_passed_through():
    odom = odometry(1.0, 2.0, 0.3)
    assert Binding("a", "b").to_right(odom, odometry(5.0, 5.0, 1.0)) is odom


def test_quaternions_are_told_by_name_in_both_orders():
    pytest.importorskip("pxr")
    from irsim_isaac.stage import gf_quaternion, quaternion_xyzw

    half = math.sqrt(0.5)
    message = Quaternion.from_yaw(math.pi / 2)
    assert (message.x, message.y, message.z, message.w) == pytest.approx((0, 0, half, half))
    usd = gf_quaternion(message.x, message.y, message.z, message.w)
    assert (usd.GetReal(), *usd.GetImaginary()) == pytest.approx((half, 0, 0, half))
    assert Quaternion(*quaternion_xyzw(usd)).to_yaw() == pytest.approx(math.pi / 2)


def test_commands_are_turned_into_the_other_base():
    binding = Binding("a", "b", base=(1.0, 0.0, math.pi))
    twist = odometry(0, 0, 0, (0.5, 0.0, 1.0)).twist.twist
    there = binding.twist_to_right(twist)
    assert (there.linear.x, there.linear.y, there.angular.z) == pytest.approx((-0.5, -1.0, 1.0))
    assert Binding("a", "b", frame=(1, 2, 3)).twist_to_right(twist) is twist
    assert there.linear.z == 0.0 and isinstance(there.linear, Vector3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"frame": (0.0, math.nan, 0.0)}, "frame is .* finite x, y and yaw"),
        ({"base": (0.0, 0.0)}, "base is .* were expected"),
        ({"meters_per_unit": 0.0}, "meters_per_unit is 0.0, more than 0"),
        ({"up_axis": "X"}, "up_axis is 'X', 'Y' or 'Z'"),
        ({"tilt_limit": 0.0}, "tilt_limit is 0.0 rad"),
    ],
)
def test_what_a_binding_cannot_be_is_named(fields, message):
    with pytest.raises(MirrorError, match=f"binding of 'a' and 'b': {message}"):
        Binding("a", "b", **fields)


def test_objects_are_bound_by_name_label_and_prim():
    left = world(0.0, *(thing(name, (0, 0, 0)) for name in ("a", "b", "c")))
    right = world(0.0, *(thing(name, (0, 0, 0)) for name in ("c", "a", "d")))
    pairs = [(item.left, item.right) for item in bind_by_name(left, right, tilt_limit=0.5)]
    assert pairs == [("a", "a"), ("c", "c")]
    labelled = bind_by_label({"box": "crate", "r": "robot"}, {"Box_1": "crate", "w": "wall"})
    assert [(item.left, item.right) for item in labelled] == [("box", "Box_1")]
    (prim,) = bind_by_prim_path({"box": "/W/Box"}, {"Box_1": "/W/Box", "x": "/W/X"})
    assert (prim.left, prim.right, prim.prim_path) == ("box", "Box_1", "/W/Box")


def test_what_is_bound_twice_is_refused():
    twin = world(0.0, thing("a", (0, 0, 0)), thing("a", (1, 0, 0)))
    with pytest.raises(MirrorError, match="the name 'a' occurs twice"):
        bind_by_name(twin, world(0.0))
    with pytest.raises(MirrorError, match="the label 'crate' occurs twice"):
        bind_by_label({"a": "crate", "b": "crate"}, {"c": "crate"})
    with pytest.raises(MirrorError, match="the right name 'x' occurs twice"):
        bindings_from_config([{"left": "a", "right": "x"}, {"left": "b", "right": "x"}])


def test_bindings_from_a_file():
    first, second = bindings_from_config(
        [
            {"left": "robot", "frame": [1, 2, 0.5], "up_axis": "Y"},
            {"left": "box", "right": "Box", "prim_path": "/W/Box", "direction": "lead"},
        ]
    )
    assert first == Binding("robot", "robot", frame=(1.0, 2.0, 0.5), up_axis="Y")
    assert (second.right, second.prim_path, second.direction) == ("Box", "/W/Box", "lead")
    with pytest.raises(MirrorError, match="the key 'frmae' is unknown; known are: left, right"):
        bindings_from_config([{"left": "a", "frmae": [0, 0, 0]}])
    with pytest.raises(MirrorError, match="the key 'left' is missing"):
        bindings_from_config([{"right": "a"}])
