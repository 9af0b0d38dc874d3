"""The window of the extension: panels, each described once, and what they do.

Nothing here needs a window but the module ``omni_ui``: every button is an action of Kit and a
call. The module ``drawing`` makes a picture of the window from the same description.
"""

from __future__ import annotations

from irsim_isaac.kit.window.bridge import PANELS, Bridge
from irsim_isaac.kit.window.description import (
    Action,
    Field,
    FieldError,
    Panel,
    Picture,
    Text,
)
from irsim_isaac.kit.window.host import Host
from irsim_isaac.kit.window.model import PanelBusyError, PanelModel
from irsim_isaac.kit.window.task import GivenUpError, Task

__all__ = [
    "PANELS",
    "Action",
    "Bridge",
    "Field",
    "FieldError",
    "GivenUpError",
    "Host",
    "Panel",
    "PanelBusyError",
    "PanelModel",
    "Picture",
    "Task",
    "Text",
]
