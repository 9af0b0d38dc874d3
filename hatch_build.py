"""Put the files that travel with the package into the wheel, but not into an editable install."""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ResourcesHook(BuildHookInterface):  # type: ignore[type-arg]  # generic at run time only
    """An editable install reads them from the checkout; a wheel must carry them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them to a standard wheel."""
        if version == "standard":
            build_data["force_include"]["config"] = "irsim_isaac/config"
            build_data["force_include"]["data"] = "irsim_isaac/data"
            build_data["force_include"]["docs/kit_api.md"] = "irsim_isaac/docs/kit_api.md"
