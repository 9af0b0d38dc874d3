"""Arranging the items of a task by what was learned: which item goes where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import InteractiveError
from irsim_isaac.msg import Point, Pose, Quaternion
from irsim_isaac.msg.interactive_world import (
    Model,
    Placement,
    WorldModel,
    from_matrix,
    to_matrix,
)

__all__ = ["Template", "TemplateStep", "Unplaced", "build_template"]


@dataclass(frozen=True, slots=True)
class TemplateStep:
    """One item put down.

    Attributes:
        item: The item.
        reference: What it is placed by: a surface, a point of interest or an item put before.
        model: What was learned of it.
        pose: Where it goes in the fixed frame of the world. Models tell no height: it is that
            of the part of the surface that is nearest in plan, or that of an item that stood
            there before.
    """

    item: str
    reference: str
    model: Model
    pose: Pose


@dataclass(frozen=True, slots=True)
class Unplaced:
    """An item that could not be put down.

    Attributes:
        item: The item.
        reason: Why, in words.
    """

    item: str
    reason: str


@dataclass(frozen=True, slots=True)
class Template:
    """An arrangement of items.

    Attributes:
        steps: The items in the order in which they are put down.
        unplaced: The items that could not be, in order of their names.
    """

    steps: tuple[TemplateStep, ...]
    unplaced: tuple[Unplaced, ...]


def build_template(
    models: Iterable[Model],
    world: WorldModel,
    *,
    items: Sequence[str] | None = None,
    placed: Mapping[str, Pose] | None = None,
) -> Template:
    """Return which item goes where, by the models of one task.

    At first the frames of the surfaces, by name or alias, and of their points of interest are
    there. Then, time and again, the model of the least decision value, the first of equals,
    whose item is still to be placed and whose reference is there puts its item, and the item
    becomes a reference itself. Each item is put once; it ends when no model can put one. Several
    surfaces or points of interest of a name are told apart by their order: the first counts. The
    complexity is the number of models times the number of items.

    Args:
        models: What was learned.
        world: Where surfaces and points of interest lie.
        items: The items to place; None for all that models place.
        placed: Items that stand already, by name, in the fixed frame of the world.

    Raises:
        InteractiveError: A decision value is not a finite number of at least 0.
    """
    learned = sorted(models, key=_value)
    there = _references(world, placed or {})
    names: dict[str, str] = {}
    for name in items if items is not None else (m.placement.item.name for m in learned):
        names.setdefault(name.casefold(), name)
    for name in placed or {}:
        names.pop(name.casefold(), None)
    steps: list[TemplateStep] = []
    while (model := _next(learned, names, there)) is not None:
        placement = model.placement
        key = placement.item.name.casefold()
        there[key] = there[placement.reference_frame_id.casefold()].put(placement)
        pose = from_matrix(there[key].frame)
        steps.append(TemplateStep(names.pop(key), placement.reference_frame_id, model, pose))
    return Template(tuple(steps), tuple(_reasons(learned, names)))


def _value(model: Model) -> float:
    value = model.decision_value
    if not (math.isfinite(value) and value >= 0.0):
        raise InteractiveError(
            f"a model of '{model.placement.item.name}' has the decision value {value}, "
            "a finite number of at least 0 was expected"
        )
    return value


@dataclass(frozen=True, slots=True)
class _Reference:
    """What items are placed by.

    Attributes:
        frame: Where it lies in the world, shape (4, 4).
        parts: The origins, shape (n, 3), of the level parts of the surface that it belongs to.
    """

    frame: NDArray[np.float64]
    parts: NDArray[np.float64]

    def put(self, placement: Placement) -> _Reference:
        """Return an item that is put beside it, as high as the nearest part is there."""
        at = Pose(
            Point(placement.position.x, placement.position.y, 0.0),
            Quaternion.from_yaw(placement.rotation),
        )
        frame = self.frame @ to_matrix(at)
        if len(self.parts):
            away = np.linalg.norm(self.parts[:, :2] - frame[:2, 3], axis=1)
            frame[2, 3] = self.parts[int(np.argmin(away)), 2]
        return _Reference(frame, self.parts)


def _references(world: WorldModel, placed: Mapping[str, Pose]) -> dict[str, _Reference]:
    """Return what is there before anything is put: the first of a name, items over surfaces."""
    frames = world.frames()
    references: dict[str, _Reference] = {}
    for name, pose in placed.items():
        references[name.casefold()] = _Reference(to_matrix(pose), np.empty((0, 3)))
    pois: list[tuple[str, _Reference]] = []
    for _, surface in world.surfaces():
        parts = np.array([frames[part.frame_id][:3, 3] for part in surface.placements])
        parts = parts.reshape(-1, 3)
        for name in (surface.name, *surface.aliases):
            references.setdefault(name.casefold(), _Reference(frames[surface.frame_id], parts))
        pois += [(poi.name, _Reference(frames[poi.frame_id], parts)) for poi in surface.pois]
    for name, reference in pois:
        references.setdefault(name.casefold(), reference)
    return references


def _next(
    learned: Sequence[Model], names: Mapping[str, str], there: Mapping[str, _Reference]
) -> Model | None:
    """Return the first model that can put an item."""
    for model in learned:
        placement = model.placement
        if (
            placement.item.name.casefold() in names
            and placement.reference_frame_id.casefold() in there
        ):
            return model
    return None


def _reasons(learned: Sequence[Model], names: Mapping[str, str]) -> Iterable[Unplaced]:
    references: dict[str, dict[str, None]] = {}
    for model in learned:
        key = model.placement.item.name.casefold()
        references.setdefault(key, {}).setdefault(model.placement.reference_frame_id)
    for key in sorted(names):
        if key in references:
            told = ", ".join(f"'{name}'" for name in references[key])
            yield Unplaced(names[key], f"it is placed by {told}, and none of these is there")
        else:
            yield Unplaced(names[key], "no model places it")
