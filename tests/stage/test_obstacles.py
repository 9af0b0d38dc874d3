"""Obstacles of stages: names, bodies, rooms, and what is left out."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

pytest.importorskip("pxr")

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from irsim_isaac.stage.geometry import read_geometry
from irsim_isaac.stage.names import object_names
from irsim_isaac.stage.obstacles import merged_obstacles, read_obstacles


def _stage(meters=1.0, up="Z") -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, meters)
    UsdGeom.SetStageUpAxis(stage, up)
    return stage


def _box(stage, path, center, size, yaw=0.0):
    cube = UsdGeom.Cube.Define(stage, path)
    cube.CreateSizeAttr(1.0)
    cube.AddTranslateOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*center))
    cube.AddRotateZOp().Set(yaw)
    cube.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*size))
    return cube.GetPrim()


def _read(stage, **options):
    found = read_obstacles(stage, read_geometry(stage), **options)
    return {item.name: item for item in found.obstacles}, found


def test_names_are_leaves_where_they_are_unique_and_paths_elsewhere():
    assert object_names(["/A/Box", "/B/Box", "/B/Ball", "/C/Cartons[3]"]) == {
        "/A/Box": "A_Box",
        "/B/Box": "B_Box",
        "/B/Ball": "Ball",
        "/C/Cartons[3]": "Cartons_3",
    }
    assert object_names(["/A/Box"], taken=["Box"]) == {"/A/Box": "A_Box"}


def test_a_prim_with_a_name_is_one_object_with_all_below_it():
    stage = _stage()
    desk = UsdGeom.Xform.Define(stage, "/Desk")
    for number, x in enumerate((0.0, 1.0)):
        _box(stage, f"/Desk/Leg_{number}", (x, 0.0, 0.4), (0.1, 0.1, 0.8))
    _box(stage, "/Post", (5.0, 0.0, 0.5), (0.1, 0.1, 1.0))
    assert set(_read(stage)[0]) == {"Leg_0", "Leg_1", "Post"}
    desk.GetPrim().CreateAttribute("irsim:name", Sdf.ValueTypeNames.String).Set("my desk")
    items, _ = _read(stage)
    assert set(items) == {"my desk", "Post"}
    assert len(items["my desk"].polygons) == 2


def test_a_body_moves_as_one_with_its_mass_pose_and_velocity():
    stage = _stage()
    cart = UsdGeom.Xform.Define(stage, "/Cart")
    cart.AddTranslateOp().Set(Gf.Vec3d(2.0, 1.0, 0.0))
    cart.AddRotateZOp().Set(90.0)
    body = UsdPhysics.RigidBodyAPI.Apply(cart.GetPrim())
    body.CreateVelocityAttr(Gf.Vec3f(0.5, 0.0, 0.0))
    body.CreateAngularVelocityAttr(Gf.Vec3f(0.0, 0.0, 45.0))
    UsdPhysics.MassAPI.Apply(cart.GetPrim()).CreateMassAttr(7.0)
    _box(stage, "/Cart/Front", (0.5, 0.0, 0.3), (0.2, 0.6, 0.6))
    _box(stage, "/Cart/Back", (-0.5, 0.0, 0.3), (0.2, 0.6, 0.6))
    ((name, cart_item),) = _read(stage)[0].items()
    assert (name, cart_item.mass) == ("Cart", 7.0)
    assert cart_item.pose == pytest.approx((2.0, 1.0, math.pi / 2.0))
    assert cart_item.velocity == pytest.approx((0.5, 0.0, math.pi / 4.0))
    # In the body's own frame the pieces lie along its x axis, in the world along y.
    assert {ring[0][0] > 0 for ring in cart_item.polygons} == {True, False}
    assert cart_item.area().bounds == pytest.approx((1.7, 0.4, 2.3, 1.6), abs=1e-6)


def test_bodies_are_named_alike_by_the_world_and_by_physx():
    """Whether they are in the band, and whatever else has the same leaf."""
    from irsim_isaac.simulators.scene import find_bodies

    stage = _stage()
    for path, height in (("/A/Box", 0.2), ("/B/Box", 5.0), ("/C/Door", 0.4), ("/D/Ball", 0.2)):
        UsdPhysics.RigidBodyAPI.Apply(_box(stage, path, (height, 0.0, height), (0.3, 0.3, 0.3)))
    UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/C/Door")).CreateKinematicEnabledAttr(True)
    _box(stage, "/E/Ball", (4.0, 0.0, 0.3), (0.3, 0.3, 0.3))
    kind = Sdf.ValueTypeNames.String
    stage.GetPrimAtPath("/D/Ball").CreateAttribute("irsim:name", kind).Set("my ball")
    theirs = {body.path: body.name for body in find_bodies(stage, [])}
    ours = {item.prim_path: item.name for item in _read(stage)[1].obstacles}
    assert theirs == {
        "/A/Box": "A_Box", "/B/Box": "B_Box", "/C/Door": "Door", "/D/Ball": "my ball",
    }  # fmt: skip
    assert {path: ours[path] for path in ("/A/Box", "/C/Door", "/D/Ball")} == {
        path: theirs[path] for path in ("/A/Box", "/C/Door", "/D/Ball")
    }
    assert ours["/E/Ball"] == "E_Ball"


def test_instances_of_a_body_move_one_by_one():
    stage = _stage()
    scatter = UsdGeom.PointInstancer.Define(stage, "/Scatter")
    cube = UsdGeom.Cube.Define(stage, "/Scatter/Crate")
    cube.CreateSizeAttr(0.4)
    UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
    scatter.CreatePrototypesRel().SetTargets(["/Scatter/Crate"])
    scatter.CreateProtoIndicesAttr([0, 0])
    scatter.CreatePositionsAttr([(0.0, 0.0, 0.2), (2.0, 0.0, 0.2)])
    items, _ = _read(stage)
    assert {(name, item.moving) for name, item in items.items()} == {
        ("Scatter_0", True),
        ("Scatter_1", True),
    }


@pytest.mark.parametrize("still", ["kinematic", "disabled"])
def test_bodies_that_physics_does_not_move_stand(still):
    stage = _stage()
    prim = _box(stage, "/Gate", (1.0, 0.0, 0.5), (1.0, 0.2, 1.0))
    body = UsdPhysics.RigidBodyAPI.Apply(prim)
    if still == "kinematic":
        body.CreateKinematicEnabledAttr(True)
    else:
        body.CreateRigidBodyEnabledAttr(False)
    assert _read(stage)[0]["Gate"].mass is None


def test_an_arm_that_is_fixed_to_the_world_stands():
    stage = _stage()
    UsdGeom.Xform.Define(stage, "/Arm")
    for name, height in (("base", 0.1), ("upper", 0.4)):
        UsdPhysics.RigidBodyAPI.Apply(
            _box(stage, f"/Arm/{name}", (1.0, 0.0, height), (0.2, 0.2, 0.2))
        )
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath("/Arm"))
    joint = UsdPhysics.RevoluteJoint.Define(stage, "/Arm/shoulder")
    joint.CreateAxisAttr("Z")
    joint.CreateBody0Rel().SetTargets(["/Arm/base"])
    joint.CreateBody1Rel().SetTargets(["/Arm/upper"])
    assert all(item.moving for item in _read(stage)[0].values())
    screws = UsdPhysics.FixedJoint.Define(stage, "/Arm/screws")
    screws.CreateBody1Rel().SetTargets(["/Arm/base"])
    items, _ = _read(stage)
    assert set(items) == {"base", "upper"}
    assert not any(item.moving for item in items.values())


def test_a_body_without_a_mass_gets_one_from_its_size():
    stage = _stage()
    UsdPhysics.RigidBodyAPI.Apply(_box(stage, "/Crate", (0.0, 0.0, 0.25), (0.5, 0.5, 0.5)))
    assert _read(stage)[0]["Crate"].mass == pytest.approx(200.0 * 0.5**3, rel=1e-3)


def test_upright_cylinders_and_spheres_are_circles_and_others_are_not():
    stage = _stage(0.01)
    for path, kind in (("/Upright", "Cylinder"), ("/Lying", "Cylinder"), ("/Ball", "Sphere")):
        prim = stage.DefinePrim(path, kind)
        prim.GetAttribute("radius").Set(40.0)
        UsdGeom.Xformable(prim).AddTranslateOp().Set(Gf.Vec3d(100.0, 200.0, 40.0))
    stage.GetPrimAtPath("/Upright").GetAttribute("height").Set(80.0)
    stage.GetPrimAtPath("/Lying").GetAttribute("axis").Set("X")
    squashed = stage.DefinePrim("/Squashed", "Cylinder")
    UsdGeom.Xformable(squashed).AddScaleOp().Set(Gf.Vec3f(50.0, 60.0, 50.0))
    items, _ = _read(stage)
    assert {name: item.radius for name, item in items.items()} == {
        "Upright": 0.4, "Lying": None, "Ball": 0.4, "Squashed": None,
    }  # fmt: skip
    assert items["Upright"].pose == (1.0, 2.0, 0.0)
    assert items["Upright"].polygons == ()
    # A ball whose equator is above the band is what the band cuts from it.
    _, found = _read(stage, height=(0.1, 0.2))
    (ball,) = [item for item in found.obstacles if item.name == "Ball"]
    assert ball.radius is None
    radius = math.sqrt(0.4**2 - 0.2**2)
    assert ball.area().area == pytest.approx(math.pi * radius**2, rel=0.02)


def test_a_room_is_its_walls_where_a_seed_is_inside_it():
    stage = _stage()
    mesh = UsdGeom.Mesh.Define(stage, "/Room")
    corners = [(x, y, z) for z in (0.0, 2.5) for x, y in ((0, 0), (6, 0), (6, 4), (0, 4))]
    faces = [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
    mesh.CreatePointsAttr(corners)
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    mesh.CreateFaceVertexIndicesAttr([index for face in faces for index in face])
    outside = _read(stage)[0]["Room"]
    assert outside.area().equals(shapely.box(0, 0, 6, 4))
    inside = _read(stage, seeds=[(3.0, 2.0)])[0]["Room"]
    assert inside.polygons == ()
    assert inside.outline().symmetric_difference(shapely.box(0, 0, 6, 4).exterior).length < 1e-6


def test_a_sky_dome_is_left_out_and_named():
    stage = _stage()
    dome = UsdGeom.Sphere.Define(stage, "/Sky")
    dome.CreateRadiusAttr(1000.0)
    _box(stage, "/Wall", (0.0, 5.0, 1.0), (10.0, 0.2, 2.0))
    items, found = _read(stage)
    assert set(items) == {"Wall"}
    assert [entry.where for entry in found.omissions] == ["/Sky"]


def test_heavy_meshes_are_outlined_by_a_raster_within_the_tolerance():
    stage = _stage()
    prim = stage.DefinePrim("/Ring", "Mesh")
    count = 400
    angles = np.linspace(0.0, 2.0 * math.pi, count, endpoint=False)
    points, faces = [], []
    for height in (0.0, 1.0):
        for radius in (2.0, 1.0):
            points += [(radius * math.cos(a), radius * math.sin(a), height) for a in angles]
    for i in range(count):
        j = (i + 1) % count
        faces += [
            (i, j, 2 * count + j, 2 * count + i),
            (count + j, count + i, 3 * count + i, 3 * count + j),
            (2 * count + i, 2 * count + j, 3 * count + j, 3 * count + i),
            (j, i, count + i, count + j),
        ]
    mesh = UsdGeom.Mesh(prim)
    mesh.CreatePointsAttr(points)
    mesh.CreateFaceVertexCountsAttr([4] * len(faces))
    mesh.CreateFaceVertexIndicesAttr([index for face in faces for index in face])
    exact = _read(stage)[0]["Ring"]
    drawn, found = _read(stage, heavy=100, tolerance=0.02)
    assert found.warnings == ()
    assert shapely.hausdorff_distance(drawn["Ring"].outline(), exact.outline()) < 0.03
    assert drawn["Ring"].area().area == pytest.approx(3.0 * math.pi, rel=0.02)
    _, coarse = _read(stage, heavy=100, tolerance=1e-4)
    (warning,) = coarse.warnings
    assert warning.startswith("/Ring has too many triangles")


@pytest.mark.parametrize(("meters", "up"), [(1.0, "Z"), (0.01, "Z"), (0.01, "Y")])
def test_units_and_up_axis_do_not_matter(meters, up):
    stage = _stage(meters, up)
    scale = 1.0 / meters
    for path, (x, y, z), (a, b, c) in (
        ("/Wall", (1.0, 2.0, 1.0), (3.0, 0.2, 2.0)),
        ("/Low", (0.0, 0.0, 0.04), (1.0, 1.0, 0.08)),
    ):
        place, size = ((x, y, z), (a, b, c)) if up == "Z" else ((x, z, -y), (a, c, b))
        _box(stage, path, [v * scale for v in place], [v * scale for v in size])
    items, found = _read(stage)
    assert set(items) == {"Wall"}
    assert items["Wall"].area().bounds == pytest.approx((-0.5, 1.9, 2.5, 2.1), abs=1e-6)
    assert [(low.name, round(low.top, 6)) for low in found.low] == [("Low", 0.08)]


def test_a_floor_above_zero_moves_the_band():
    stage = _stage()
    _box(stage, "/Below", (0.0, 0.0, 0.5), (1.0, 1.0, 1.0))
    _box(stage, "/Above", (3.0, 0.0, 3.3), (1.0, 1.0, 0.6))
    assert set(_read(stage)[0]) == {"Below"}
    items, _ = _read(stage, floor=3.0)
    assert set(items) == {"Above"}
    assert items["Above"].height == pytest.approx(0.6, abs=1e-6)


@pytest.mark.parametrize("style", ["new", "old"])
def test_labels_come_from_the_nearest_ancestor(style):
    stage = _stage()
    rack = UsdGeom.Xform.Define(stage, "/Rack").GetPrim()
    if style == "new":
        rack.AddAppliedSchema("SemanticsLabelsAPI:class")
        kind = Sdf.ValueTypeNames.TokenArray
        rack.CreateAttribute("semantics:labels:class", kind).Set(["rack"])
    else:
        kind = Sdf.ValueTypeNames.String
        rack.CreateAttribute("semantic:Semantics_a:params:semanticData", kind).Set("rack")
    _box(stage, "/Rack/Side", (0.0, 0.0, 0.5), (1.0, 0.1, 1.0))
    assert _read(stage)[0]["Side"].label == "rack"


def test_merged_obstacles_cover_the_same_ground_with_fewer_edges():
    stage = _stage()
    for name, center, size in (
        ("South", (0.0, -2.0, 0.5), (6.0, 0.2, 1.0)),
        ("North", (0.0, 2.0, 0.5), (6.0, 0.2, 1.0)),
        ("West", (-2.9, 0.0, 0.4), (0.2, 4.2, 0.8)),
        ("East", (2.9, 0.0, 0.4), (0.2, 4.2, 0.8)),
        ("Alone", (0.0, 0.0, 0.5), (0.5, 0.5, 1.0)),
    ):
        _box(stage, f"/{name}", center, size)
    UsdPhysics.RigidBodyAPI.Apply(_box(stage, "/Crate", (2.6, 0.0, 0.2), (0.4, 0.4, 0.4)))
    items, found = _read(stage)
    merged = {item.name: item for item in merged_obstacles(found.obstacles)}
    assert set(merged) == {"South", "Alone", "Crate"}
    assert merged["Alone"] == items["Alone"]
    assert merged["Crate"] == items["Crate"]
    union = shapely.union_all([items[name].area() for name in ("South", "North", "West", "East")])
    assert merged["South"].area().symmetric_difference(union).area < 1e-6
    assert len(merged["South"].area().interiors) == 1
    assert all(not shapely.Polygon(ring).interiors for ring in merged["South"].polygons)
