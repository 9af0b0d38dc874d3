"""Menus: lists of items by the name of the menu, taken away by identity."""

from __future__ import annotations

from dataclasses import dataclass

from omni.kit.actions.core import get_action_registry

menus: dict[str, list[list[MenuItemDescription]]] = {}


@dataclass(eq=False)
class MenuItemDescription:
    name: str = ""
    glyph: str = ""
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
    name, *rest = path.split("/")
    items = [item for menu in menus.get(name, []) for item in menu]
    for part in rest:
        (item,) = (item for item in items if item.name == part)
        items = item.sub_menu or []
    assert item.onclick_action is not None
    get_action_registry().execute_action(*item.onclick_action)
