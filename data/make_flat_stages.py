"""Write the furnished flat, in metres with z up and in centimetres with y up.

Both stages hold the same flat and are the same bytes each time:
``python data/make_flat_stages.py [FOLDER]``. Everything below is said once, in metres with z up;
``Axes`` says it in the units of a stage.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from make_demo_stages import RPLIDAR_S2E, Vector, array, number, prim, vector

Lines = list[str]

LENGTH, DEPTH, HEIGHT = 10.4, 8.8, 2.5
"""The flat inside its outer walls [m]."""

THIN, THICK = 0.12, 0.2
"""Inner and outer walls [m]."""

SOUTH, NORTH = 4.0, 5.3
"""The middles of the walls beside the hall [m]."""

DOOR, LINTEL = 0.9, 2.05

LOOKS = {
    "Plaster": ((0.86, 0.85, 0.81), 0.9),
    "Parquet": ((0.58, 0.43, 0.28), 0.45),
    "Tiles": ((0.74, 0.77, 0.78), 0.25),
    "Oak": ((0.62, 0.45, 0.27), 0.5),
    "Walnut": ((0.33, 0.22, 0.14), 0.45),
    "White": ((0.92, 0.92, 0.91), 0.4),
    "Steel": ((0.55, 0.57, 0.6), 0.25),
    "Stone": ((0.3, 0.31, 0.33), 0.3),
    "Linen": ((0.85, 0.82, 0.74), 0.95),
    "Blue": ((0.2, 0.33, 0.5), 0.9),
    "Moss": ((0.36, 0.43, 0.3), 0.95),
    "Black": ((0.05, 0.05, 0.06), 0.35),
    "Red": ((0.75, 0.13, 0.1), 0.3),
    "Green": ((0.1, 0.4, 0.25), 0.6),
}
"""The colour and the roughness of each material."""


@dataclass(frozen=True)
class Axes:
    """The units and the up axis of a stage.

    Attributes:
        unit: How many of its units are a metre.
        up: Its up axis.
    """

    unit: int
    up: str

    def point(self, x: float, y: float, z: float) -> Vector:
        """Return a place or a way, told in metres with z up."""
        turned = (x, y, z) if self.up == "Z" else (x, z, -y)
        # Rounded, so that no product such as 100 x 1.15 shows its last digits.
        x, y, z = (round(value * self.unit, 6) for value in turned)
        return x, y, z

    def size(self, x: float, y: float, z: float) -> Vector:
        """Return the sides of a box, told in metres with z up."""
        x, y, z = self.point(x, -y if self.up == "Y" else y, z)
        return x, y, z

    def length(self, value: float) -> str:
        """Return a length that was told in metres."""
        return number(round(value * self.unit, 6))

    def placed(self, at: Vector, *, yaw: float | None = None, scale: Vector | None = None) -> Lines:
        """Return a transform: scaled, turned about the up axis [degrees], then moved."""
        lines = [f"double3 xformOp:translate = {vector(self.point(*at))}"]
        order = ["xformOp:translate"]
        if yaw:
            lines.append(f"double xformOp:rotate{self.up} = {number(yaw)}")
            order.append(f"xformOp:rotate{self.up}")
        if scale is not None:
            lines.append(f"double3 xformOp:scale = {vector(self.size(*scale))}")
            order.append("xformOp:scale")
        quoted = ", ".join(f'"{name}"' for name in order)
        return [*lines, f"uniform token[] xformOpOrder = [{quoted}]"]

    def upright(self, at: Vector) -> Lines:
        """Return the transform of a prim whose own z axis is up in either stage."""
        lines = [f"double3 xformOp:translate = {vector(self.point(*at))}"]
        if self.up == "Z":
            return [*lines, 'uniform token[] xformOpOrder = ["xformOp:translate"]']
        order = 'uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX"]'
        return [*lines, "double xformOp:rotateX = -90", order]


def bound(look: str) -> str:
    """Return the binding of a material."""
    return f"rel material:binding = </World/Looks/{look}>"


def color(look: str) -> str:
    """Return the colour of a material, for viewers that show none."""
    return f"color3f[] primvars:displayColor = [{vector(LOOKS[look][0])}]"


def box(
    axes: Axes, name: str, at: Vector, size: Vector, look: str, *, collider: bool = True
) -> Lines:
    """Return a Cube of a size about its middle [m]."""
    return prim(
        "Cube",
        name,
        [
            "double size = 1",
            "float3[] extent = [(-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)]",
            bound(look),
            color(look),
            *axes.placed(at, scale=size),
        ],
        apis=["MaterialBindingAPI", *(["PhysicsCollisionAPI"] if collider else [])],
    )


def lathe(
    axes: Axes,
    name: str,
    profile: Sequence[tuple[float, float]],
    look: str,
    *,
    sides: int = 20,
) -> Lines:
    """Return a closed mesh that is round about the up axis; its collider is its convex hull.

    Args:
        axes: Of the stage.
        name: Of the prim.
        profile: Radius and height [m] from the middle of the underside out, up and in again;
            the ends have the radius 0.
        look: Its material.
        sides: Of each ring.
    """
    (_, first), *rings, (_, last) = profile
    points: list[Vector] = [axes.point(0.0, 0.0, first)]
    for radius, height in rings:
        for index in range(sides):
            turn = 2.0 * math.pi * index / sides
            points.append(axes.point(radius * math.cos(turn), radius * math.sin(turn), height))
    points.append(axes.point(0.0, 0.0, last))
    faces: list[tuple[int, ...]] = []
    for index in range(sides):
        after = (index + 1) % sides
        faces.append((0, 1 + after, 1 + index))
        for ring in range(len(rings) - 1):
            low, high = 1 + ring * sides, 1 + (ring + 1) * sides
            faces.append((low + index, low + after, high + after, high + index))
        top = 1 + (len(rings) - 1) * sides
        faces.append((top + index, top + after, len(points) - 1))
    low_end = tuple(min(point[axis] for point in points) for axis in range(3))
    high_end = tuple(max(point[axis] for point in points) for axis in range(3))
    return prim(
        "Mesh",
        name,
        [
            f"float3[] extent = [{vector(low_end)}, {vector(high_end)}]",
            f"int[] faceVertexCounts = {array([len(face) for face in faces])}",
            f"int[] faceVertexIndices = {array([index for face in faces for index in face])}",
            'uniform token physics:approximation = "convexHull"',
            f"point3f[] points = {array([vector(point) for point in points])}",
            bound(look),
            color(look),
            'uniform token subdivisionScheme = "none"',
        ],
        apis=["MaterialBindingAPI", "PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"],
    )


def separated(parts: Sequence[Lines]) -> Lines:
    """Return prims one below the other, a blank line between them."""
    return [line for part in parts for line in (*part, "")][:-1]


def described(
    name: str | None,
    frame: str,
    size: tuple[float, float] | None = None,
    *,
    aliases: Sequence[str] = (),
) -> Lines:
    """Return the attributes of what has a role [m]."""
    lines = [f'custom string irsim:iw:frameId = "{frame}"']
    if name is not None:
        lines.append(f'custom string irsim:iw:name = "{name}"')
    if aliases:
        quoted = ", ".join(f'"{alias}"' for alias in aliases)
        lines.append(f"custom string[] irsim:iw:aliases = [{quoted}]")
    if size is not None:
        lines.append(f"custom double irsim:iw:width = {number(size[0])}")
        lines.append(f"custom double irsim:iw:height = {number(size[1])}")
    return lines


def role(
    kind: str,
    prim_name: str,
    what: str,
    lines: Lines,
    *,
    model: str | None = None,
    apis: Sequence[str] = (),
    classes: Sequence[str] = (),
) -> Lines:
    """Return a prim with a role of the taxonomy ``iw``, and perhaps labels for segmentation."""
    labels = [f'token[] semantics:labels:iw = ["{what}"]']
    schemas = [*apis, "SemanticsLabelsAPI:iw"]
    if classes:
        quoted = ", ".join(f'"{name}"' for name in classes)
        labels.append(f"token[] semantics:labels:class = [{quoted}]")
        schemas.append("SemanticsLabelsAPI:class")
    return prim(
        kind,
        prim_name,
        [*labels, *lines],
        apis=schemas,
        metadata=[] if model is None else [f'kind = "{model}"'],
    )


@dataclass(frozen=True)
class Level:
    """A part of a surface that things are put on.

    Attributes:
        frame: Its frame and its prim's name.
        at: Its middle, from the middle of the furniture on the floor [m].
        size: Along x and y [m].
        stand: Where a robot stands to look at it: x, y [m] and heading [degrees], in the flat.
    """

    frame: str
    at: Vector
    size: tuple[float, float]
    stand: tuple[float, float, float]


@dataclass(frozen=True)
class Poi:
    """A point of interest: its name, its frame, its place [m, degrees], its size and its shape."""

    name: str
    frame: str
    at: Vector
    yaw: float
    size: tuple[float, float]
    parts: Sequence[Lines]


@dataclass(frozen=True)
class Furniture:
    """A piece of furniture that things are put on; x, y [m] and yaw [degrees] in the flat."""

    name: str
    frame: str
    at: tuple[float, float, float]
    size: tuple[float, float]
    what: str
    parts: Sequence[Lines]
    levels: Sequence[Level]
    pois: Sequence[Poi] = ()
    aliases: Sequence[str] = ()


def surface(axes: Axes, piece: Furniture, middle: tuple[float, float], room: str) -> Lines:
    """Return a piece of furniture in its room."""
    x, y, yaw = piece.at
    levels = [
        role(
            "Xform",
            level.frame,
            "placement_surface",
            [
                *described(None, level.frame, level.size),
                f"rel irsim:iw:navGoal = </World/{room}/{nav_name(level)}>",
                'uniform token purpose = "guide"',
                *axes.placed(level.at),
            ],
            model="subcomponent",
        )
        for level in piece.levels
    ]
    pois = [
        role(
            "Xform",
            poi.frame,
            "poi",
            [
                *described(poi.name, poi.frame, poi.size),
                *axes.placed(poi.at, yaw=poi.yaw),
                *(["", *separated(poi.parts)] if poi.parts else []),
            ],
            model="subcomponent",
        )
        for poi in piece.pois
    ]
    return role(
        "Xform",
        piece.frame,
        "surface",
        [
            f'custom string irsim:name = "{piece.name}"',
            *described(piece.name, piece.frame, piece.size, aliases=piece.aliases),
            *axes.placed((x - middle[0], y - middle[1], 0.0), yaw=yaw),
            "",
            *separated([*piece.parts, *levels, *pois]),
        ],
        model="component",
        classes=[piece.what],
    )


def nav_name(level: Level) -> str:
    """Return the prim of the place that a part is reached from."""
    return f"Nav_{level.frame}"


def room(
    axes: Axes,
    name: str,
    frame: str,
    corners: tuple[float, float, float, float],
    pieces: Sequence[Furniture],
    others: Sequence[Lines] = (),
) -> Lines:
    """Return a room: its furniture, where a robot stands, and what else is in it.

    Args:
        axes: Of the stage.
        name: What it is called.
        frame: Its frame and its prim's name.
        corners: Its least x and y, its greatest x and y [m].
        pieces: Its furniture.
        others: Prims with places relative to the middle of the room.
    """
    x0, y0, x1, y1 = corners
    middle = ((x0 + x1) / 2.0, (y0 + y1) / 2.0)
    goals = [
        role(
            "Xform",
            nav_name(level),
            "nav_goal",
            [
                *described(None, nav_name(level)),
                *axes.placed(
                    (level.stand[0] - middle[0], level.stand[1] - middle[1], 0.0),
                    yaw=level.stand[2],
                ),
            ],
        )
        for piece in pieces
        for level in piece.levels
    ]
    return role(
        "Xform",
        frame,
        "room",
        [
            *described(name, frame, (x1 - x0, y1 - y0)),
            *axes.placed((*middle, 0.0)),
            "",
            *separated(
                [*(surface(axes, piece, middle, frame) for piece in pieces), *goals, *others]
            ),
        ],
        model="group",
    )


# ------------------------------------------------------------------ furniture


def table_parts(
    axes: Axes, length: float, width: float, height: float, look: str, *, leg: float = 0.06
) -> list[Lines]:
    """Return a board on four legs."""
    board = 0.04
    parts = [box(axes, "Board", (0.0, 0.0, height - board / 2), (length, width, board), look)]
    for index, (sx, sy) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1)), start=1):
        at = (sx * (length - leg) / 2, sy * (width - leg) / 2, (height - board) / 2)
        parts.append(box(axes, f"Leg_{index}", at, (leg, leg, height - board), look))
    return parts


def chair(axes: Axes, name: str, frame: str, at: tuple[float, float], yaw: float) -> Poi:
    """Return a chair whose sitter looks along its x axis."""
    parts = [
        box(axes, f"Leg_{index}", (0.17 * sx, 0.17 * sy, 0.21), (0.04, 0.04, 0.42), "Walnut")
        for index, (sx, sy) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1)), start=1)
    ]
    parts.append(box(axes, "Seat", (0.0, 0.0, 0.44), (0.4, 0.4, 0.04), "Linen"))
    parts.append(box(axes, "Back", (-0.18, 0.0, 0.66), (0.04, 0.4, 0.4), "Walnut"))
    return Poi(name, frame, (*at, 0.0), yaw, (0.4, 0.4), parts)


def shelf_parts(
    axes: Axes, length: float, depth: float, boards: Sequence[float], look: str
) -> list[Lines]:
    """Return two sides, a back and boards whose tops are at the heights [m]."""
    height, side = boards[-1] + 0.02, 0.03
    parts = [
        box(axes, "Left", (-(length - side) / 2, 0.0, height / 2), (side, depth, height), look),
        box(axes, "Right", ((length - side) / 2, 0.0, height / 2), (side, depth, height), look),
        box(axes, "Back", (0.0, (depth - 0.02) / 2, height / 2), (length, 0.02, height), look),
    ]
    for index, top in enumerate(boards, start=1):
        size = (length - 2 * side, depth - 0.02, 0.03)
        parts.append(box(axes, f"Board_{index}", (0.0, -0.01, top - 0.015), size, look))
    return parts


def living_room(axes: Axes) -> Lines:
    """Return the room with the sofa, the dining table and the bookshelf."""
    sofa = Furniture(
        "Sofa", "Sofa", (1.5, 0.5, 0.0), (2.0, 0.9), "sofa",
        [
            box(axes, "Seat", (0.0, 0.06, 0.21), (1.7, 0.78, 0.42), "Blue"),
            box(axes, "Back", (0.0, -0.39, 0.42), (2.0, 0.12, 0.84), "Blue"),
            box(axes, "ArmLeft", (-0.925, 0.06, 0.3), (0.15, 0.78, 0.6), "Blue"),
            box(axes, "ArmRight", (0.925, 0.06, 0.3), (0.15, 0.78, 0.6), "Blue"),
        ],
        [Level("SofaSeat", (0.0, 0.1, 0.42), (1.7, 0.7), (1.5, 1.28, -90.0))],
        [
            Poi("Cushion", f"Cushion_{index}", (x, -0.2, 0.57), 0.0, (0.4, 0.16),
                [box(axes, "Cushion", (0.0, 0.0, 0.0), (0.4, 0.16, 0.3), "Linen")])
            for index, x in enumerate((-0.6, 0.6), start=1)
        ],
        ["Couch"],
    )  # fmt: skip
    coffee = Furniture(
        "Coffee Table", "CoffeeTable", (1.5, 1.95, 0.0), (1.1, 0.6), "table",
        table_parts(axes, 1.1, 0.6, 0.45, "Oak"),
        [Level("CoffeeTableTop", (0.0, 0.0, 0.45), (1.1, 0.6), (1.5, 2.75, -90.0))],
    )  # fmt: skip
    stand = Furniture(
        "TV Stand", "TVStand", (1.0, 3.7, 180.0), (1.4, 0.42), "cabinet",
        [
            box(axes, "Body", (0.0, 0.0, 0.3), (1.4, 0.42, 0.6), "White"),
            box(axes, "Foot", (0.0, -0.06, 0.62), (0.4, 0.2, 0.04), "Black"),
            box(axes, "Screen", (0.0, -0.12, 0.98), (1.2, 0.04, 0.68), "Black"),
        ],
        [Level("TVStandTop", (0.0, 0.07, 0.6), (1.4, 0.26), (1.0, 3.0, 90.0))],
        [Poi("Television", "Television", (0.0, -0.12, 0.64), 0.0, (1.2, 0.04), [])],
        ["TV Cabinet"],
    )  # fmt: skip
    dining = Furniture(
        "Dining Table", "DiningTable", (4.1, 2.0, 0.0), (1.4, 0.8), "table",
        table_parts(axes, 1.4, 0.8, 0.74, "Walnut"),
        [
            Level("DiningTableWest", (-0.35, 0.0, 0.74), (0.7, 0.8), (3.0, 2.0, 0.0)),
            Level("DiningTableEast", (0.35, 0.0, 0.74), (0.7, 0.8), (5.2, 2.0, 180.0)),
        ],
        [
            chair(axes, "Chair", "DiningChair_1", (-0.33, -0.56), 90.0),
            chair(axes, "Chair", "DiningChair_2", (0.33, -0.56), 90.0),
            chair(axes, "Chair", "DiningChair_3", (-0.33, 0.56), -90.0),
            chair(axes, "Chair", "DiningChair_4", (0.33, 0.56), -90.0),
        ],
        ["Dining Table with Chairs"],
    )  # fmt: skip
    boards = (0.1, 0.48, 0.86, 1.24, 1.62)
    books = [
        box(axes, f"Books_{index}", (x, 0.0, z + height / 2), (long, 0.18, height), look)
        for index, (x, long, z, height, look) in enumerate(
            (
                (-0.3, 0.4, 0.1, 0.27, "Moss"),
                (0.25, 0.5, 0.1, 0.25, "Blue"),
                (-0.38, 0.24, 0.48, 0.28, "Red"),
                (0.42, 0.18, 0.86, 0.26, "Green"),
                (-0.35, 0.3, 1.24, 0.25, "Linen"),
            ),
            start=1,
        )
    ]
    bookshelf = Furniture(
        "Bookshelf", "Bookshelf", (5.57, 0.75, -90.0), (1.2, 0.32), "shelf",
        [*shelf_parts(axes, 1.2, 0.32, boards, "Oak"), *books],
        [
            Level("BookshelfUpper", (0.0, -0.01, 0.86), (1.14, 0.28), (4.75, 0.55, 0.0)),
            Level("BookshelfLower", (0.0, -0.01, 0.48), (1.14, 0.28), (4.6, 0.55, 0.0)),
        ],
        (),
        ["Shelf"],
    )  # fmt: skip
    rug = box(axes, "Rug", (-1.37, 0.0, 0.004), (2.3, 1.5, 0.008), "Moss", collider=False)
    return room(
        axes, "Living Room", "LivingRoom", (0.0, 0.0, 5.74, 3.94),
        [sofa, coffee, stand, dining, bookshelf], [rug],
    )  # fmt: skip


def kitchen(axes: Axes) -> Lines:
    """Return the room with the counter, the stove, the fridge and a small table."""
    counter = Furniture(
        "Kitchen Counter", "KitchenCounter", (7.25, 0.33, 0.0), (2.4, 0.62), "counter",
        [
            box(axes, "Body", (0.0, 0.0, 0.43), (2.4, 0.6, 0.86), "White"),
            box(axes, "Top", (-0.5, 0.0, 0.88), (1.4, 0.62, 0.04), "Stone"),
            box(axes, "TopRight", (1.025, 0.0, 0.88), (0.35, 0.62, 0.04), "Stone"),
            box(axes, "SinkFront", (0.525, 0.26, 0.88), (0.65, 0.1, 0.04), "Stone"),
            box(axes, "SinkBack", (0.525, -0.26, 0.88), (0.65, 0.1, 0.04), "Stone"),
            box(axes, "Basin", (0.525, 0.0, 0.863), (0.65, 0.42, 0.006), "Steel"),
            box(axes, "Tap", (0.525, -0.26, 1.02), (0.03, 0.03, 0.24), "Steel"),
        ],
        [
            Level("CounterLeft", (-0.85, 0.0, 0.9), (0.7, 0.62), (6.45, 1.1, -90.0)),
            Level("CounterMiddle", (-0.15, 0.0, 0.9), (0.7, 0.62), (7.15, 1.1, -90.0)),
            Level("CounterSink", (0.7, 0.0, 0.9), (1.0, 0.62), (7.95, 1.1, -90.0)),
        ],
        [Poi("Sink", "Sink", (0.525, 0.0, 0.866), 0.0, (0.65, 0.42), [])],
        ["Counter", "Sink Unit"],
    )  # fmt: skip
    burners = [
        Poi("Burner", f"Burner_{index}", (0.15 * sx, 0.14 * sy, 0.9), 0.0, (0.18, 0.18), [])
        for index, (sx, sy) in enumerate(((-1, -1), (1, -1), (1, 1), (-1, 1)), start=1)
    ]
    stove = Furniture(
        "Stove", "Stove", (8.8, 0.33, 0.0), (0.6, 0.6), "stove",
        [
            box(axes, "Body", (0.0, 0.0, 0.44), (0.6, 0.6, 0.88), "Steel"),
            box(axes, "Plate", (0.0, 0.0, 0.89), (0.58, 0.58, 0.02), "Black"),
        ],
        [Level("StoveTop", (0.0, 0.0, 0.9), (0.6, 0.6), (8.8, 1.1, -90.0))],
        burners,
        ["Oven"],
    )  # fmt: skip
    table = Furniture(
        "Kitchen Table", "KitchenTable", (9.35, 2.75, 0.0), (0.9, 0.9), "table",
        table_parts(axes, 0.9, 0.9, 0.74, "Oak"),
        [Level("KitchenTableTop", (0.0, 0.0, 0.74), (0.9, 0.9), (8.4, 2.75, 0.0))],
        [
            chair(axes, "Chair", "KitchenChair_1", (0.0, -0.61), 90.0),
            chair(axes, "Chair", "KitchenChair_2", (0.0, 0.61), -90.0),
        ],
    )  # fmt: skip
    fridge = box(axes, "Fridge", (1.72, -1.62, 0.95), (0.66, 0.66, 1.9), "White")
    return room(
        axes, "Kitchen", "Kitchen", (5.86, 0.0, 10.4, 3.94), [counter, stove, table], [fridge]
    )


def hall(axes: Axes) -> Lines:
    """Return the hall, with a narrow table at its end."""
    console = Furniture(
        "Hall Table", "HallTable", (9.5, 5.07, 180.0), (0.9, 0.3), "table",
        table_parts(axes, 0.9, 0.3, 0.8, "Walnut", leg=0.05),
        [Level("HallTableTop", (0.0, 0.0, 0.8), (0.9, 0.3), (9.5, 4.45, 90.0))],
        (),
        ["Console"],
    )  # fmt: skip
    return room(axes, "Hall", "Hall", (0.0, 4.06, 10.4, 5.24), [console])


def bedroom(axes: Axes) -> Lines:
    """Return the room with the bed."""
    bed = Furniture(
        "Bed", "Bed", (1.2, 7.72, 180.0), (1.6, 2.05), "bed",
        [
            box(axes, "Frame", (0.0, 0.0, 0.16), (1.6, 2.05, 0.32), "Oak"),
            box(axes, "Mattress", (0.0, 0.03, 0.42), (1.5, 1.93, 0.2), "White"),
            box(axes, "Head", (0.0, -1.0, 0.5), (1.6, 0.05, 1.0), "Oak"),
            box(axes, "Blanket", (0.0, 0.3, 0.535), (1.52, 1.35, 0.03), "Blue"),
        ],
        [
            Level("BedFoot", (0.0, 0.45, 0.55), (1.5, 1.05), (1.2, 6.2, 90.0)),
            Level("BedHead", (0.0, -0.55, 0.52), (1.5, 0.85), (2.45, 7.75, 165.0)),
        ],
        [
            Poi("Pillow", f"Pillow_{index}", (x, -0.7, 0.58), 0.0, (0.6, 0.38),
                [box(axes, "Pillow", (0.0, 0.0, 0.0), (0.6, 0.38, 0.12), "Linen")])
            for index, x in enumerate((-0.38, 0.38), start=1)
        ],
    )  # fmt: skip
    nightstand = Furniture(
        "Nightstand", "Nightstand", (2.35, 8.56, 180.0), (0.45, 0.4), "cabinet",
        [box(axes, "Body", (0.0, 0.0, 0.275), (0.45, 0.4, 0.55), "Oak")],
        [Level("NightstandTop", (0.0, 0.0, 0.55), (0.45, 0.4), (2.5, 7.85, 100.0))],
        (),
        ["Bedside Table"],
    )  # fmt: skip
    dresser = Furniture(
        "Dresser", "Dresser", (3.68, 6.7, -90.0), (1.2, 0.46), "cabinet",
        [
            box(axes, "Body", (0.0, 0.0, 0.4), (1.2, 0.46, 0.8), "White"),
            box(axes, "Mirror", (0.0, 0.2, 1.2), (0.8, 0.03, 0.8), "Steel"),
        ],
        [Level("DresserTop", (0.0, -0.03, 0.8), (1.2, 0.38), (2.85, 6.7, 0.0))],
    )  # fmt: skip
    return room(axes, "Bedroom", "Bedroom", (0.0, 5.36, 3.94, 8.8), [bed, nightstand, dresser])


def bathroom(axes: Axes) -> Lines:
    """Return the room with the washbasin."""
    basin = Furniture(
        "Washbasin", "Washbasin", (5.55, 8.55, 180.0), (0.8, 0.46), "washbasin",
        [
            box(axes, "Body", (0.0, 0.0, 0.41), (0.8, 0.46, 0.82), "White"),
            box(axes, "Top", (0.0, 0.0, 0.835), (0.8, 0.46, 0.03), "Stone"),
            box(axes, "Mirror", (0.0, -0.22, 1.5), (0.7, 0.02, 0.8), "Steel"),
        ],
        [Level("WashbasinTop", (0.0, 0.0, 0.85), (0.8, 0.46), (5.5, 7.75, 90.0))],
        (),
        ["Basin"],
    )  # fmt: skip
    tub = box(axes, "Bathtub", (-0.65, 0.85, 0.28), (0.74, 1.7, 0.56), "White")
    return room(axes, "Bathroom", "Bathroom", (4.06, 5.36, 6.14, 8.8), [basin], [tub])


def study(axes: Axes) -> Lines:
    """Return the room with the desk."""
    desk = Furniture(
        "Desk", "Desk", (8.7, 8.42, 180.0), (1.5, 0.7), "table",
        [
            *table_parts(axes, 1.5, 0.7, 0.74, "Oak"),
            box(axes, "Screen", (0.0, -0.2, 0.99), (0.55, 0.03, 0.32), "Black"),
            box(axes, "ScreenFoot", (0.0, -0.22, 0.785), (0.16, 0.12, 0.09), "Black"),
        ],
        [
            Level("DeskLeft", (0.45, 0.05, 0.74), (0.6, 0.6), (8.05, 7.55, 75.0)),
            Level("DeskRight", (-0.45, 0.05, 0.74), (0.6, 0.6), (9.5, 7.6, 105.0)),
        ],
        [chair(axes, "Office Chair", "OfficeChair", (-0.05, 0.6), -90.0)],
        ["Writing Desk"],
    )  # fmt: skip
    rack = Furniture(
        "Study Shelf", "StudyShelf", (10.22, 6.4, -90.0), (1.0, 0.32), "shelf",
        [
            *shelf_parts(axes, 1.0, 0.32, (0.1, 0.7, 1.1, 1.5), "White"),
            box(axes, "Files", (0.25, 0.0, 0.84), (0.4, 0.2, 0.28), "Green"),
        ],
        [Level("StudyShelfBoard", (0.0, -0.01, 0.7), (0.94, 0.28), (9.35, 6.4, 0.0))],
    )  # fmt: skip
    return room(axes, "Study", "Study", (6.26, 5.36, 10.4, 8.8), [desk, rack])


# ------------------------------------------------------------------ walls


def wall_along_x(
    axes: Axes, name: str, y: float, x0: float, x1: float, doors: Sequence[float]
) -> list[Lines]:
    """Return an inner wall along x, with lintels over its doors.

    Args:
        axes: Of the stage.
        name: Of its pieces.
        y: Its middle [m].
        x0: Where it begins [m].
        x1: Where it ends [m].
        doors: The middles of its doors [m].
    """
    edges = [x0]
    for middle in doors:
        edges += [middle - DOOR / 2, middle + DOOR / 2]
    edges.append(x1)
    parts = [
        box(axes, f"{name}_{index}", ((start + end) / 2, y, HEIGHT / 2),
            (end - start, THIN, HEIGHT), "Plaster")
        for index, (start, end) in enumerate(zip(edges[::2], edges[1::2], strict=True), start=1)
    ]  # fmt: skip
    above = HEIGHT - LINTEL
    parts += [
        box(axes, f"{name}Lintel_{index}", (middle, y, LINTEL + above / 2),
            (DOOR, THIN, above), "Plaster")
        for index, middle in enumerate(doors, start=1)
    ]  # fmt: skip
    return parts


def walls(axes: Axes) -> Lines:
    """Return the walls, the lintels and the door leaves, which stand open against a wall."""
    x, y, z = LENGTH / 2, DEPTH / 2, HEIGHT / 2
    long, half = LENGTH + 2 * THICK, THICK / 2
    parts = [
        box(axes, "South", (x, -half, z), (long, THICK, HEIGHT), "Plaster"),
        box(axes, "North", (x, DEPTH + half, z), (long, THICK, HEIGHT), "Plaster"),
        box(axes, "West", (-half, y, z), (THICK, DEPTH, HEIGHT), "Plaster"),
        box(axes, "East", (LENGTH + half, y, z), (THICK, DEPTH, HEIGHT), "Plaster"),
        *wall_along_x(axes, "HallSouth", SOUTH, 0.0, LENGTH, (2.85, 7.6)),
        *wall_along_x(axes, "HallNorth", NORTH, 0.0, LENGTH, (2.9, 5.0, 7.5)),
    ]
    above = HEIGHT - LINTEL
    # The wall between living room and kitchen, with a door that has no leaf.
    for name, start, end in (("KitchenWall_1", 0.0, 2.7), ("KitchenWall_2", 3.6, 3.94)):
        parts.append(
            box(axes, name, (5.8, (start + end) / 2, z), (THIN, end - start, HEIGHT), "Plaster")
        )
    parts.append(
        box(axes, "KitchenWallLintel", (5.8, 3.15, LINTEL + above / 2), (THIN, DOOR, above),
            "Plaster")
    )  # fmt: skip
    for name, at in (("BedroomWall", 4.0), ("StudyWall", 6.2)):
        parts.append(
            box(axes, name, (at, (5.36 + DEPTH) / 2, z), (THIN, DEPTH - 5.36, HEIGHT), "Plaster")
        )
    # Open leaves lie flat on the wall beside their doors.
    for name, at, side in (
        ("LeafLiving", (3.3 + 0.45, 3.92), 0.86),
        ("LeafKitchen", (8.05 + 0.45, 3.92), 0.86),
        ("LeafBedroom", (2.45 - 0.45, 5.38), 0.86),
        ("LeafBathroom", (4.55 - 0.22, 5.38), 0.42),
        ("LeafStudy", (7.95 + 0.45, 5.38), 0.86),
    ):
        parts.append(box(axes, name, (*at, 1.0), (side, 0.04, 2.0), "White"))
    return prim(
        "Xform",
        "Walls",
        ['token[] semantics:labels:class = ["wall"]', "", *separated(parts)],
        apis=["SemanticsLabelsAPI:class"],
        metadata=['kind = "component"'],
    )


# ------------------------------------------------------------------ items


def item(
    axes: Axes, frame: str, name: str, at: Vector, yaw: float, mass: float, shape: Lines
) -> Lines:
    """Return a thing that is carried: a rigid body."""
    return role(
        "Xform",
        frame,
        "item",
        [
            *described(name, frame),
            f"float physics:mass = {number(mass)}",
            *axes.placed(at, yaw=yaw),
            "",
            *shape,
        ],
        model="component",
        apis=["PhysicsRigidBodyAPI", "PhysicsMassAPI"],
        classes=[name],
    )


def cup(axes: Axes, look: str) -> Lines:
    """Return a cup, hollow, 9 cm wide and 10 cm high."""
    wall = [(0.0, 0.0), (0.034, 0.0), (0.045, 0.1), (0.041, 0.1), (0.031, 0.006), (0.0, 0.006)]
    return lathe(axes, "Shape", wall, look)


def items(axes: Axes) -> Lines:
    """Return the things that lie about."""
    plate = [(0.0, 0.0), (0.07, 0.0), (0.11, 0.018), (0.108, 0.021), (0.068, 0.004), (0.0, 0.004)]
    things = [
        item(axes, "Cup", "cup", (6.6, 0.4, 0.9), 20.0, 0.25, cup(axes, "Red")),
        item(axes, "Glass", "glass", (4.4, 1.85, 0.74), 0.0, 0.2, cup(axes, "Steel")),
        item(axes, "Book", "book", (1.25, 2.0, 0.45), 25.0, 0.5,
             box(axes, "Shape", (0.0, 0.0, 0.015), (0.22, 0.15, 0.03), "Green")),
        item(axes, "Plate", "plate", (3.75, 2.1, 0.74), 0.0, 0.4,
             lathe(axes, "Shape", plate, "White")),
        item(axes, "Remote", "remote control", (1.9, 0.55, 0.42), 40.0, 0.15,
             box(axes, "Shape", (0.0, 0.0, 0.0125), (0.18, 0.05, 0.025), "Black")),
        item(axes, "Keys", "keys", (9.3, 5.05, 0.8), 10.0, 0.1,
             box(axes, "Shape", (0.0, 0.0, 0.01), (0.09, 0.05, 0.02), "Steel")),
    ]  # fmt: skip
    return prim("Xform", "Items", separated(things), metadata=['kind = "group"'])


# ------------------------------------------------------------------ the stage


def looks() -> Lines:
    """Return the materials."""
    materials = []
    for name, (rgb, roughness) in LOOKS.items():
        metallic = 0.9 if name == "Steel" else 0.0
        shader = prim(
            "Shader",
            "Surface",
            [
                'uniform token info:id = "UsdPreviewSurface"',
                f"color3f inputs:diffuseColor = {vector(rgb)}",
                f"float inputs:metallic = {number(metallic)}",
                f"float inputs:roughness = {number(roughness)}",
                "token outputs:surface",
            ],
        )
        connected = f"token outputs:surface.connect = </World/Looks/{name}/Surface.outputs:surface>"
        materials.append(prim("Material", name, [connected, "", *shader]))
    return prim("Scope", "Looks", separated(materials))


def lights(axes: Axes) -> Lines:
    """Return the sky and a lamp in each room, all of them round, so that no axis matters."""
    lamps = [
        prim(
            "SphereLight",
            name,
            [
                f"color3f inputs:color = {vector((1.0, 0.93, 0.82))}",
                "float inputs:exposure = 4",
                "float inputs:intensity = 900",
                "bool inputs:normalize = 0",
                f"float inputs:radius = {axes.length(0.12)}",
                *axes.placed((x, y, 2.3)),
            ],
        )
        for name, x, y in (
            ("LivingRoom", 2.9, 2.0),
            ("Kitchen", 8.1, 2.0),
            ("Hall", 5.2, 4.65),
            ("Bedroom", 2.0, 7.1),
            ("Bathroom", 5.1, 7.1),
            ("Study", 8.3, 7.1),
        )
    ]
    sky = prim(
        "DomeLight",
        "Sky",
        [
            f"color3f inputs:color = {vector((0.85, 0.92, 1.0))}",
            "float inputs:intensity = 450",
        ],
    )
    return prim("Scope", "Lights", separated([sky, *lamps]))


def robot_start(axes: Axes) -> Lines:
    """Return where the robot starts, and the lidar on it."""
    lidar = prim(
        "OmniLidar",
        "Lidar",
        [
            "float omni:sensor:tickRate = 10",
            'string omni:sensor:modelVendor = "SLAMTEC"',
            'string omni:sensor:modelName = "RPLIDAR S2E"',
            *(f"{kind} omni:sensor:Core:{name} = {value}" for kind, name, value in RPLIDAR_S2E),
            f"double3 xformOp:translate = {vector((0.0, 0.0, round(0.22 * axes.unit, 6)))}",
            'uniform token[] xformOpOrder = ["xformOp:translate"]',
        ],
        apis=("OmniSensorGenericLidarCoreAPI", "OmniSensorGenericLidarCoreEmitterStateAPI:s001"),
    )
    return prim(
        "Xform",
        "RobotStart",
        [
            'custom string irsim:name = "seeker"',
            'custom string irsim:robot = "turtlebot4"',
            *axes.upright((0.7, 4.65, 0.0)),
            "",
            *lidar,
        ],
    )


def flat(axes: Axes) -> str:
    """Return the stage."""
    floors = [
        box(axes, name, ((x0 + x1) / 2, (y0 + y1) / 2, -0.05), (x1 - x0, y1 - y0, 0.1), look)
        for name, x0, y0, x1, y1, look in (
            ("FloorWest", -0.2, -0.2, 5.8, 9.0, "Parquet"),
            ("FloorKitchen", 5.8, -0.2, 10.6, 4.0, "Tiles"),
            ("FloorEast", 5.8, 4.0, 10.6, 9.0, "Parquet"),
        )
    ]
    down = axes.point(0.0, 0.0, -1.0 / axes.unit)
    parts = [
        prim(
            "PhysicsScene",
            "PhysicsScene",
            [
                f"vector3f physics:gravityDirection = {vector(down)}",
                f"float physics:gravityMagnitude = {axes.length(9.81)}",
            ],
        ),
        lights(axes),
        looks(),
        *floors,
        walls(axes),
        *(make(axes) for make in (hall, living_room, kitchen, bedroom, bathroom, study)),
        items(axes),
        robot_start(axes),
    ]
    world = role(
        "Xform",
        "World",
        "world",
        [
            "custom int irsim:iw:version = 1",
            'custom string irsim:iw:fixedFrame = "map"',
            'custom string irsim:iw:task = "find what was put elsewhere"',
            "",
            *separated(parts),
        ],
        model="assembly",
    )
    lines = [
        "#usda 1.0",
        "(",
        '    defaultPrim = "World"',
        '    doc = "Furnished flat of irsim_isaac, written by make_flat_stages.py"',
        "    kilogramsPerUnit = 1",
        f"    metersPerUnit = {number(1 / axes.unit)}",
        f'    upAxis = "{axes.up}"',
        ")",
        "",
        *world,
        "",
    ]
    return "\n".join(lines)


STAGES = {"flat.usda": Axes(1, "Z"), "flat_cm_y_up.usda": Axes(100, "Y")}


def main(folder: Path) -> None:
    """Write both stages into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, axes in STAGES.items():
        (folder / name).write_bytes(flat(axes).encode("utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
