"""What the panels are given: settings, messages, time, a thread to draw on, the mirror."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from irsim_isaac.kit.menu import notify
from irsim_isaac.kit.window.description import Value

if TYPE_CHECKING:
    from irsim_isaac.kit.live_mirror import LiveMirror

__all__ = ["Host", "copy_text"]


def copy_text(text: str) -> None:
    """Put a text into the clipboard, where there is one."""
    try:
        import omni.kit.clipboard
    except ImportError:
        return
    omni.kit.clipboard.copy(text)


class Host:
    """The services of the panels inside Isaac Sim.

    Args:
        mirror: The live mirror of the extension; None where there is none.
        make_python: Begins to make the Python of IR-SIM; None where nothing does.
        clock: Tells the time [s].

    Attributes:
        mirror: As given.
        make_python: As given.
        clock: As given.
        thread: Where pictures are drawn.
        wake: Called when a panel is given something to do; the frames are watched from then on.
        said: The last line that was told, of an error or not.
    """

    def __init__(
        self,
        mirror: LiveMirror | None = None,
        *,
        make_python: Callable[[], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.mirror = mirror
        self.make_python = make_python
        self.clock = clock
        self.thread = ThreadPoolExecutor(1, "irsim_isaac pictures")
        self.wake: Callable[[], None] | None = None
        self.said = ""

    def say(self, line: str) -> None:
        """Tell of something that went well."""
        import carb

        self.said = line
        carb.log_info(f"[irsim_isaac] {line}")
        notify(line)

    def warn(self, line: str) -> None:
        """Tell the log of something that was mended."""
        import carb

        carb.log_warn(f"[irsim_isaac] {line}")

    def fail(self, line: str) -> None:
        """Tell of an error, with a button that copies its line."""
        import carb

        self.said = line
        carb.log_error(f"[irsim_isaac] {line}")
        notify(line, warning=True, buttons={"Copy": lambda: copy_text(line), "Dismiss": _nothing})

    def kept(self, panel: str, field: str) -> object:
        """Return what a field was left at, else what the settings say; None where neither does."""
        from irsim_isaac.kit.window.settings import kept_value

        return kept_value(panel, field)

    def keep(self, panel: str, field: str, value: Value) -> None:
        """Keep the value of a field for the next run."""
        from irsim_isaac.kit.window.settings import keep

        keep(panel, field, value)

    def close(self) -> None:
        """End the thread; pictures that were not begun are not drawn."""
        self.thread.shutdown(cancel_futures=True)


def _nothing() -> None:
    """Leave it at that."""
