"""Menus: lists of items by the name of the menu, taken away by identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from omni.kit.actions.core import get_action_registry

menus: dict[str, list[list[MenuItemDescription]]] = {}


@dataclass(eq=False)
class MenuItemDescription:
    name: str = ""
    glyph: str = ""
    ticked: bool = False
    ticked_fn: Callable[[], bool] | None = None
    sub_menu: list[MenuItemDescription] | None = None
    onclick_action: tuple[str, ...] | None = None


def add_menu_items(
    menu: list[MenuItemDescription],
    name: str,
    menu_index: int = 0,
    can_rebuild_menus: bool = True,
    delegate: object = None,
) -> list[MenuItemDescription]:
    menus.setdefault(name, []).append(menu)
    return menu


def remove_menu_items(
    menu: list[MenuItemDescription], name: str, can_rebuild_menus: bool = True
) -> None:
    menus[name] = [items for items in menus.get(name, []) if items is not menu]


def click(path: str) -> None:
    """Do what a click on an entry does, such as ``Tools/Robotics/Entry``."""
    item = entry(path)
    assert item.onclick_action is not None
    get_action_registry().execute_action(*item.onclick_action)


def entry(path: str) -> MenuItemDescription:
    """Return an entry; menus of one name are shown as one."""
    name, *rest = path.split("/")
    items = [item for menu in menus.get(name, []) for item in menu]
    for part in rest:
        found = [item for item in items if item.name == part]
        assert found, f"there is no menu entry {path}"
        items = [item for group in found for item in group.sub_menu or []]
    (item,) = found
    return item
