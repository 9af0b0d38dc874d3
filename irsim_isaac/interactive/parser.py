"""What a study's sessions logged, as placements in every frame that they may be told in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive.store import Condition, Log, Store
from irsim_isaac.interactive.study_logs import (
    LevelPose,
    LoggedPlacement,
    read_configuration,
    read_placement,
)
from irsim_isaac.msg import Point, Pose
from irsim_isaac.msg.interactive_world import (
    Configuration,
    Item,
    Placement,
    PlacementSet,
    Room,
    Surface,
    TaskTrainingData,
)

__all__ = ["ParsedCondition", "Skipped", "parse_study"]

LEAST_SHARE = 0.05
"""The share of a condition's placements that a set must have not to be dropped."""

_Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was left out.

    Attributes:
        where: What it is: a slot, a session, a log or a set.
        reason: Why, in words.
    """

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedCondition:
    """What one condition of a study holds.

    Attributes:
        condition: The condition.
        training: The placements, one set for each item, surface and frame.
        sessions: How many sessions were used.
        completed: How many of these were completed; the others are used all the same.
        placements: How many placements were logged, also those that could not be used.
        skipped: What was left out, and why.
    """

    condition: Condition
    training: TaskTrainingData
    sessions: int
    completed: int
    placements: int
    skipped: tuple[Skipped, ...]


@dataclass(slots=True)
class _Reading:
    """One condition while it is read."""

    condition: Condition
    unsigned_yaw: bool
    strict: bool
    sessions: int = 0
    completed: int = 0
    placements: int = 0
    sets: dict[_Key, PlacementSet] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    def skip(self, where: str, reason: str) -> None:
        if self.strict:
            raise InteractiveError(f"condition {self.condition.id}, {where}: {reason}")
        self.skipped.append(Skipped(where, reason))


def parse_study(
    store: Store,
    study_id: int,
    *,
    least_share: float = LEAST_SHARE,
    unsigned_yaw: bool = False,
    strict: bool = False,
) -> tuple[ParsedCondition, ...]:
    """Read the sessions of a study and tell each placement in every frame that it may be told in.

    These are the frame of the furniture that the item was put on; for each name of its points of
    interest that of the nearest one; and for each other item of the task that of the nearest one
    of the same session on the same piece of furniture, be it put there before or after. A session
    counts once its slot has no other and it logged more than one thing; it need not be completed.
    What cannot be read is left out and told in ``skipped``. Sets with less than the least share
    of the condition's placements are dropped, and told there too. Each log is read once.

    Pieces of furniture of one name in one room are told apart by where they stand, and are one
    surface to the sets. A set's surface and room are those of its first placement.

    Args:
        store: Where the study is; ``Store(url, create=False)`` reads an old installation.
        study_id: The study.
        least_share: The share of placements below which a set is dropped, from 0 to 1.
        unsigned_yaw: Lose the sign of most rotations, as the original software does.
        strict: Refuse what would be left out.

    Returns:
        The conditions by id.

    Raises:
        StoreError: There is no such study, or it cannot be read.
        InteractiveError: The share is not one, or something is wrong and ``strict``.
    """
    if not 0.0 <= least_share <= 1.0:
        raise InteractiveError(f"the least share is {least_share}, 0 to 1 was expected")
    parsed = []
    with store.transaction():
        for condition in store.conditions(study_id):
            reading = _Reading(condition, unsigned_yaw, strict)
            for where, logs in _sessions(store, reading):
                _read_session(reading, where, logs)
            _drop_small(reading, int(least_share * reading.placements))
            parsed.append(
                ParsedCondition(
                    condition,
                    TaskTrainingData(list(reading.sets.values())),
                    reading.sessions,
                    reading.completed,
                    reading.placements,
                    tuple(reading.skipped),
                )
            )
    return tuple(parsed)


def _sessions(store: Store, reading: _Reading) -> Iterator[tuple[str, Sequence[Log]]]:
    for slot in store.slots(reading.condition.id):
        appointments = store.appointments(slot.id)
        if len(appointments) != 1:
            if appointments:
                told = f"it has {len(appointments)} sessions, one was expected"
                reading.skip(f"slot {slot.id}", told)
            else:
                # Whom nobody came to is no loss.
                reading.skipped.append(Skipped(f"slot {slot.id}", "nobody took it"))
            continue
        logs = store.logs(appointments[0].id)
        where = f"session {appointments[0].id}"
        if len(logs) > 1:
            yield where, logs
        else:
            reading.skip(where, f"it logged {len(logs)} things, more than one was expected")


def _read_session(reading: _Reading, where: str, logs: Sequence[Log]) -> None:
    configuration: Configuration | None = None
    placements: list[tuple[str, LoggedPlacement]] = []
    completed = False
    for log in logs:
        told = f"{where}, log {log.id}"
        if log.label == "completion":
            completed = True
            continue
        try:
            if log.label != "config":
                reading.placements += 1
                placements.append((told, read_placement(log.entry)))
                continue
            found = read_configuration(log.entry)
        except InteractiveError as error:
            reading.skip(told, str(error))
            continue
        if configuration is None:
            configuration = found
        elif found != configuration:
            reading.skip(told, "the session has another configuration already, which counts")
    if configuration is None:
        reading.skip(where, f"it has no configuration, so {len(placements)} placements are lost")
        return
    reading.sessions += 1
    reading.completed += completed
    _add(reading, configuration, placements)


@dataclass(frozen=True, slots=True)
class _Put:
    """A placement with what the configuration knows of it."""

    item: Item
    room: Room
    surface: Surface
    pose: LevelPose


class _Piece:
    """A piece of furniture of a session, with what was put on it.

    Attributes:
        pois: The frames of its points of interest by name, in order of appearance.
        items: The poses of what was put on it, by item.
    """

    def __init__(self, surface: Surface) -> None:
        pois: dict[str, list[LevelPose]] = {}
        for poi in surface.pois:
            pois.setdefault(poi.name, []).append(_level(poi.pose))
        self.pois = {name: _Poses(poses) for name, poses in pois.items()}
        self.items: dict[str, _Poses] = {}


class _Poses:
    """Several poses in one frame, to find the nearest."""

    def __init__(self, poses: Iterable[LevelPose] = ()) -> None:
        self._poses = list(poses)
        self._origins: NDArray[np.float64] | None = None

    def add(self, pose: LevelPose) -> None:
        self._poses.append(pose)
        self._origins = None

    def nearest(self, pose: LevelPose) -> LevelPose:
        """Return the nearest, the first of equals."""
        if self._origins is None:
            self._origins = np.array([(one.x, one.y, one.z) for one in self._poses])
        away = self._origins - (pose.x, pose.y, pose.z)
        return self._poses[int(np.argmin(np.einsum("ni,ni->n", away, away)))]


def _add(
    reading: _Reading,
    configuration: Configuration,
    placements: Sequence[tuple[str, LoggedPlacement]],
) -> None:
    """Add the placements of a session to the sets, in all frames."""
    items: dict[str, Item] = {}
    for item in configuration.items:
        items.setdefault(item.name, item)
    rooms: dict[str, Room] = {}
    for room in configuration.rooms:
        rooms.setdefault(room.name, room)
    pieces: dict[int, _Piece] = {}
    known: list[_Put] = []
    for where, logged in placements:
        try:
            put = _known(logged, items, rooms)
        except InteractiveError as error:
            reading.skip(where, str(error))
            continue
        known.append(put)
        piece = pieces.setdefault(id(put.surface), _Piece(put.surface))
        piece.items.setdefault(put.item.name, _Poses()).add(put.pose)
    for put in known:
        piece = pieces[id(put.surface)]
        place = (put.item, put.room, put.surface)
        _put(reading, *place, put.surface.name, put.pose)
        for name, poses in piece.pois.items():
            _put(reading, *place, name, poses.nearest(put.pose).seen(put.pose))
        for name in items:
            if name != put.item.name and name in piece.items:
                other = piece.items[name].nearest(put.pose)
                _put(reading, put.item, Room(), Surface(), name, other.seen(put.pose))


def _known(logged: LoggedPlacement, items: dict[str, Item], rooms: dict[str, Room]) -> _Put:
    if logged.item not in items:
        raise InteractiveError(f"the configuration has no item '{logged.item}'")
    if logged.room not in rooms:
        raise InteractiveError(f"the configuration has no room '{logged.room}'")
    room = rooms[logged.room]
    surfaces = [surface for surface in room.surfaces if surface.name == logged.furniture]
    if not surfaces:
        raise InteractiveError(f"the room '{room.name}' has no furniture '{logged.furniture}'")
    surface = min(surfaces, key=lambda one: _level(one.pose).distance(logged.furniture_pose))
    return _Put(items[logged.item], room, surface, logged.pose)


def _put(
    reading: _Reading, item: Item, room: Room, surface: Surface, frame: str, pose: LevelPose
) -> None:
    key = (item.name, room.name, surface.name, frame)
    if key not in reading.sets:
        reading.sets[key] = PlacementSet(item, room, surface, frame)
    yaw = _unsigned(pose.yaw) if reading.unsigned_yaw else pose.yaw
    reading.sets[key].placements.append(
        Placement(item, room, surface, frame, Point(pose.x, pose.y, pose.z), yaw)
    )


def _drop_small(reading: _Reading, least: int) -> None:
    for key, one in list(reading.sets.items()):
        if len(one.placements) < least:
            item, room, surface, frame = key
            where = f"set '{item}' by '{frame}'" + (f" on '{surface}' in '{room}'" if room else "")
            reading.skipped.append(
                Skipped(
                    where,
                    f"it has {len(one.placements)} of {reading.placements} placements, at least "
                    f"{least} were expected",
                )
            )
            del reading.sets[key]


def _unsigned(yaw: float) -> float:
    """Return what the original's way over a matrix and a quaternion makes of a rotation."""
    third = 2.0 * math.pi / 3.0
    if abs(yaw) <= third:
        return abs(yaw)
    return yaw if yaw > 0.0 else math.tau + yaw


def _level(pose: Pose) -> LevelPose:
    at, turn = pose.position, pose.orientation
    return LevelPose(at.x, at.y, at.z, 2.0 * math.atan2(turn.z, turn.w))
