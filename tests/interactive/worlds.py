"""Worlds to ask about."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from irsim_isaac.msg import Point, Pose, Quaternion
from irsim_isaac.msg.interactive_world import (
    Door,
    ItemPlace,
    NavGoal,
    PlacementSurface,
    PoiPlace,
    RoomPlace,
    SurfacePlace,
    WorldModel,
    from_matrix,
    to_matrix,
)


def at(x: float, y: float, z: float = 0.0, yaw: float = 0.0) -> Pose:
    return Pose(Point(x, y, z), Quaternion.from_yaw(yaw))


def kitchen(yaw: float = 0.0) -> WorldModel:
    """A kitchen table of 0.88 by 0.90 m whose top is at 0.7 m, a counter, a coffee table."""
    table = SurfacePlace(
        "Kitchen Table", "table", at(0.0, 0.0, 0.0, yaw), 0.88, 0.90,
        ("Dining Table with Chairs", "Dining Table"),
        (PlacementSurface("table_top", at(0.0, 0.0, 0.7),
                          nav_goal=NavGoal("table_nav", at(0.0, -1.0), math.pi / 2.0)),),
        (PoiPlace("Chair", "chair_1", at(0.6, 0.0, 0.0, math.pi), 0.4, 0.4),),
    )  # fmt: skip
    counter = SurfacePlace(
        "Kitchen Counter", "counter", at(3.0, 0.0), 2.455, 0.645, ("Counter", "Sink Unit"),
        tuple(PlacementSurface(f"counter_{side}", at(x, 0.0, 0.9))
              for side, x in (("right", -0.8), ("left", 0.8), ("sink", 0.0))),
    )  # fmt: skip
    coffee = SurfacePlace(
        "Coffee Table", "coffee", at(0.0, 0.0), 1.22, 0.505, ("COUNTER",),
        (PlacementSurface("coffee_top", at(0.0, 0.0, 0.4)),),
    )  # fmt: skip
    return WorldModel(
        (
            RoomPlace("Kitchen", "kitchen", at(0.0, 0.0), 6.0, 4.0, (table, counter)),
            RoomPlace("Living Room", "living", at(10.0, 0.0), 4.7, 3.5, (coffee,)),
        ),
        fixed_frame="map",
    )


lengths = st.floats(0.0, 100.0)
places = st.floats(-50.0, 50.0)


@st.composite
def poses(draw) -> Pose:
    q = np.array([draw(st.floats(-1.0, 1.0)) for _ in range(4)])
    if np.linalg.norm(q) < 0.1:
        q = np.array([0.0, 0.0, 0.0, 1.0])
    pose = Pose(Point(draw(places), draw(places), draw(places)), Quaternion(*map(float, q)))
    return from_matrix(to_matrix(pose))


names = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\u2028\u2029\x85"),
    min_size=1, max_size=12,
)  # fmt: skip


@st.composite
def world_models(draw) -> WorldModel:
    """Worlds with everything that can be told; every frame has a name of its own."""
    count = 0

    def frame() -> str:
        nonlocal count
        count += 1
        return f"{draw(names)}_{count}"

    def goal() -> NavGoal | None:
        if draw(st.booleans()):
            return None
        return NavGoal(frame(), draw(poses()), draw(st.floats(-3, 3)), draw(names))

    def placement() -> PlacementSurface:
        return PlacementSurface(
            frame(), draw(poses()), draw(names), draw(lengths), draw(lengths), goal()
        )

    def poi() -> PoiPlace:
        return PoiPlace(draw(names), frame(), draw(poses()), draw(lengths), draw(lengths))

    def surface() -> SurfacePlace:
        return SurfacePlace(
            draw(names), frame(), draw(poses()), draw(lengths), draw(lengths),
            tuple(draw(st.lists(names, max_size=2))),
            tuple(placement() for _ in range(draw(st.integers(1, 2)))),
            tuple(poi() for _ in range(draw(st.integers(0, 2)))),
        )  # fmt: skip

    def room() -> RoomPlace:
        outline = draw(st.lists(st.tuples(places, places), max_size=4))
        return RoomPlace(
            draw(names), frame(), draw(poses()), draw(lengths), draw(lengths),
            tuple(surface() for _ in range(draw(st.integers(0, 2)))),
            tuple(outline), draw(st.none() | lengths),
        )  # fmt: skip

    def item() -> ItemPlace:
        pose = draw(poses())
        ends = draw(st.none() | st.tuples(st.floats(-1, 0), st.floats(0, 1)))
        z = pose.position.z
        return ItemPlace(
            draw(names), frame(), pose, draw(lengths), draw(lengths),
            None if ends is None else z + ends[0], None if ends is None else z + ends[1],
        )  # fmt: skip

    rooms = tuple(room() for _ in range(draw(st.integers(1, 2))))
    return WorldModel(
        rooms,
        tuple(item() for _ in range(draw(st.integers(0, 2)))),
        tuple(
            Door((rooms[0].frame_id, rooms[-1].frame_id), (draw(places), draw(places)),
                 draw(st.floats(-3, 3)), draw(lengths))
            for _ in range(draw(st.integers(0, 1)))
        ),
        draw(names),
        draw(names),
    )  # fmt: skip
