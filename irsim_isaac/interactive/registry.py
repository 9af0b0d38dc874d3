"""Services by name: called in this process, or over ROS 2."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from irsim_isaac.errors import InteractiveError
from irsim_isaac.msg import Message

__all__ = ["ServiceRegistry"]


class ServiceRegistry:
    """The services of a world, by name."""

    def __init__(self) -> None:
        self._services: dict[str, tuple[type[Any], Callable[[Any], Message]]] = {}

    def add(self, name: str, service: type[Any], answer: Callable[[Any], Message]) -> None:
        """Add a service.

        Args:
            name: What it is called, such as ``find_surface``.
            service: Its class, such as ``FindSurface``.
            answer: Takes the request and returns the response.

        Raises:
            InteractiveError: There is a service of this name.
        """
        if name in self._services:
            raise InteractiveError(f"there is a service '{name}' already")
        self._services[name] = service, answer

    def __iter__(self) -> Iterator[str]:
        return iter(self._services)

    def __contains__(self, name: object) -> bool:
        return name in self._services

    def service(self, name: str) -> type[Any]:
        """Return the class of a service.

        Raises:
            InteractiveError: There is no such service.
        """
        return self._find(name)[0]

    def call(self, name: str, request: Message) -> Message:
        """Ask a service.

        Args:
            name: The service.
            request: Its request.

        Returns:
            Its response.

        Raises:
            InteractiveError: There is no such service, the request is of another one, or the
                question cannot be answered.
            StoreError: The store cannot keep or find what was asked for.
        """
        service, answer = self._find(name)
        if not isinstance(request, service.Request):
            raise InteractiveError(
                f"{name}: found a {type(request).__qualname__}, expected a "
                f"{service.Request.__qualname__}"
            )
        return answer(request)

    def serve(self, node: Any, *, prefix: str = "") -> list[Any]:
        """Answer all services on a node of rclpy.

        Args:
            node: The node.
            prefix: What stands before the name of each.

        Returns:
            The services of the node.

        Raises:
            MissingRosError: No sourced ROS has the interfaces.
        """
        from irsim_isaac.msg.ros import serve

        return [
            serve(node, service, prefix + name, answer)
            for name, (service, answer) in self._services.items()
        ]

    def _find(self, name: str) -> tuple[type[Any], Callable[[Any], Message]]:
        try:
            return self._services[name]
        except KeyError:
            raise InteractiveError(
                f"there is no service '{name}'; there are {', '.join(self._services)}"
            ) from None
