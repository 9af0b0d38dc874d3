"""Worlds read from stages, found in maps, and written over stages."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

pxr = pytest.importorskip("pxr")

from pxr import Gf, Kind, Sdf, Usd, UsdGeom, UsdSemantics  # noqa: E402

from irsim_isaac.cli import main  # noqa: E402
from irsim_isaac.errors import StageError  # noqa: E402
from irsim_isaac.interactive import (  # noqa: E402
    WorldServices,
    read_world_model,
    write_world_model,
)
from irsim_isaac.map import Occupancy  # noqa: E402
from irsim_isaac.msg import Header, PoseStamped  # noqa: E402
from irsim_isaac.msg import interactive_world as iw  # noqa: E402
from irsim_isaac.stage import (  # noqa: E402
    add_labels,
    find_rooms,
    item_relations,
    labels,
    room_map,
    world_model,
    world_model_to_stage,
)
from irsim_isaac.stage.room_picture import draw_rooms  # noqa: E402
from tests.interactive.compare import assert_same_world  # noqa: E402
from tests.interactive.worlds import at, kitchen, world_models  # noqa: E402
from tests.stage.builders import add_box, in_stage_units, new_stage  # noqa: E402


def role(stage, path: str, role_name: str, /, **attributes) -> Usd.Prim:
    """Give a prim, an Xform where there is none, a role and attributes in metres."""
    prim = stage.GetPrimAtPath(path) or UsdGeom.Xform.Define(stage, path).GetPrim()
    add_labels(prim, "iw", [role_name])
    kinds = {str: "String", float: "Double", list: "StringArray"}
    for key, value in attributes.items():
        kind = getattr(Sdf.ValueTypeNames, kinds[type(value)])
        prim.CreateAttribute(f"irsim:iw:{key}", kind, True).Set(value)
    return prim


def old_label(prim: Usd.Prim, kind: str, data: str) -> None:
    """Label a prim as Isaac Sim did before it took over USD's dialect."""
    prim.AddAppliedSchema("SemanticsAPI:Semantics_one")
    for key, value in (("Type", kind), ("Data", data)):
        name = f"semantic:Semantics_one:params:semantic{key}"
        prim.CreateAttribute(name, Sdf.ValueTypeNames.String, False).Set(value)


def place(stage, path: str, x: float, y: float, z: float) -> None:
    (point,) = in_stage_units(stage, [[x, y, z]])
    UsdGeom.Xformable(stage.GetPrimAtPath(path)).AddTranslateOp(
        UsdGeom.XformOp.PrecisionDouble
    ).Set(Gf.Vec3d(*point.tolist()))


# ------------------------------------------------------------------ labels


def test_both_dialects_are_read_and_neither_is_inherited():
    stage = new_stage()
    prim = UsdGeom.Xform.Define(stage, "/A").GetPrim()
    child = UsdGeom.Xform.Define(stage, "/A/B").GetPrim()
    api = UsdSemantics.LabelsAPI.Apply(prim, "iw")
    api.CreateLabelsAttr(["room", "big"])
    old_label(prim, "iw", "old, room")
    assert labels(prim, "iw") == ("room", "big", "old")
    assert labels(prim, "class") == ()
    assert labels(child, "iw") == ()
    old_label(child, "class", "cup")
    assert labels(child) == ("cup",)


def test_authored_labels_are_those_of_usd():
    stage = new_stage()
    prim = UsdGeom.Xform.Define(stage, "/A").GetPrim()
    add_labels(prim, "iw", ["surface"])
    assert list(UsdSemantics.LabelsAPI(prim, "iw").GetLabelsAttr().Get()) == ["surface"]
    assert prim.HasAPI(UsdSemantics.LabelsAPI, "iw")


@pytest.mark.parametrize("dialect", ["new", "old"])
def test_roles_are_read_in_both_dialects(dialect):
    stage = new_stage()
    for path, name in (("/R", "room"), ("/R/T", "surface"), ("/R/T/C", "poi")):
        prim = UsdGeom.Xform.Define(stage, path).GetPrim()
        if dialect == "new":
            add_labels(prim, "iw", [name])
        else:
            old_label(prim, "iw", name)
    model = world_model(stage)
    assert model.rooms[0].surfaces[0].pois[0].frame_id == "C"


# ------------------------------------------------------------------ poses and sizes


def furnished(meters_per_unit: float = 1.0, up_axis: str = "Z") -> Usd.Stage:
    """A room of 6 by 4 m with a table of 1.6 by 0.8 m and a cup on it."""
    stage = new_stage(meters_per_unit=meters_per_unit, up_axis=up_axis)
    role(stage, "/World", "world", task="Set the table", fixedFrame="odom")
    role(stage, "/World/Kitchen", "room", width=6.0, height=4.0)
    place(stage, "/World/Kitchen", 10.0, 5.0, 0.0)
    UsdGeom.Scope.Define(stage, "/World/Kitchen/Furniture")
    role(
        stage, "/World/Kitchen/Furniture/Table", "surface", name="Kitchen Table",
        aliases=["Dining Table"],
    )  # fmt: skip
    place(stage, "/World/Kitchen/Furniture/Table", 1.0, -0.5, 0.0)
    add_box(stage, "/World/Kitchen/Furniture/Table/Top", (-0.8, -0.4, 0.68), (0.8, 0.4, 0.72))
    role(stage, "/World/Items/Cup", "item")
    place(stage, "/World/Items/Cup", 11.2, 4.4, 0.77)
    add_box(stage, "/World/Items/Cup/Body", (-0.04, -0.03, -0.05), (0.04, 0.03, 0.05))
    return stage


@pytest.mark.parametrize("up_axis", ["Z", "Y"])
@pytest.mark.parametrize("meters_per_unit", [1.0, 0.01, 0.0254])
def test_every_unit_and_up_axis_gives_the_same_world(meters_per_unit, up_axis):
    model = world_model(furnished(meters_per_unit, up_axis))
    assert (model.task, model.fixed_frame, model.omissions) == ("Set the table", "odom", ())
    (room,) = model.rooms
    (table,) = room.surfaces
    assert np.allclose(iw.to_matrix(room.pose), iw.to_matrix(at(10.0, 5.0)), atol=1e-9)
    assert np.allclose(iw.to_matrix(table.pose), iw.to_matrix(at(1.0, -0.5)), atol=1e-9)
    # Points of meshes are float32.
    assert (table.width, table.height) == pytest.approx((1.6, 0.8), abs=1e-6)
    assert table.is_called("dining table")
    (top,) = table.placements
    assert top.pose.position.z == pytest.approx(0.72, abs=1e-6)
    (cup,) = model.items
    assert (cup.width, cup.height) == pytest.approx((0.08, 0.06), abs=1e-6)
    assert (cup.bottom, cup.top) == pytest.approx((0.72, 0.82), abs=1e-6)
    services = WorldServices(model)
    standing = PoseStamped(Header(0, 0.0, "odom"), cup.standing)
    assert services.find_surface(iw.FindSurface.Request(standing)).surface == "Kitchen Table"


@pytest.mark.parametrize("up_axis", ["Z", "Y"])
def test_scaled_and_turned_parents_give_rigid_poses(up_axis):
    stage = new_stage(meters_per_unit=0.01, up_axis=up_axis)
    up = UsdGeom.Xformable.AddRotateZOp if up_axis == "Z" else UsdGeom.Xformable.AddRotateYOp
    parent = UsdGeom.Xform.Define(stage, "/P")
    parent.AddTranslateOp().Set(Gf.Vec3d(*in_stage_units(stage, [[1.0, 2.0, 0.0]])[0].tolist()))
    up(parent).Set(90.0)
    parent.AddScaleOp().Set(Gf.Vec3f(2.0, 2.0, 2.0))
    role(stage, "/P/Room", "room", width=1.0, height=1.0)
    role(stage, "/P/Room/Table", "surface")
    table = UsdGeom.Xform(stage.GetPrimAtPath("/P/Room/Table"))
    (place_,) = in_stage_units(stage, [[0.5, 0.0, 0.0]])
    table.AddTranslateOp().Set(Gf.Vec3d(*place_.tolist()))
    up(table).Set(90.0)
    table.AddScaleOp().Set(Gf.Vec3f(3.0, 1.0, 1.0))
    add_box(stage, "/P/Room/Table/Top", (-0.1, -0.2, 0.3), (0.1, 0.2, 0.35))
    model = world_model(stage)
    surface = model.rooms[0].surfaces[0]
    # Twice 0.5 m along the room's x axis, turned by another quarter.
    assert np.allclose(
        iw.to_matrix(surface.pose), iw.to_matrix(at(1.0, 0.0, 0.0, math.pi / 2)), atol=1e-9
    )
    assert (surface.width, surface.height) == pytest.approx((1.2, 0.8), abs=1e-5)
    world = model.frames()["Table"]
    assert np.allclose(world, iw.to_matrix(at(1.0, 3.0, 0.0, math.pi)), atol=1e-9)
    assert surface.placements[0].pose.position.z == pytest.approx(0.7, abs=1e-6)


def test_a_measured_frame_moves_to_the_middle_of_its_box():
    stage = new_stage()
    role(stage, "/Room", "room", width=6.0, height=4.0)
    role(stage, "/Room/Table", "surface")
    add_box(stage, "/Room/Table/Top", (0.0, 0.0, 0.7), (1.0, 0.5, 0.75))
    model = world_model(stage)
    surface = model.rooms[0].surfaces[0]
    assert surface.pose.position.to_dict() == pytest.approx({"x": 0.5, "y": 0.25, "z": 0.0})
    assert [kind for _, kind, _ in model.omissions] == ["off centre"]
    assert model.frames()["Table/top"][:3, 3].tolist() == pytest.approx([0.5, 0.25, 0.75])
    with pytest.raises(StageError, match=r"/Room/Table.*middle of its box"):
        world_model(stage, strict=True)


def test_points_of_interest_do_not_enlarge_their_table():
    stage = furnished()
    chair = "/World/Kitchen/Furniture/Table/Chair"
    role(stage, chair, "poi", name="Chair")
    add_box(stage, f"{chair}/Seat", (0.9, -0.2, 0.4), (1.3, 0.2, 0.45))
    table = world_model(stage).rooms[0].surfaces[0]
    assert table.width == pytest.approx(1.6, abs=1e-6)
    assert (table.pois[0].name, table.pois[0].width) == ("Chair", pytest.approx(0.4, abs=1e-6))
    assert table.pois[0].pose.position.x == pytest.approx(1.1, abs=1e-6)


def test_authored_parts_and_goals_are_told():
    stage = furnished()
    table = "/World/Kitchen/Furniture/Table"
    role(stage, f"{table}/Left", "placement_surface")
    place(stage, f"{table}/Left", -0.4, 0.0, 0.72)
    role(stage, "/World/Kitchen/Nav", "nav_goal", yawOffset=0.5)
    place(stage, "/World/Kitchen/Nav", 1.0, -1.5, 0.0)
    role(stage, "/World/Kitchen/Unused", "nav_goal")
    relation = stage.GetPrimAtPath(f"{table}/Left").CreateRelationship("irsim:iw:navGoal")
    relation.SetTargets(["/World/Kitchen/Nav"])
    model = world_model(stage)
    (part,) = model.rooms[0].surfaces[0].placements
    assert part.pose.position.x == pytest.approx(-0.4)
    assert (part.nav_goal.frame_id, part.nav_goal.yaw_offset) == ("Nav", 0.5)
    assert part.nav_goal.pose.position.to_dict() == pytest.approx({"x": 1.0, "y": -1.5, "z": 0.0})
    assert [(where, kind) for where, kind, _ in model.omissions] == [
        ("/World/Kitchen/Unused", "nav goal")
    ]


def test_surfaces_outside_every_room_are_in_the_world():
    stage = furnished()
    role(stage, "/World/Bench", "surface", width=1.0, height=0.4)
    model = world_model(stage)
    assert [room.name for room in model.rooms] == ["Kitchen", ""]
    assert model.rooms[1].surfaces[0].name == "Bench"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda s: role(s, "/World/X", "poi"), "/World/X: the poi is below no surface"),
        (
            lambda s: role(s, "/World/X", "surface", frameId="Cup", width=1.0, height=1.0),
            "frame is 'Cup', which is that of",
        ),
        (lambda s: role(s, "/World/Kitchen", "room", width=-1.0), "width is -1"),
        (
            lambda s: add_labels(s.GetPrimAtPath("/World/Kitchen"), "iw", ["room", "item"]),
            "has the roles room, item",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(change, problem):
    stage = furnished()
    change(stage)
    with pytest.raises(StageError, match=problem):
        world_model(stage)


# ------------------------------------------------------------------ nothing is lost


def test_every_declared_room_appears_or_is_reported():
    stage = new_stage()
    for index in range(3):
        role(stage, f"/Rooms/Room_{index}", "room", width=4.0, height=3.0)
    role(stage, "/Rooms/Corridor", "room")
    add_box(stage, "/Rooms/Corridor/Floor", (-6.0, -0.6, -0.1), (6.0, 0.6, 0.0))
    role(stage, "/Rooms/Entry", "room")
    role(stage, "/Rooms/Attic", "room").SetActive(False)
    role(stage, "/Rooms/Mirrored", "room", width=1.0, height=1.0)
    UsdGeom.Xform(stage.GetPrimAtPath("/Rooms/Mirrored")).AddScaleOp().Set(Gf.Vec3f(-1, 1, 1))
    role(stage, "/Rooms/Flat", "room", width=1.0, height=1.0)
    UsdGeom.Xform(stage.GetPrimAtPath("/Rooms/Flat")).AddScaleOp().Set(Gf.Vec3f(0, 1, 1))
    role(stage, "/Rooms/Odd", "rooom")
    model = world_model(stage)
    assert [room.name for room in model.rooms] == [
        "Room_0", "Room_1", "Room_2", "Corridor", "Entry",
    ]  # fmt: skip
    corridor = model.rooms[3]
    assert (corridor.width, corridor.height) == pytest.approx((12.0, 1.2), abs=1e-5)
    assert [(where, kind) for where, kind, _ in model.omissions] == [
        ("/Rooms/Attic", "inactive"),
        ("/Rooms/Odd", "role"),
        ("/Rooms/Mirrored", "mirrored"),
        ("/Rooms/Flat", "pose"),
        ("/Rooms/Entry", "size"),
    ]


def test_what_is_mended_is_told():
    stage = furnished()
    table = "/World/Kitchen/Furniture/Table"
    role(stage, f"{table}/Fork", "item", width=0.02, height=0.2)
    role(stage, f"{table}/Left", "placement_surface")
    relation = stage.GetPrimAtPath(f"{table}/Left").CreateRelationship("irsim:iw:navGoal")
    relation.SetTargets(["/World/Kitchen"])
    role(stage, "/World/Kitchen/Board", "surface", width=1.0, height=1.0)
    UsdGeom.Xform(stage.GetPrimAtPath("/World/Kitchen/Board")).AddRotateXOp().Set(90.0)
    model = world_model(stage)
    assert {(where, kind) for where, kind, _ in model.omissions} == {
        (f"{table}/Fork", "nested"),
        (f"{table}/Left", "nav goal"),
        ("/World/Kitchen/Board", "tilted"),
    }
    assert [item.name for item in model.items] == ["Fork", "Cup"]


def test_a_payload_that_is_not_loaded_is_told(tmp_path):
    kitchen_stage = furnished()
    kitchen_stage.GetRootLayer().Export(str(tmp_path / "kitchen.usda"))
    stage = Usd.Stage.CreateNew(str(tmp_path / "house.usda"))
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    room = role(stage, "/House", "room", width=6.0, height=4.0)
    room.GetPayloads().AddPayload(str(tmp_path / "kitchen.usda"), "/World/Kitchen")
    stage.Save()
    loaded = world_model(Usd.Stage.Open(str(tmp_path / "house.usda")))
    assert [surface.name for _, surface in loaded.surfaces()] == ["Kitchen Table"]
    opened = Usd.Stage.Open(str(tmp_path / "house.usda"), Usd.Stage.LoadNone)
    model = world_model(opened)
    assert [kind for _, kind, _ in model.omissions] == ["unloaded"]
    assert [room.name for room in model.rooms] == ["House"]


# ------------------------------------------------------------------ inside and on


def cupboard_and_table() -> Usd.Stage:
    stage = new_stage()
    role(stage, "/Room", "room", width=8.0, height=6.0)
    cupboard = "/Room/Cupboard"
    role(stage, cupboard, "surface")
    for name, low, high in (
        ("Back", (-0.5, 0.28, 0.0), (0.5, 0.3, 2.0)),
        ("Left", (-0.5, -0.3, 0.0), (-0.48, 0.3, 2.0)),
        ("Right", (0.48, -0.3, 0.0), (0.5, 0.3, 2.0)),
        ("Top", (-0.5, -0.3, 1.98), (0.5, 0.3, 2.0)),
        ("Shelf", (-0.5, -0.3, 0.98), (0.5, 0.3, 1.0)),
    ):
        add_box(stage, f"{cupboard}/{name}", low, high)
    role(stage, "/Room/Table", "surface")
    place(stage, "/Room/Table", 3.0, 0.0, 0.0)
    add_box(stage, "/Room/Table/Top", (-0.6, -0.4, 0.7), (0.6, 0.4, 0.75))
    for index, (x, y) in enumerate([(-0.55, -0.35), (0.55, -0.35), (0.55, 0.35), (-0.55, 0.35)]):
        add_box(
            stage, f"/Room/Table/Leg_{index}", (x - 0.03, y - 0.03, 0), (x + 0.03, y + 0.03, 0.7)
        )
    for name, (x, y, z) in {
        "InCupboard": (0.1, 0.0, 1.0),
        "OnCupboard": (0.1, 0.0, 2.0),
        "OnTable": (3.1, 0.1, 0.75),
        "UnderTable": (3.1, 0.1, 0.0),
        "OnFloor": (1.5, 2.0, 0.0),
    }.items():
        role(stage, f"/Items/{name}", "item")
        place(stage, f"/Items/{name}", x, y, z)
        add_box(stage, f"/Items/{name}/Body", (-0.05, -0.05, 0.0), (0.05, 0.05, 0.1))
    return stage


def test_inside_a_cupboard_is_not_on_top_of_it():
    stage = cupboard_and_table()
    model = world_model(stage)
    told = {entry.item: (entry.kind, entry.surface) for entry in item_relations(stage, model)}
    assert told == {
        "InCupboard": ("inside", "Cupboard"),
        "OnCupboard": ("on", "Cupboard"),
        "OnTable": ("on", "Table"),
        "UnderTable": ("under", "Table"),
    }


def test_an_item_on_a_shelf_inside_tells_the_shelf():
    stage = cupboard_and_table()
    role(stage, "/Room/Cupboard/Board", "placement_surface")
    place(stage, "/Room/Cupboard/Board", 0.0, 0.0, 1.0)
    role(stage, "/Room/Cupboard/Roof", "placement_surface")
    place(stage, "/Room/Cupboard/Roof", 0.0, 0.0, 2.0)
    told = {
        entry.item: (entry.kind, entry.placement)
        for entry in item_relations(stage, world_model(stage))
    }
    assert told["InCupboard"] == ("inside", "Board")
    assert told["OnCupboard"] == ("on", "Roof")


# ------------------------------------------------------------------ rooms of a map


def walls(stage, *, opening: float = 0.9) -> None:
    """Two rooms, 6 by 4 m and 4 by 4 m, with an opening between them."""
    half = opening / 2.0
    for index, (low, high) in enumerate(
        [
            ((-0.1, -0.1), (10.2, 0.0)),
            ((-0.1, 4.0), (10.2, 4.1)),
            ((-0.1, 0.0), (0.0, 4.0)),
            ((10.1, 0.0), (10.2, 4.0)),
            ((6.0, 0.0), (6.1, 2.0 - half)),
            ((6.0, 2.0 + half), (6.1, 4.0)),
        ]
    ):
        add_box(stage, f"/Walls/W{index}", (*low, 0.0), (*high, 2.5))


@pytest.mark.parametrize(("meters_per_unit", "up_axis"), [(1.0, "Z"), (0.01, "Y")])
def test_an_opening_of_90_cm_separates_two_rooms(meters_per_unit, up_axis):
    stage = new_stage(meters_per_unit=meters_per_unit, up_axis=up_axis)
    walls(stage)
    role(stage, "/Bench", "surface", width=1.0, height=0.5)
    place(stage, "/Bench", 8.0, 1.0, 0.0)
    add_box(stage, "/Bench/Body", (-0.5, -0.25, 0.0), (0.5, 0.25, 0.5))
    model = world_model(stage)
    assert [room.name for room in model.rooms] == ["room_1", "room_2"]
    # The floor, and half of the floor of the opening, to a band of one cell.
    for room, area, side in zip(model.rooms, (24.0, 16.0), (10.0, 8.0), strict=True):
        assert abs(room.area - area) <= 2.0 * side * 0.05
        assert room.area == pytest.approx(area + 0.045, abs=0.0451)
    (door,) = model.doors
    assert door.rooms == ("room_1", "room_2")
    assert door.position == pytest.approx((6.05, 2.0), abs=0.051)
    assert (door.yaw, door.width) == (pytest.approx(0.0, abs=1e-6), pytest.approx(0.9, abs=0.051))
    # The bench stands in the second room, and its place in the world is kept.
    assert [surface.name for surface in model.rooms[1].surfaces] == ["Bench"]
    assert model.frames()["Bench"][:3, 3].tolist() == pytest.approx([8.0, 1.0, 0.0], abs=1e-6)


def test_a_wide_opening_separates_nothing():
    stage = new_stage()
    walls(stage, opening=1.6)
    assert len(world_model(stage).rooms) == 1
    assert len(world_model(stage, door_width=1.7).rooms) == 2


def test_an_area_is_of_free_cells_whatever_their_size():
    for resolution in (0.025, 0.05, 0.1, 0.2):
        nx, ny = round(6.0 / resolution), round(4.0 / resolution)
        cells = np.full((nx + 2, ny + 2), 100, np.int8)
        cells[1:-1, 1:-1] = 0
        (room,) = find_rooms(Occupancy(cells, resolution, (3.0, -2.0, 0.7))).rooms
        assert room.cells == nx * ny
        assert room.area == pytest.approx(24.0, rel=1e-12)


def test_three_rooms_and_a_corridor_are_found():
    cells = np.full((300, 200), 100, np.int8)
    cells[2:298, 2:32] = 0
    for low, high in ((2, 98), (100, 198), (200, 298)):
        cells[low:high, 34:198] = 0
        cells[low + 40 : low + 58, 32:34] = 0
    plan = find_rooms(Occupancy(cells, 0.05, (0.0, 0.0, 0.0)))
    assert len(plan.rooms) == 4
    assert [door.rooms for door in plan.doors] == [(0, 1), (0, 2), (0, 3)]
    assert all(door.width == pytest.approx(0.9, abs=1e-3) for door in plan.doors)
    free = cells == 0
    # Every free cell is in one room, and the areas are their counts.
    assert (plan.labels[free] >= 0).all()
    assert (plan.labels[~free] == -1).all()
    counts = np.bincount(plan.labels[free])
    assert [room.cells for room in plan.rooms] == counts.tolist()


def test_a_table_in_the_middle_does_not_cut_a_room_but_a_wall_does():
    cells = np.full((124, 84), 100, np.int8)
    cells[2:122, 2:82] = 0
    table = cells.copy()
    table[40:84, 18:66] = 100
    assert len(find_rooms(Occupancy(table, 0.05, (0, 0, 0))).rooms) == 1
    wall = cells.copy()
    wall[60:64, 20:64] = 100
    assert len(find_rooms(Occupancy(wall, 0.05, (0, 0, 0))).rooms) == 2


def test_floor_outside_of_the_building_is_no_room():
    cells = np.zeros((200, 160), np.int8)
    cells[40:160, 40:120] = 100
    cells[42:158, 42:118] = 0
    cells[158:160, 70:88] = 0
    plan = find_rooms(Occupancy(cells, 0.05, (0.0, 0.0, 0.0)))
    assert len(plan.rooms) == 1
    assert [omission.kind for omission in plan.omissions] == ["outside"]
    assert (plan.labels[:40] == -1).all()


def test_a_narrow_corridor_is_a_room_and_a_gap_is_none():
    cells = np.full((200, 100), 100, np.int8)
    cells[2:98, 2:98] = 0
    cells[102:198, 2:98] = 0
    cells[98:102, 40:56] = 0  # an opening of 0.8 m
    assert len(find_rooms(Occupancy(cells, 0.05, (0, 0, 0))).rooms) == 2
    cells[98:102, 40:56] = 100
    cells[2:98, 60:98] = 100
    cells[2:98, 60:76] = 0  # 0.8 m wide and 4.8 m long, beside the room
    cells[2:98, 57:60] = 100
    cells[50:62, 57:60] = 0
    plan = find_rooms(Occupancy(cells, 0.05, (0, 0, 0)))
    assert len(plan.rooms) == 3
    (door,) = plan.doors
    # The opening of 0.6 m, from the room up into the corridor.
    assert door.rooms == (0, 2)
    assert door.position == pytest.approx((2.8, 2.85), abs=1e-6)
    assert (door.width, door.yaw) == pytest.approx((0.6, math.pi / 2.0), abs=1e-3)


def test_a_map_without_floor_has_no_rooms():
    plan = find_rooms(Occupancy(np.full((5, 5), 100, np.int8), 0.05, (0.0, 0.0, 0.0)))
    assert (plan.rooms, plan.doors) == ((), ())
    with pytest.raises(StageError, match="door_width"):
        find_rooms(Occupancy(np.zeros((5, 5), np.int8), 0.05, (0.0, 0.0, 0.0)), door_width=0.0)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*[st.integers(0, 40)] * 4), max_size=6),
    st.floats(0.3, 2.0),
)
def test_no_free_cell_is_in_two_rooms_or_forgotten(boxes, door_width):
    cells = np.zeros((40, 30), np.int8)
    for x, y, w, h in boxes:
        cells[x : x + w, y : y + h] = 100
    plan = find_rooms(Occupancy(cells, 0.1, (0.0, 0.0, 0.0)), door_width=door_width)
    counted = np.bincount(plan.labels[plan.labels >= 0], minlength=len(plan.rooms))
    assert [room.cells for room in plan.rooms] == counted.tolist()
    assert (plan.labels[cells != 0] == -1).all()
    for door in plan.doors:
        assert door.rooms[0] < door.rooms[1] < len(plan.rooms)
    if ((cells == 0) & (plan.labels < 0)).any():
        assert plan.omissions


def test_the_floor_of_labelled_rooms_is_counted():
    stage = new_stage()
    walls(stage)
    role(stage, "/Kitchen", "room", width=6.0, height=4.0)
    place(stage, "/Kitchen", 3.0, 2.0, 0.0)
    (room,) = world_model(stage, occupancy=room_map(stage)).rooms
    assert room.area == pytest.approx(24.0, abs=20.0 * 0.05)


# ------------------------------------------------------------------ and back


@pytest.mark.parametrize(("meters_per_unit", "up_axis"), [(1.0, "Z"), (0.01, "Y"), (0.0254, "Z")])
@settings(max_examples=15)
@given(model=world_models())
def test_a_world_survives_its_layer(meters_per_unit, up_axis, model):
    stage = world_model_to_stage(model, meters_per_unit=meters_per_unit, up_axis=up_axis)
    assert_same_world(world_model(stage), model)


@pytest.mark.parametrize(("meters_per_unit", "up_axis"), [(1.0, "Z"), (0.01, "Y")])
def test_stage_to_yaml_to_stage_and_back(tmp_path, meters_per_unit, up_axis):
    first = world_model(furnished(meters_per_unit, up_axis))
    write_world_model(first, tmp_path / "world.yaml")
    second = read_world_model(tmp_path / "world.yaml")
    world_model_to_stage(
        second, tmp_path / "world.usda", meters_per_unit=meters_per_unit, up_axis=up_axis
    )
    third = world_model(Usd.Stage.Open(str(tmp_path / "world.usda")))
    write_world_model(third, tmp_path / "again.yaml")
    assert_same_world(first, second)
    assert_same_world(first, third)
    assert_same_world(first, read_world_model(tmp_path / "again.yaml"))


def test_a_layer_lies_over_a_stage_and_keeps_kinds_in_order(tmp_path):
    world_model_to_stage(kitchen(), tmp_path / "world.usda")
    base = new_stage()
    add_box(base, "/World/Wall", (0, 0, 0), (1, 0.1, 2))
    base.GetRootLayer().subLayerPaths.append(str(tmp_path / "world.usda"))
    assert_same_world(world_model(base), kitchen())
    for prim in base.Traverse():
        kind = Usd.ModelAPI(prim).GetKind()
        if kind == Kind.Tokens.component:
            above = prim.GetParent()
            while not above.IsPseudoRoot():
                assert Usd.ModelAPI(above).GetKind() in (Kind.Tokens.group, Kind.Tokens.assembly)
                above = above.GetParent()


# ------------------------------------------------------------------ the command line


def test_the_command_tells_rooms_and_draws_them(tmp_path, capsys):
    stage = cupboard_and_table()
    walls(stage)
    path = tmp_path / "stage.usda"
    stage.GetRootLayer().Export(str(path))
    assert main(["rooms", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [room["name"] for room in told["rooms"]] == ["Room"]
    assert [surface["name"] for surface in told["rooms"][0]["surfaces"]] == ["Cupboard", "Table"]
    kinds = {item["name"]: item["relation"] for item in told["items"]}
    assert (kinds["InCupboard"], kinds["OnCupboard"], kinds["OnFloor"]) == ("inside", "on", None)
    assert main(["rooms", str(path), "-o", str(tmp_path / "rooms.png")]) == 0
    assert "Cupboard" in capsys.readouterr().out
    with Image.open(tmp_path / "rooms.png") as picture:
        assert max(picture.size) == 1600
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
    assert len(colours) > 20
    assert main(["rooms", str(path), "-o", str(tmp_path / "world.yaml")]) == 0
    capsys.readouterr()
    assert read_world_model(tmp_path / "world.yaml").find("table")
    assert main(["rooms", str(path), "-o", str(tmp_path / "rooms.txt")]) == 2
    assert "rooms.txt" in capsys.readouterr().err
    assert not (tmp_path / "rooms.txt").exists()


def test_a_picture_shows_rooms_apart():
    stage = new_stage()
    walls(stage)
    grid = room_map(stage)
    picture = draw_rooms(world_model(stage), grid, size=400)
    scale = 400 / grid.width
    x0, y0, _ = grid.origin

    def pixel(x: float, y: float) -> tuple[int, ...]:
        return picture.getpixel((int((x - x0) * scale), int(picture.height - (y - y0) * scale)))

    assert pixel(1.0, 3.5) != pixel(9.0, 3.5)
    assert pixel(1.0, 3.5) == pixel(5.0, 3.5)


def test_the_interfaces_command_writes_packages(tmp_path, capsys):
    assert main(["interfaces", "-o", str(tmp_path / "src")]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3
    assert (tmp_path / "src/interactive_world_msgs/srv/FindSurface.srv").is_file()
