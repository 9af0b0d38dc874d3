"""Actions by extension and name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Action:
    extension_id: str
    id: str
    python_object: Callable[..., Any]
    display_name: str = ""
    description: str = ""
    icon_url: str = ""
    tag: str = ""


class IActionRegistry:
    def __init__(self) -> None:
        self._actions: dict[tuple[str, str], Action] = {}

    def register_action(
        self,
        extension_id: str,
        action_id: str,
        python_object: Callable[..., Any],
        display_name: str = "",
        description: str = "",
        icon_url: str = "",
        tag: str = "",
    ) -> Action:
        assert (extension_id, action_id) not in self._actions, "registered twice"
        action = Action(
            extension_id, action_id, python_object, display_name, description, icon_url, tag
        )
        self._actions[extension_id, action_id] = action
        return action

    def deregister_action(
        self, extension_id: str, action_id: str, invalidate: bool = True
    ) -> Action | None:
        return self._actions.pop((extension_id, action_id), None)

    def execute_action(self, extension_id: str, action_id: str, *args: Any, **kwargs: Any) -> Any:
        action = self._actions.get((extension_id, action_id))
        return None if action is None else action.python_object(*args, **kwargs)

    def get_all_actions(self) -> list[Action]:
        return list(self._actions.values())


_registry = IActionRegistry()


def get_action_registry() -> IActionRegistry:
    return _registry
