"""Every panel of the window, with or without the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from irsim_isaac.kit.events import on_stage, on_update
from irsim_isaac.kit.window.description import Action, FieldError
from irsim_isaac.kit.window.doctor_panel import Doctor
from irsim_isaac.kit.window.fog_panel import Fog
from irsim_isaac.kit.window.host import Host
from irsim_isaac.kit.window.lidar_panel import Lidar
from irsim_isaac.kit.window.mirror_panel import MirrorPanel
from irsim_isaac.kit.window.model import PanelModel
from irsim_isaac.kit.window.stage_to_map import StageToMap
from irsim_isaac.kit.window.validate_panel import Validate
from irsim_isaac.kit.window.world_panel import World

if TYPE_CHECKING:
    from irsim_isaac.kit.live_mirror import LiveMirror

__all__ = ["PANELS", "Bridge"]

PANELS: tuple[type[PanelModel], ...] = (
    StageToMap,
    Lidar,
    MirrorPanel,
    Fog,
    Validate,
    World,
    Doctor,
)
"""The panels, in the order of the window."""


class Bridge:
    """The panels at work: they go on with the frames, and follow what becomes of the stage.

    Args:
        mirror: The live mirror of the extension; None where there is none.
        make_python: Begins to make the Python of IR-SIM; None where nothing does.
        host: The services of the panels; made where None.

    Attributes:
        host: The services of the panels.
        panels: The model of each panel by its name.
        on_look: Called after each frame's work; the window draws then.
    """

    def __init__(
        self,
        mirror: LiveMirror | None = None,
        *,
        make_python: Callable[[], object] | None = None,
        host: Host | None = None,
    ) -> None:
        self.host = host or Host(mirror, make_python=make_python)
        self.panels: dict[str, PanelModel] = {kind.panel.name: kind(self.host) for kind in PANELS}
        self.on_look: Callable[[], None] | None = None
        self._guards = ExitStack()
        self._awake = False
        self.host.wake = self.wake
        self._guards.callback(on_stage("CLOSING", self._stage_closes))

    def wake(self) -> None:
        """Go on with the frames from now on; before, nothing is done with them."""
        if not self._awake:
            self._awake = True
            self._guards.callback(on_update(self.look))

    def act(self, panel: str, action: str, **values: object) -> Any:
        """Do an action of a panel.

        Args:
            panel: The name of the panel.
            action: The name of the action.
            **values: Given to fields of the panel first.

        Returns:
            What came of it; where it takes a while, the ``asyncio.Task`` to await.

        Raises:
            FieldError: There is no such panel, action or field, or a value is refused.
        """
        if panel not in self.panels:
            raise FieldError(panel, f"no panel is named '{panel}'; found: {', '.join(self.panels)}")
        return self.panels[panel].act(action, **values)

    def actions(self) -> Iterator[tuple[str, PanelModel, Action]]:
        """Give each action with the name that Kit knows it by, and the panel that it is of."""
        for name, model in self.panels.items():
            for action in model.panel.actions:
                yield f"{name}_{action.name}", model, action

    def look(self) -> None:
        """Go on with a frame."""
        for model in self.panels.values():
            model.look()
        if self.on_look is not None:
            self.on_look()

    def _stage_closes(self) -> None:
        for model in self.panels.values():
            model.stage_closes()

    def close(self) -> None:
        """Let go of everything; twice is no error."""
        self.on_look = self.host.wake = None
        self._guards.close()
        for model in self.panels.values():
            model.close()
        self.host.close()
