"""Reading studies, against the plainest way there is: all pairs, and matrices of shape (4, 4)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from irsim_isaac.interactive import Store, parse_study
from tests.interactive.studies import (
    crowd,
    new_condition,
    piece,
    placed,
    placement,
    session,
    sized,
)

pytest.importorskip("sqlalchemy")

NAMES = ("Plate", "Cup", "Fork")
Key = tuple[str, str, str, str]


def matrix(value: Mapping[str, Any]) -> np.ndarray:
    c, s = math.cos(value["rotation"]), math.sin(value["rotation"])
    at = value["position"]
    return np.array([[c, -s, 0, at["x"]], [s, c, 0, at["y"]], [0, 0, 1, at["z"]], [0, 0, 0, 1]])


def nearest(frames: list[np.ndarray], to: np.ndarray) -> np.ndarray:
    return min(frames, key=lambda frame: float(np.linalg.norm(frame[:3, 3] - to[:3, 3])))


def plainly(store: Store, condition: int) -> dict[Key, list[np.ndarray]]:
    """Return every placement in every frame, by item, room, surface and frame."""
    sets: dict[Key, list[np.ndarray]] = {}
    for slot in store.slots(condition):
        (appointment,) = store.appointments(slot.id)
        logs = store.logs(appointment.id)
        told = {label: [json.loads(log.entry) for log in logs if log.label == label]
                for label in ("config", "place")}  # fmt: skip
        (world,) = told["config"]

        def pose(put: Mapping[str, Any]) -> np.ndarray:
            surface = put["furniture"]["surface"]
            return matrix(surface) @ matrix(surface["object"])

        for put in told["place"]:
            item = put["furniture"]["surface"]["object"]["name"]
            place = (put["name"], put["furniture"]["name"])
            (poi,) = [one["poi"] for room in world["rooms"] if room["name"] == place[0]
                      for one in room["furniture"] if one["name"] == place[1]]  # fmt: skip
            frames: dict[tuple[str, str, str], np.ndarray] = {(*place, place[1]): np.eye(4)}
            for name in {one["name"] for one in poi}:
                same = [matrix(one) for one in poi if one["name"] == name]
                frames[(*place, name)] = nearest(same, pose(put))
            for thing in world["objects"]:
                others = [
                    pose(other) for other in told["place"]
                    if other["furniture"]["surface"]["object"]["name"] == thing["name"] != item
                    and (other["name"], other["furniture"]["name"]) == place
                ]  # fmt: skip
                if others:
                    frames[("", "", thing["name"])] = nearest(others, pose(put))
            for (room, surface, name), frame in frames.items():
                key = (item, room, surface, name)
                sets.setdefault(key, []).append(np.linalg.inv(frame) @ pose(put))
    return sets


def random_world(random: np.random.Generator) -> dict[str, Any]:
    def anywhere(z: float) -> dict[str, Any]:
        return placed(*random.uniform(-1.0, 1.0, 2), z, random.uniform(-math.pi, math.pi))

    rooms = []
    for room in ("Kitchen", "Den"):
        furniture = [
            piece(name, 2.0, 1.0, anywhere(0.0),
                  [sized(poi, 0.1, 0.1, **anywhere(0.5)) for poi in ("seat", "tap", "seat")])
            for name in ("Bar", "Shelf")
        ]  # fmt: skip
        rooms.append(sized(room, 4.0, 4.0, **anywhere(0.0), furniture=furniture))
    items = [sized(name, 0.1, 0.1) for name in NAMES]
    return {"task": "any", "objects": items, "rooms": rooms}


def random_session(store: Store, condition: int, random: np.random.Generator) -> None:
    world = random_world(random)
    logs: list[tuple[str, Any]] = []
    for _ in range(random.integers(1, 12)):
        x, y, turn, z = random.uniform(-3.0, 3.0, 4)
        room = world["rooms"][random.integers(2)]
        chosen = room["furniture"][random.integers(2)]
        at = {key: chosen[key] for key in ("position", "rotation")}
        top = placed(*random.uniform(-1.0, 1.0, 3), random.uniform(-math.pi, math.pi))
        logs.append(("place", placement(NAMES[random.integers(3)], x, y, turn, z=z, at=at,
                                        room=room["name"], furniture=chosen["name"],
                                        surface=top)))  # fmt: skip
    logs.insert(int(random.integers(len(logs) + 1)), ("config", world))
    session(store, condition, *logs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["crowd", "random"])
def test_every_placement_is_told_in_every_frame_and_in_no_other(tmp_path, kind, seed):
    random = np.random.default_rng(seed)
    with Store(str(tmp_path / "study.db")) as store:
        study, condition = new_condition(store)
        with store.transaction():
            if kind == "crowd":
                crowd(store, condition, random, noise=0.3, sessions=8)
            else:
                for _ in range(8):
                    random_session(store, condition, random)
        expected = plainly(store, condition)
        (parsed,) = parse_study(store, study, least_share=0.0)
    found = {
        (one.item.name, one.room.name, one.surface.name, one.reference_frame_id): one.placements
        for one in parsed.training.data
    }
    assert len(found) == len(parsed.training.data)
    assert found.keys() == expected.keys()
    for key, placements in found.items():
        assert len(placements) == len(expected[key])
        for one, wanted in zip(placements, expected[key], strict=True):
            at = one.position
            assert (at.x, at.y, at.z) == pytest.approx(tuple(wanted[:3, 3]), abs=1e-9)
            c, s = math.cos(one.rotation), math.sin(one.rotation)
            assert (c, s) == pytest.approx((wanted[0, 0], wanted[1, 0]), abs=1e-9)
            assert -math.pi < one.rotation <= math.pi
    assert parsed.skipped == ()
