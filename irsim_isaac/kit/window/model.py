"""A panel at work: its values, what it does, and what goes wrong in a line."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.window.canvas import Canvas
from irsim_isaac.kit.window.description import Action, Field, FieldError, Panel, Value
from irsim_isaac.kit.window.task import Task

if TYPE_CHECKING:
    from irsim_isaac.kit.window.host import Host

__all__ = ["EXPECTED", "PanelBusyError", "PanelModel", "one_line"]

EXPECTED = (IrsimIsaacError, OSError, RuntimeError, ValueError)
"""What may go wrong in an action; ``pxr`` raises RuntimeError for prims that are gone."""

REFRESH = 0.1
"""Between two looks at what a panel tells [s]."""


class PanelBusyError(IrsimIsaacError):
    """A panel does one thing at a time."""


def one_line(error: BaseException) -> str:
    """Return an error as one line of text."""
    return " ".join(str(error).split()) or type(error).__name__


class PanelModel:
    """What a panel holds and does, without any widget.

    Args:
        host: The window's services.

    Attributes:
        panel: What it is the model of.
        host: As given.
        values: The value of each field; every one of them is one that the field takes.
        messages: Why the last value that was given to a field was refused, by field.
        texts: What it tells, by text.
        canvases: Its pictures, by name.
        task: What it is doing that takes a while; None for nothing.
        error: The line of its last error; empty for none.
    """

    panel: ClassVar[Panel]

    def __init__(self, host: Host) -> None:
        self.host = host
        self.values: dict[str, Value] = {}
        self.messages: dict[str, str] = {}
        self.texts: dict[str, str] = {text.name: "" for text in self.panel.texts}
        self.canvases = {
            picture.name: Canvas(picture, host.thread, host.clock)
            for picture in self.panel.pictures
        }
        self.task: Task | None = None
        self.error = ""
        self._looked = float("-inf")
        for field in self.panel.fields:
            self.values[field.name] = self._first(field)

    def _first(self, field: Field) -> Value:
        """Return what a field begins with: what was kept, where the field still takes it."""
        kept = self.host.kept(self.panel.name, field.name) if field.kept else None
        if kept is not None:
            try:
                return field.take(kept)
            except FieldError as error:
                self.host.warn(f"the setting of {error}; {field.default!r} is used")
        return field.default

    # -------------------------------------------------------------- values

    def set(self, name: str, given: object) -> bool:
        """Give a field a value, which it takes or refuses.

        Args:
            name: The field.
            given: The value, or the text that was typed.

        Returns:
            Whether it was taken; where not, ``messages`` says why and the value is as before.

        Raises:
            FieldError: There is no such field.
        """
        field = self.panel.field(name)
        try:
            self._take(field, given)
        except FieldError as error:
            self.messages[name] = str(error)
            return False
        return True

    def _take(self, field: Field, given: object) -> None:
        value = field.take(given)
        wrong = self.check(field.name, value)
        if wrong:
            raise FieldError(field.name, f"{field.title}: {wrong}")
        self.messages.pop(field.name, None)
        if value != self.values[field.name]:
            self.values[field.name] = value
            if field.kept:
                self.host.keep(self.panel.name, field.name, value)
            self.changed(field.name)

    def check(self, name: str, value: Value) -> str:
        """Say what is wrong with a value beside those of the other fields; empty for nothing."""
        return ""

    def changed(self, name: str) -> None:
        """Follow a value that was changed."""

    def choices(self, name: str) -> tuple[str, ...]:
        """Return what there is to choose from in a field now."""
        return self.panel.field(name).choices

    def number(self, name: str) -> float:
        """Return the value of a field of numbers."""
        return float(self.values[name])

    def text(self, name: str) -> str:
        """Return the value of a field of text."""
        return str(self.values[name])

    # -------------------------------------------------------------- actions

    def act(self, name: str, **values: object) -> Any:
        """Do an action, as from Python.

        Args:
            name: The action.
            **values: Given to fields first.

        Returns:
            What came of it; where it takes a while, the ``asyncio.Task`` to await.

        Raises:
            FieldError: There is no such action or field, or a value is refused; nothing is done.
            PanelBusyError: The panel does something else that takes a while.
        """
        action = self.panel.action(name)
        for field, given in values.items():
            self._take(self.panel.field(field), given)
        self.error = ""
        if self.host.wake is not None:
            self.host.wake()
        if inspect.iscoroutinefunction(action.function):
            return self._begin(action)
        return action.function(self)

    def press(self, name: str, **values: object) -> Any:
        """Do an action as its button does: what goes wrong is told, not raised.

        Args:
            name: The action.
            **values: Given to fields first.

        Returns:
            What ``act`` returns; None where it went wrong at once.
        """
        try:
            result = self.act(name, **values)
        except EXPECTED as error:
            self.fail(error)
            return None
        if isinstance(result, asyncio.Task):
            result.add_done_callback(self._ended)
        return result

    def cancel(self) -> None:
        """Give up what takes a while; nothing to do is no error."""
        if self.task is not None:
            self.task.cancel()

    def fail(self, error: BaseException) -> None:
        """Tell of an error."""
        self.error = one_line(error)
        self.host.fail(self.error)

    def _begin(self, action: Action) -> asyncio.Task[Any]:
        if self.task is not None and not self.task.done:
            raise PanelBusyError(f"{self.panel.title} is busy: {self.task.what}")
        task = self.task = Task(action.title)
        task.asyncio = asyncio.ensure_future(action.function(self))
        return task.asyncio

    def _ended(self, ended: asyncio.Task[Any]) -> None:
        if ended.cancelled():
            return
        error = ended.exception()
        if isinstance(error, EXPECTED):
            self.fail(error)
        elif error is not None:
            asyncio.get_running_loop().call_exception_handler(
                {"message": f"{self.panel.title} failed", "exception": error, "task": ended}
            )

    # -------------------------------------------------------------- frames

    @property
    def running(self) -> Task | None:
        """What it is doing that takes a while; None for nothing."""
        return None if self.task is None or self.task.done else self.task

    def look(self) -> None:
        """Go on with the frame: cheap, because it is called with every one.

        Where that goes wrong, everything is let go of, so that it is told once.
        """
        try:
            self.watch()
            now = self.host.clock()
            if now - self._looked >= REFRESH:
                self._looked = now
                self.refresh()
        except EXPECTED as error:
            self.stage_closes()
            self.fail(error)
        for canvas in self.canvases.values():
            canvas.look()
            failed, canvas.error = canvas.error, None
            if failed is not None:
                self.fail(failed)

    def watch(self) -> None:
        """Take up what a frame has brought."""

    def refresh(self) -> None:
        """Bring what is told up to date; ten times a second at most."""

    # -------------------------------------------------------------- ends

    def stage_closes(self) -> None:
        """Let go of the stage, which is about to close."""
        self.cancel()
        for canvas in self.canvases.values():
            canvas.clear()

    def close(self) -> None:
        """Let go of everything."""
        self.stage_closes()

    def tell(self, **texts: str) -> None:
        """Set texts by name."""
        self.texts.update(texts)

    @property
    def state(self) -> Mapping[str, Value]:
        """The values of the fields, as they are now."""
        return dict(self.values)
