"""Worlds as YAML, ours and those of the original software."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive import read_world_model, write_world_model
from irsim_isaac.msg.interactive_world import WorldModel
from tests.interactive.compare import assert_same_world
from tests.interactive.worlds import at, kitchen, world_models

OLD = """
- name: Kitchen
  frame_id: lab
  surfaces:
    - name: Kitchen Table
      frame_id: table
      width: 0.88
      height: 0.9
      aliases: [Dining Table with Chairs, Dining Table]
      placement_surfaces:
        - {frame_id: table_top, nav_frame_id: table_nav}
      pois:
        - {name: Chair, frame_id: chair}
- name: Living Room
  frame_id: lab
"""

FRAMES = {
    "lab": at(1.0, 2.0, 0.0, math.pi / 2.0),
    "table": at(1.0, 4.0, 0.0, math.pi / 2.0),
    "table_top": at(1.0, 4.0, 0.7, math.pi / 2.0),
    "table_nav": at(2.0, 4.0, 0.0, 0.0),
    "chair": at(0.5, 4.0, 0.0, math.pi),
}


def check_old(model: WorldModel) -> None:
    assert [room.name for room in model.rooms] == ["Kitchen", "Living Room"]
    table = model.rooms[0].surfaces[0]
    assert (table.width, table.height) == (0.88, 0.9)
    assert table.is_called("DINING TABLE")
    assert table.pose.position.to_dict() == pytest.approx({"x": 2.0, "y": 0.0, "z": 0.0}, abs=1e-12)
    assert table.pose.orientation.to_yaw() == pytest.approx(0.0, abs=1e-12)
    (top,) = table.placements
    assert top.pose.position.z == pytest.approx(0.7)
    assert top.nav_goal.yaw_offset == math.pi / 2.0
    assert top.nav_goal.pose.position.to_dict() == pytest.approx(
        {"x": 2.0, "y": -1.0, "z": 0.0}, abs=1e-12
    )
    for name, pose in FRAMES.items():
        assert model.frames()[name][:3, 3].tolist() == pytest.approx(
            [pose.position.x, pose.position.y, pose.position.z], abs=1e-12
        )


def test_the_original_list_of_rooms_takes_poses_from_frames(tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(OLD)
    check_old(read_world_model(path, frames=FRAMES))
    check_old(read_world_model(path, frames=FRAMES.__getitem__))
    with pytest.raises(InteractiveError, match=r"rooms\[0\].*'lab'.*frames"):
        read_world_model(path)
    short = {name: pose for name, pose in FRAMES.items() if name != "chair"}
    with pytest.raises(InteractiveError, match=r"pois\[0\]: found 'chair'"):
        read_world_model(path, frames=short)


def test_the_successors_mapping_says_depth(tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(
        "fixed_frame_id: map\nframes: {k: {}, s: {xyz: [1, 2, 0]}, p: {xyz: [1, 2, 0.5]}}\n"
        "rooms:\n- {name: Kitchen, frame_id: k, width: 4.7, depth: 2.4, height: 3,\n"
        "   surfaces: [{name: Shelf, frame_id: s, width: 0.765, depth: 0.305, height: 1.2,\n"
        "     placement_surfaces: [{name: top, frame_id: p}]}]}\n"
    )
    model = read_world_model(path)
    room = model.rooms[0]
    assert (room.width, room.height) == (4.7, 2.4)
    assert (room.surfaces[0].width, room.surfaces[0].height) == (0.765, 0.305)
    assert room.surfaces[0].placements[0].pose.position.z == 0.5


@settings(max_examples=40)
@given(model=world_models())
def test_a_world_survives_its_file(tmp_path_factory, model):
    path = tmp_path_factory.mktemp("world") / "world.yaml"
    write_world_model(model, path)
    assert_same_world(read_world_model(path), model)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3", "the root: found 3"),
        ("{", "no YAML"),
        ("rooms: {}", "rooms: found {}, expected a list"),
        ("rooms: [{name: K, frame_id: k, pose: {}, width: x}]", r"rooms\[0\]\.width: found 'x'"),
        ("rooms: [{name: K, frame_id: k, pose: {}, width: -1}]", "not negative"),
        ("rooms: [{name: K, frame_id: k, pose: {yaw: .nan}}]", "finite"),
        ("rooms: [{name: K, frame_id: k, pose: {xyz: [1]}}]", r"pose\.xyz"),
        ("rooms: [{name: K, frame_id: k, pose: {quaternion: [0, 0, 0, 0]}}]", "not zero"),
        ("rooms: [{frame_id: k, pose: {}}]", r"name: found None"),
        ("rooms: []\ndoors: [{rooms: [a]}]", r"doors\[0\]\.rooms"),
    ],
)
def test_what_is_no_world_is_refused(tmp_path, text, problem):
    path = tmp_path / "world.yaml"
    path.write_text(text)
    with pytest.raises(InteractiveError, match=problem):
        read_world_model(path)
    with pytest.raises(InteractiveError, match="No such file"):
        read_world_model(tmp_path / "missing.yaml")


def test_the_configuration_is_the_message():
    told = kitchen().configuration()
    assert [room.name for room in told.rooms] == ["Kitchen", "Living Room"]
    table = told.rooms[0].surfaces[0]
    assert (table.name, table.width, table.height, len(table.pois)) == (
        "Kitchen Table", 0.88, 0.90, 1,
    )  # fmt: skip
    assert type(told).from_json(told.to_json()) == told
