"""Studies as the browser logs them: a dining room, sessions, and a crowd that sets its table."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irsim_isaac.interactive import Store
from irsim_isaac.msg import Point, Pose, Quaternion
from irsim_isaac.msg.interactive_world import (
    PlacementSurface,
    PoiPlace,
    RoomPlace,
    SurfacePlace,
    WorldModel,
)

TABLE = "Dining Table with Chairs"
CHAIRS = (
    (1.27, 0.03, -math.pi / 2), (-1.27, 0.06, math.pi / 2),
    (0.8, 0.68, 0.0), (-0.8, 0.68, 0.0), (0.03, 0.68, 0.0),
    (0.8, -0.68, math.pi), (-0.8, -0.68, math.pi), (0.03, -0.68, math.pi),
)  # fmt: skip
ITEMS = {
    "Plate": (0.149, 0.149), "Cup": (0.061, 0.061), "Fork": (0.025, 0.195), "Vase": (0.1, 0.1),
}  # fmt: skip
QUARTERS = (0.0, math.pi / 2, -math.pi / 2, math.pi)


def placed(x: float, y: float, z: float = 0.0, rotation: float = 0.0) -> dict[str, Any]:
    return {"position": {"x": x, "y": y, "z": z}, "rotation": rotation}


def sized(name: str, width: float, height: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "width": width, "height": height, **more}


def piece(name: str, width: float, height: float, at: Mapping[str, Any], poi: Sequence[Any] = ()):
    return sized(name, width, height, **at, poi=list(poi))


def chairs() -> list[dict[str, Any]]:
    return [sized("chair", 0.29, 0.29, **placed(x, y, 0.44, yaw)) for x, y, yaw in CHAIRS]


def configuration(items: Mapping[str, tuple[float, float]] = ITEMS, **rooms: Any) -> dict[str, Any]:
    """Return a configuration; the rooms are a dining and a living room unless given."""
    given = rooms or {
        "Dining Room": [piece(TABLE, 2.39, 1.19, placed(0.0, 0.0), chairs())],
        "Living Room": [
            piece("Coffee Table", 1.54, 0.84, placed(0.3, 0.2, 0.0, math.pi / 2)),
            piece("TV", 2.14, 0.64, placed(0.0, 1.5)),
        ],
    }
    at = {"Dining Room": placed(2.925, -2.475), "Living Room": placed(-2.925, -2.475)}
    return {
        "task": "set the table",
        "objects": [sized(name, *size) for name, size in items.items()],
        "rooms": [
            sized(name, 4.9, 4.0, **at.get(name, placed(0.0, 0.0)), furniture=furniture)
            for name, furniture in given.items()
        ],
    }


def placement(
    item: str,
    x: float,
    y: float,
    rotation: float = 0.0,
    *,
    z: float = 0.0,
    room: str = "Dining Room",
    furniture: str = TABLE,
    at: Mapping[str, Any] | None = None,
    surface: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    thing = {"name": item, **placed(x, y, z, rotation)}
    top = {"name": "surface0", **(surface or placed(0.0, 0.0, 0.705)), "object": thing}
    return {
        "name": room,
        **placed(0.0, 0.0),
        "furniture": {"name": furniture, **(at or placed(0.0, 0.0)), "surface": top},
    }


def session(store: Store, condition: int, *logs: tuple[str, Any]) -> int:
    """Keep a session in a slot of its own; entries that are no texts are kept as JSON."""
    appointment = store.add_appointment(store.add_slot(condition))
    for label, entry in logs:
        store.add_log(appointment, label, entry if isinstance(entry, str) else json.dumps(entry))
    return appointment


def new_condition(store: Store, name: str = "Interactive World Task 0") -> tuple[int, int]:
    """Keep a study with one condition and return both ids."""
    study = store.add_study("Interactive World")
    return study, store.add_condition(study, name)


PLANTED = {"Plate": "chair", "Cup": "Plate", "Fork": "Plate", "Vase": TABLE}
"""By what the crowd places each item."""

_BESIDE = {"Cup": (0.16, 0.12), "Fork": (-0.14, 0.02)}


def crowd(
    store: Store, condition: int, random: np.random.Generator, *, noise: float, sessions: int = 30
) -> None:
    """Let a crowd set the table: the plate before a chair, the rest as it is planted.

    A hand is steady to 2 cm, and each placement is with a probability of ``noise`` anywhere on
    any furniture instead.
    """
    places = [("Dining Room", TABLE, 2.39, 1.19, placed(0.0, 0.0)),
              ("Living Room", "Coffee Table", 1.54, 0.84, placed(0.3, 0.2, 0.0, math.pi / 2)),
              ("Living Room", "TV", 2.14, 0.64, placed(0.0, 1.5))]  # fmt: skip

    def near(x: float, y: float, yaw: float, dx: float, dy: float) -> tuple[float, float]:
        c, s = math.cos(yaw), math.sin(yaw)
        jx, jy = random.normal(0.0, 0.02, 2)
        return x + c * dx - s * dy + jx, y + s * dx + c * dy + jy

    for _ in range(sessions):
        x, y, yaw = CHAIRS[random.integers(len(CHAIRS))]
        plate = near(x, y, yaw, 0.0, -0.28)
        wanted = {"Plate": (*plate, yaw), "Vase": (*near(0.0, 0.0, 0.0, 0.0, 0.0), 0.0)}
        for item, (dx, dy) in _BESIDE.items():
            wanted[item] = (*near(*plate, yaw, dx, dy), yaw)
        logs: list[tuple[str, Any]] = [("config", configuration())]
        for item in random.permutation(list(wanted)):
            if random.random() < noise:
                room, name, width, depth, at = places[random.integers(len(places))]
                u, v = random.uniform(-0.5, 0.5, 2)
                turn = QUARTERS[random.integers(4)]
                log = placement(str(item), u * width, v * depth, turn, room=room, furniture=name,
                                at=at)  # fmt: skip
            else:
                log = placement(str(item), *wanted[str(item)])
            logs.append(("place", log))
        session(store, condition, *logs, ("completion", {"completion": "12.34"}))


def dining_world() -> WorldModel:
    """The crowd's rooms as a world."""

    def at(x: float, y: float, z: float = 0.0, yaw: float = 0.0) -> Pose:
        return Pose(Point(x, y, z), Quaternion.from_yaw(yaw))

    table = SurfacePlace(
        TABLE, "table", at(0.0, 0.0), 2.39, 1.19, (), (PlacementSurface("top", at(0, 0, 0.705)),),
        tuple(PoiPlace("chair", f"chair_{k}", at(x, y, 0.44, yaw), 0.29, 0.29)
              for k, (x, y, yaw) in enumerate(CHAIRS)),
    )  # fmt: skip
    coffee = SurfacePlace("Coffee Table", "coffee", at(0.3, 0.2, 0.0, math.pi / 2), 1.54, 0.84)
    tv = SurfacePlace("TV", "tv", at(0.0, 1.5), 2.14, 0.64)
    return WorldModel(
        (
            RoomPlace("Dining Room", "dining", at(2.925, -2.475), 4.9, 4.0, (table,)),
            RoomPlace("Living Room", "living", at(-2.925, -2.475), 4.9, 4.0, (coffee, tv)),
        )
    )
