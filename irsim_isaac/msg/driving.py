"""Driving a real IR-SIM environment with messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from irsim_isaac.msg.odometry import Odometry
from irsim_isaac.msg.world_state import WorldState

__all__ = ["drive"]


def drive(env: Any, update: WorldState | Mapping[str, Odometry], *, refresh: bool = True) -> int:
    """Set the poses and velocities of an IR-SIM environment's objects, all or nothing.

    Every update is checked before any is applied, and what has been applied is taken back
    where applying fails. Objects are found by name, then by id, through one table; the
    environment's own ``receive_msg`` knows no message class but IR-SIM's and looks every name
    up anew.

    Args:
        env: An IR-SIM environment, or anything with its ``objects`` and ``refresh()``.
        update: A world's state, or odometry by the object's name.
        refresh: Have the environment compute geometry, sensors and status anew.

    Returns:
        How many objects were updated.

    Raises:
        TypeError: The update is no such message, or an object lacks an attribute.
        ValueError: No object has a name or id, two updates meet one object, or a pose or
            velocity is not finite, defines no rotation or does not fit its object.
    """
    objects = list(env.objects)
    by_name = {}
    by_id = {}
    for obj in reversed(objects):
        by_name[obj.name] = by_id[obj.id] = obj
    prepared = []
    taken: dict[int, str] = {}
    for name, number, odom in _updates(update):
        target = by_name.get(name, by_id.get(number))
        if target is None:
            known = ", ".join(str(obj.name) for obj in objects[:10])
            raise ValueError(
                f"no object is named '{name}' or has the id {number}; objects: {known}"
                + (", ..." if len(objects) > 10 else "")
            )
        if id(target) in taken:
            raise ValueError(
                f"object '{target.name}' is met twice, by '{taken[id(target)]}' and '{name}'"
            )
        taken[id(target)] = name
        try:
            state, velocity = odom.to_state_velocity(target)
        except (TypeError, ValueError) as error:
            raise type(error)(f"'{name}': {error}") from error
        prepared.append((target, state, velocity))
    _apply(prepared)
    if refresh and prepared:
        env.refresh()
    return len(prepared)


def _updates(
    update: WorldState | Mapping[str, Odometry],
) -> Iterable[tuple[str, int | None, Odometry]]:
    if isinstance(update, WorldState):
        return [(item.name, item.id, item.odom) for item in update.objects]
    if isinstance(update, Mapping):
        for name, odom in update.items():
            if not isinstance(odom, Odometry):
                raise TypeError(f"'{name}': found {odom!r:.80}, expected an Odometry")
        return [(name, None, odom) for name, odom in update.items()]
    raise TypeError(f"found a {type(update).__name__}, expected a WorldState or Odometry by name")


def _apply(prepared: list[tuple[Any, Any, Any]]) -> None:
    """Apply every update; where one fails, take back those before it."""
    before = [(target, target.state.copy(), target.velocity.copy()) for target, _, _ in prepared]
    try:
        for target, state, velocity in prepared:
            target.set_state(state)
            target.set_velocity(velocity)
    except BaseException:
        for target, state, velocity in before:
            target.set_state(state)
            target.set_velocity(velocity)
        raise
