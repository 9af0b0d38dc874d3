"""Write the demo stages that lie beside this script, byte for byte the same each time.

The stages are plain text, so this needs nothing but Python and does not depend on how a
version of USD prints numbers: ``python data/make_demo_stages.py [FOLDER]``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

Vector = tuple[float, float, float]

BOX_FACES = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7))

GREY, WOOD, STEEL, CARTON, ORANGE = (
    (0.6, 0.6, 0.6),
    (0.55, 0.4, 0.25),
    (0.25, 0.3, 0.4),
    (0.7, 0.55, 0.35),
    (0.9, 0.5, 0.1),
)

RPLIDAR_S2E = (
    ("token", "elementsCoordsType", '"SPHERICAL"'),
    ("token", "scanType", '"ROTARY"'),
    ("token", "rotationDirection", '"CW"'),
    ("uint", "scanRateBaseHz", "10"),
    ("uint", "patternFiringRateHz", "32000"),
    ("float", "nearRangeM", "0.05"),
    ("float", "farRangeM", "30"),
    ("float", "minDistBetweenEchosM", "0.05"),
    ("float", "rangeResolutionM", "0.013"),
    ("float", "rangeAccuracyM", "0.03"),
    ("float", "validStartAzimuthDeg", "0"),
    ("float", "validEndAzimuthDeg", "360"),
    ("float", "startAzimuthOffsetDeg", "0"),
    ("float", "azimuthErrorMean", "0"),
    ("float", "azimuthErrorStd", "0"),
    ("float", "elevationErrorMean", "0"),
    ("float", "elevationErrorStd", "0"),
    ("float", "avgPowerW", "0.004"),
    ("float", "minReflectance", "0.1"),
    ("float", "minReflectionRangeM", "10"),
    ("float", "waveLengthNm", "905"),
    ("uint", "pulseTimeNs", "5"),
    ("token", "intensityMappingType", '"LINEAR"'),
    ("uint", "maxReturns", "1"),
    ("uint", "numberOfEmitters", "1"),
    ("uint", "numberOfChannels", "1"),
    ("float[]", "emitterState:s001:azimuthDeg", "[0]"),
    ("float[]", "emitterState:s001:elevationDeg", "[0]"),
    ("uint[]", "emitterState:s001:fireTimeNs", "[0]"),
    ("uint[]", "emitterState:s001:channelId", "[1]"),
)


def number(value: float) -> str:
    """Print a number with six decimals at most."""
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def vector(values: Sequence[float]) -> str:
    """Print a tuple of numbers."""
    return f"({', '.join(number(value) for value in values)})"


def array(values: Sequence[object]) -> str:
    """Print an array of what is already text or a number."""
    texts = [number(v) if isinstance(v, (int, float)) else str(v) for v in values]
    return f"[{', '.join(texts)}]"


def prim(
    kind: str,
    name: str,
    lines: Sequence[str] = (),
    *,
    apis: Sequence[str] = (),
    metadata: Sequence[str] = (),
    word: str = "def",
) -> list[str]:
    """Return the lines of a prim: its head, its metadata, then what is in it, indented."""
    head = f'{word} {kind} "{name}"' if kind else f'{word} "{name}"'
    entries = list(metadata)
    if apis:
        quoted = ", ".join(f'"{api}"' for api in apis)
        entries.insert(0, f"prepend apiSchemas = [{quoted}]")
    result = [head]
    if entries:
        result[0] += " ("
        result += [f"    {entry}" for entry in entries]
        result.append(")")
    return [*result, "{", *(f"    {line}" if line else "" for line in lines), "}"]


def placed(
    translate: Vector, *, yaw: float | None = None, scale: Vector | None = None
) -> list[str]:
    """Return the transform of a prim: scaled, turned about z [degrees], then moved [m]."""
    lines = [f"double3 xformOp:translate = {vector(translate)}"]
    order = ["xformOp:translate"]
    if yaw is not None:
        lines.append(f"float xformOp:rotateZ = {number(yaw)}")
        order.append("xformOp:rotateZ")
    if scale is not None:
        lines.append(f"float3 xformOp:scale = {vector(scale)}")
        order.append("xformOp:scale")
    quoted = ", ".join(f'"{name}"' for name in order)
    return [*lines, f"uniform token[] xformOpOrder = [{quoted}]"]


def color(rgb: Vector) -> str:
    """Return the display colour of a shape."""
    return f"color3f[] primvars:displayColor = [{vector(rgb)}]"


def label(name: str) -> str:
    """Return the semantic label that goes with the API ``SemanticsLabelsAPI:class``."""
    return f'token[] semantics:labels:class = ["{name}"]'


def box(
    name: str,
    center: Vector,
    size: Vector,
    *,
    rgb: Vector = GREY,
    yaw: float | None = None,
    what: str | None = None,
    apis: Sequence[str] = (),
    lines: Sequence[str] = (),
) -> list[str]:
    """Return a Cube with a collider, of a size [m] about a centre [m]."""
    labels = ["SemanticsLabelsAPI:class"] if what else []
    return prim(
        "Cube",
        name,
        [
            "double size = 1",
            "float3[] extent = [(-0.5, -0.5, -0.5), (0.5, 0.5, 0.5)]",
            color(rgb),
            *([label(what)] if what else []),
            *lines,
            *placed(center, yaw=yaw, scale=size),
        ],
        apis=["PhysicsCollisionAPI", *apis, *labels],
    )


def mesh(
    name: str,
    points: Sequence[Vector],
    faces: Sequence[Sequence[int]],
    *,
    rgb: Vector = GREY,
    what: str | None = None,
    lines: Sequence[str] = (),
) -> list[str]:
    """Return a Mesh whose triangles are the collider."""
    low = tuple(min(point[axis] for point in points) for axis in range(3))
    high = tuple(max(point[axis] for point in points) for axis in range(3))
    corners = [vector(point) for point in points]
    return prim(
        "Mesh",
        name,
        [
            f"float3[] extent = [{vector(low)}, {vector(high)}]",
            f"int[] faceVertexCounts = {array([len(face) for face in faces])}",
            f"int[] faceVertexIndices = {array([index for face in faces for index in face])}",
            'uniform token physics:approximation = "none"',
            f"point3f[] points = {array(corners)}",
            color(rgb),
            *([label(what)] if what else []),
            'uniform token subdivisionScheme = "none"',
            *lines,
        ],
        apis=[
            "PhysicsCollisionAPI",
            "PhysicsMeshCollisionAPI",
            *(["SemanticsLabelsAPI:class"] if what else []),
        ],
    )


def boxes(parts: Sequence[tuple[Vector, Vector]]) -> tuple[list[Vector], list[tuple[int, ...]]]:
    """Return the points and faces of several boxes, each told by its least and greatest corner."""
    points: list[Vector] = []
    faces: list[tuple[int, ...]] = []
    for (x0, y0, z0), (x1, y1, z1) in parts:
        first = len(points)
        points += [(x, y, z) for z in (z0, z1) for x, y in ((x0, y0), (x1, y0), (x1, y1), (x0, y1))]
        faces += [tuple(first + index for index in face) for face in BOX_FACES]
    return points, faces


def ring(
    length: float, width: float, thickness: float, height: float
) -> tuple[list[Vector], list[tuple[int, ...]]]:
    """Return one closed mesh of four joined walls about the origin, open above and below."""
    points: list[Vector] = []
    for z in (0.0, height):
        for x, y in ((length / 2, width / 2), (length / 2 - thickness, width / 2 - thickness)):
            points += [(-x, -y, z), (x, -y, z), (x, y, z), (-x, y, z)]
    faces: list[tuple[int, ...]] = []
    for i in range(4):
        j = (i + 1) % 4
        faces += [
            (i, j, 8 + j, 8 + i),
            (4 + j, 4 + i, 12 + i, 12 + j),
            (8 + i, 8 + j, 12 + j, 12 + i),
            (j, i, 4 + i, 4 + j),
        ]
    return points, faces


def legs(length: float, width: float, thickness: float, top: float) -> list[tuple[Vector, Vector]]:
    """Return four legs at the corners of a rectangle about the origin."""
    return [
        ((x - thickness / 2, y - thickness / 2, 0.0), (x + thickness / 2, y + thickness / 2, top))
        for x in (-(length - thickness) / 2, (length - thickness) / 2)
        for y in (-(width - thickness) / 2, (width - thickness) / 2)
    ]


def board(length: float, width: float, bottom: float, top: float) -> tuple[Vector, Vector]:
    """Return a horizontal board about the origin."""
    return (-length / 2, -width / 2, bottom), (length / 2, width / 2, top)


def furniture(
    name: str,
    what: str,
    center: tuple[float, float],
    parts: Sequence[tuple[Vector, Vector]],
    *,
    rgb: Vector,
    yaw: float | None = None,
) -> list[str]:
    """Return a piece of furniture: one labelled mesh of several boxes."""
    points, faces = boxes(parts)
    return mesh(name, points, faces, rgb=rgb, what=what, lines=placed((*center, 0.0), yaw=yaw))


def shelf(
    name: str, center: tuple[float, float], levels: Sequence[float], *, yaw: float | None = None
) -> list[str]:
    """Return a shelf on legs, 3 m by 0.6 m, with boards whose undersides are at the levels [m]."""
    length, width = 3.0, 0.6
    parts = legs(length, width, 0.06, levels[-1])
    parts += [board(length, width, level, level + 0.04) for level in levels]
    return furniture(name, "shelf", center, parts, rgb=STEEL, yaw=yaw)


def cartons() -> list[str]:
    """Return a PointInstancer of eleven cartons of two kinds, three of them stacked."""
    places = (
        (0, 7.2, -0.8, 0.15, 0),
        (0, 7.8, -0.7, 0.15, 12),
        (1, 8.6, -0.6, 0.25, -20),
        (0, 7.3, -0.1, 0.15, 90),
        (1, 8.1, 0.1, 0.25, 5),
        (0, 8.9, 0.2, 0.15, 45),
        (1, 7.5, 0.8, 0.25, 30),
        (0, 8.4, 0.9, 0.15, -8),
        (0, 7.2, -0.8, 0.45, 10),
        (0, 8.1, 0.1, 0.65, 25),
        (1, 8.6, -0.6, 0.75, -15),
    )
    turns = [
        vector((math.cos(math.radians(yaw) / 2), 0, 0, math.sin(math.radians(yaw) / 2)))
        for *_, yaw in places
    ]
    positions = [vector((x, y, z)) for _, x, y, z, _ in places]
    return prim(
        "PointInstancer",
        "Cartons",
        [
            f"quath[] orientations = {array(turns)}",
            f"point3f[] positions = {array(positions)}",
            f"int[] protoIndices = {array([kind for kind, *_ in places])}",
            "rel prototypes = [",
            "    </World/Cartons/Prototypes/Small>,",
            "    </World/Cartons/Prototypes/Large>,",
            "]",
            label("carton"),
            "",
            *prim(
                "Scope",
                "Prototypes",
                [
                    *box("Small", (0.0, 0.0, 0.0), (0.4, 0.3, 0.3), rgb=CARTON),
                    "",
                    *box("Large", (0.0, 0.0, 0.0), (0.6, 0.4, 0.5), rgb=CARTON),
                ],
            ),
        ],
        apis=["SemanticsLabelsAPI:class"],
    )


def rack_class() -> list[str]:
    """Return the class of the rack that the stage uses twice."""
    length, width = 1.8, 0.5
    side = 0.05
    points, faces = boxes(
        [
            ((-length / 2, -width / 2, 0.0), (-length / 2 + side, width / 2, 2.0)),
            ((length / 2 - side, -width / 2, 0.0), (length / 2, width / 2, 2.0)),
            board(length, width, 1.1, 1.14),
            board(length, width, 1.7, 1.74),
        ]
    )
    drawers = box("Drawers", (0.0, 0.05, 0.3), (1.6, 0.35, 0.5), rgb=WOOD)
    rack = prim(
        "Xform",
        "Rack",
        [label("rack"), "", *mesh("Frame", points, faces, rgb=STEEL), "", *drawers],
        apis=["SemanticsLabelsAPI:class"],
    )
    return prim("", "Assets", rack, word="class")


def rack(name: str, center: tuple[float, float], yaw: float) -> list[str]:
    """Return one use of the rack."""
    return prim(
        "Xform",
        name,
        placed((*center, 0.0), yaw=yaw),
        metadata=("instanceable = true", "prepend references = </Assets/Rack>"),
    )


def lidar() -> list[str]:
    """Return the lidar on the robot, with the attributes of a SLAMTEC RPLIDAR S2E."""
    lines = [f"{kind} omni:sensor:Core:{name} = {value}" for kind, name, value in RPLIDAR_S2E]
    return prim(
        "OmniLidar",
        "Lidar",
        [
            "float omni:sensor:tickRate = 10",
            'string omni:sensor:modelVendor = "SLAMTEC"',
            'string omni:sensor:modelName = "RPLIDAR S2E"',
            *lines,
            *placed((0.1, 0.0, 0.28)),
        ],
        apis=("OmniSensorGenericLidarCoreAPI", "OmniSensorGenericLidarCoreEmitterStateAPI:s001"),
    )


def warehouse() -> str:
    """Return the demo stage: a hall of 20 m by 12 m with what a robot meets in a warehouse."""
    points, faces = ring(3.0, 2.6, 0.15, 2.4)
    room = mesh("Office", points, faces, what="room", lines=placed((8.2, 4.4, 0.0)))
    crate = box(
        "Crate",
        (0.8, -2.6, 0.25),
        (0.5, 0.5, 0.5),
        rgb=ORANGE,
        what="crate",
        apis=("PhysicsRigidBodyAPI", "PhysicsMassAPI"),
        lines=("float physics:mass = 12",),
    )
    walls = prim(
        "Xform",
        "Walls",
        [
            label("wall"),
            "",
            *box("South", (0.0, -6.1, 1.25), (20.4, 0.2, 2.5)),
            "",
            *box("North", (0.0, 6.1, 1.25), (20.4, 0.2, 2.5)),
            "",
            *box("West", (-10.1, 0.0, 1.25), (0.2, 12.0, 2.5)),
            "",
            *box("East", (10.1, 0.0, 1.25), (0.2, 12.0, 2.5)),
            "",
            *box("Slanted", (-6.2, 2.4, 1.0), (4.0, 0.15, 2.0), yaw=30),
        ],
        apis=["SemanticsLabelsAPI:class"],
    )
    table_legs = legs(1.6, 0.8, 0.06, 0.7)
    pallet = [
        board(1.2, 0.8, 0.12, 0.144),
        *(((-0.6, y - 0.05, 0.0), (0.6, y + 0.05, 0.12)) for y in (-0.35, 0.0, 0.35)),
    ]
    start = prim(
        "Xform",
        "RobotStart",
        [
            'custom string irsim:name = "carrier"',
            'custom string irsim:robot = "differential"',
            *placed((-8.0, -4.0, 0.0), yaw=0),
            "",
            *lidar(),
        ],
    )
    parts = [
        prim(
            "PhysicsScene",
            "PhysicsScene",
            [
                "vector3f physics:gravityDirection = (0, 0, -1)",
                "float physics:gravityMagnitude = 9.81",
            ],
        ),
        prim(
            "DistantLight",
            "Sun",
            [
                "float inputs:intensity = 3000",
                "float3 xformOp:rotateXYZ = (40, 0, 30)",
                'uniform token[] xformOpOrder = ["xformOp:rotateXYZ"]',
            ],
        ),
        box("Ground", (0.0, 0.0, -0.5), (22.0, 14.0, 1.0), rgb=(0.35, 0.35, 0.35), what="floor"),
        walls,
        shelf("ShelfA", (-3.0, -1.2), (0.7, 1.3, 1.9)),
        shelf("ShelfB", (3.5, -1.2), (0.7, 1.3, 1.9)),
        shelf("LowShelf", (-1.0, 2.0), (0.4, 1.0, 1.6), yaw=15),
        furniture(
            "Table",
            "table",
            (3.5, 1.6),
            [*table_legs, board(1.6, 0.8, 0.7, 0.74)],
            rgb=WOOD,
            yaw=-10,
        ),
        furniture("Pallet", "pallet", (8.9, -5.2), pallet, rgb=WOOD),
        cartons(),
        rack("RackWest", (-0.6, 5.2), 0.0),
        rack("RackEast", (3.0, 5.0), 20.0),
        room,
        crate,
        start,
    ]
    world = [line for part in parts for line in (*part, "")][:-1]
    lines = [
        "#usda 1.0",
        "(",
        '    defaultPrim = "World"',
        '    doc = "Demo stage of irsim_isaac, written by make_demo_stages.py"',
        "    kilogramsPerUnit = 1",
        "    metersPerUnit = 1",
        '    upAxis = "Z"',
        ")",
        "",
        *rack_class(),
        "",
        *prim("Xform", "World", world),
        "",
    ]
    return "\n".join(lines)


STAGES = {"warehouse.usda": warehouse}


def main(folder: Path) -> None:
    """Write every demo stage into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, stage in STAGES.items():
        (folder / name).write_bytes(stage().encode("utf-8"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
