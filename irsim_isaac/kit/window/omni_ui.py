"""The window, drawn by ``omni.ui`` from the description of its panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irsim_isaac.kit.window.bridge import Bridge
from irsim_isaac.kit.window.canvas import Canvas
from irsim_isaac.kit.window.description import Field
from irsim_isaac.kit.window.host import copy_text
from irsim_isaac.kit.window.model import PanelModel

__all__ = ["TITLE", "BridgeWindow"]

TITLE = "IR-SIM Bridge"
"""The title of the window, and its entry under Tools > Robotics."""

_WIDTH = 440
_HEIGHT = 860
_LABEL = 96
_LINE = 18
_BUTTONS = 3
"""Buttons in a row."""

# Colours are opacity, blue, green, red.
_FAINT = {"color": 0xFF9A9A9A}
_WRONG = {"color": 0xFF4C6CFF}
_FIRST = "the first of the stage"
_EMPTY = (31, 33, 36, 255)


class BridgeWindow:
    """The window while it is open.

    Args:
        bridge: The panels.
        on_hidden: Called when it was closed by its own button.
    """

    def __init__(self, bridge: Bridge, on_hidden: Callable[[], None]) -> None:
        import omni.ui

        self._bridge = bridge
        self._on_hidden: Callable[[], None] | None = on_hidden
        self._views: list[_PanelView] = []
        self._window = omni.ui.Window(TITLE, width=_WIDTH, height=_HEIGHT)
        with self._window.frame, omni.ui.ScrollingFrame(), omni.ui.VStack(spacing=6, height=0):
            for model in bridge.panels.values():
                self._views.append(_PanelView(model))
        self._window.set_visibility_changed_fn(self._visibility_changed)
        self._window.deferred_dock_in("Property", omni.ui.DockPolicy.CURRENT_WINDOW_IS_ACTIVE)
        bridge.on_look = self.refresh
        bridge.wake()

    def refresh(self) -> None:
        """Show what has changed; with every frame."""
        for view in self._views:
            view.refresh()

    def destroy(self) -> None:
        """Take the window away; twice is no error."""
        self._on_hidden = None
        self._bridge.on_look = None
        views, self._views = self._views, []
        for view in views:
            view.destroy()
        if self._window is not None:
            self._window.set_visibility_changed_fn(None)
            self._window.destroy()
            self._window = None

    def _visibility_changed(self, visible: bool) -> None:
        if not visible and self._on_hidden is not None:
            self._on_hidden()


class _PanelView:
    """One panel: its fields, buttons, progress, texts and pictures."""

    def __init__(self, model: PanelModel) -> None:
        import omni.ui

        self._model = model
        panel = model.panel
        self._fields: list[_FieldView] = []
        self._texts: dict[str, Any] = {}
        self._pictures: list[_PictureView] = []
        self._busy = False
        with (
            omni.ui.CollapsableFrame(panel.title, collapsed=False),
            omni.ui.VStack(spacing=4, height=0),
        ):
            omni.ui.Label(panel.description, word_wrap=True, height=0, style=_FAINT)
            for field in panel.fields:
                self._fields.append(_FieldView(model, field))
            self._build_buttons()
            self._build_progress()
            self._build_texts()
            for canvas in model.canvases.values():
                self._pictures.append(_PictureView(canvas))

    def _build_buttons(self) -> None:
        import omni.ui

        actions = self._model.panel.actions
        for start in range(0, len(actions), _BUTTONS):
            with omni.ui.HStack(height=26, spacing=4):
                for action in actions[start : start + _BUTTONS]:
                    omni.ui.Button(
                        action.title,
                        clicked_fn=lambda name=action.name: self._model.press(name),
                        tooltip=action.description,
                    )

    def _build_progress(self) -> None:
        import omni.ui

        self._part = omni.ui.SimpleFloatModel(0.0)
        self._row = omni.ui.VStack(spacing=2, height=0, visible=False)
        with self._row:
            omni.ui.ProgressBar(model=self._part, height=16)
            self._what = omni.ui.Label("", height=_LINE, style=_FAINT)

    def _build_texts(self) -> None:
        import omni.ui

        for text in self._model.panel.texts:
            with omni.ui.HStack(height=0, spacing=4):
                if text.title:
                    omni.ui.Label(text.title, width=_LABEL, alignment=omni.ui.Alignment.LEFT_TOP)
                self._texts[text.name] = omni.ui.Label("", word_wrap=True, height=0)
        self._failed = omni.ui.HStack(height=0, spacing=4, visible=False)
        with self._failed:
            self._error = omni.ui.Label("", word_wrap=True, height=0, style=_WRONG)
            omni.ui.Button(
                "Copy",
                width=54,
                height=22,
                clicked_fn=lambda: copy_text(self._model.error),
                tooltip="Copy the error.",
            )

    def refresh(self) -> None:
        """Show what has changed."""
        model = self._model
        for field in self._fields:
            field.refresh()
        for name, label in self._texts.items():
            text = model.texts[name]
            if label.text != text:
                label.text = text
        if self._error.text != model.error:
            self._error.text = model.error
            self._failed.visible = bool(model.error)
        task = model.running
        if task is not None:
            self._part.set_value(task.part)
            self._what.text = task.what
        if self._busy != (task is not None):
            self._busy = task is not None
            self._row.visible = self._busy
        for picture in self._pictures:
            picture.refresh()

    def destroy(self) -> None:
        """Let go of the model and its pictures."""
        for field in self._fields:
            field.destroy()
        for picture in self._pictures:
            picture.destroy()
        self._fields = []
        self._pictures = []
        self._texts = {}


class _FieldView:
    """One field: its title, the widget that takes the value, its unit, and what was refused."""

    def __init__(self, model: PanelModel, field: Field) -> None:
        import omni.ui

        self._model = model
        self._field = field
        self._showing = False
        self._flag: Any = None
        self._typed: Any = None
        self._chosen: Any = None
        hint = f"{field.description} ({field.limits})"
        with omni.ui.VStack(spacing=1, height=0):
            with omni.ui.HStack(height=22, spacing=4):
                omni.ui.Label(field.title, width=_LABEL, tooltip=hint)
                if field.kind == "flag":
                    self._build_flag(hint)
                elif field.kind in ("choice", "prim"):
                    self._build_choice(hint)
                else:
                    self._build_text(hint)
                if field.unit:
                    omni.ui.Label(field.unit, width=18, style=_FAINT)
            self._message = omni.ui.Label("", word_wrap=True, height=0, visible=False, style=_WRONG)
        self._shown = model.values[field.name]

    def _build_flag(self, hint: str) -> None:
        import omni.ui

        flag = omni.ui.SimpleBoolModel(bool(self._model.values[self._field.name]))
        omni.ui.CheckBox(model=flag, tooltip=hint)
        flag.add_value_changed_fn(lambda changed: self._give(changed.get_value_as_bool()))
        self._flag = flag

    def _build_text(self, hint: str) -> None:
        import omni.ui

        typed = omni.ui.SimpleStringModel(_written(self._model.values[self._field.name]))
        omni.ui.StringField(model=typed, tooltip=hint)
        typed.add_end_edit_fn(lambda edited: self._give(edited.get_value_as_string()))
        self._typed = typed

    def _build_choice(self, hint: str) -> None:
        import omni.ui

        self._chosen = _choice_model(self._choices(), self._place(), self._choose)
        omni.ui.ComboBox(self._chosen, tooltip=hint)

    def _choices(self) -> tuple[str, ...]:
        choices = self._model.choices(self._field.name)
        value = str(self._model.values[self._field.name])
        if value and value not in choices:
            choices = (*choices, value)
        return (_FIRST, *choices) if self._field.optional else choices

    def _place(self) -> int:
        value = str(self._model.values[self._field.name])
        return self._choices().index(value) if value else 0

    def _choose(self, place: int) -> None:
        choice = self._choices()[place]
        self._give("" if choice == _FIRST else choice)

    def _give(self, value: object) -> None:
        """Give the model a value; where it is refused, the one before is shown again."""
        if self._showing:
            return
        self._model.set(self._field.name, value)
        self._show()
        self.refresh()

    def _show(self) -> None:
        """Show the value that the model has."""
        self._shown = value = self._model.values[self._field.name]
        self._showing = True
        try:
            if self._flag is not None:
                self._flag.set_value(bool(value))
            elif self._typed is not None:
                self._typed.set_value(_written(value))
            elif self._chosen is not None:
                self._chosen.show(self._choices(), self._place())
        finally:
            self._showing = False

    def refresh(self) -> None:
        """Show what has changed."""
        if self._model.values[self._field.name] != self._shown or (
            self._chosen is not None and self._chosen.choices != self._choices()
        ):
            self._show()
        message = self._model.messages.get(self._field.name, "")
        if self._message.text != message:
            self._message.text = message
            self._message.visible = bool(message)

    def destroy(self) -> None:
        """Let go of what calls back."""
        self._showing = True
        if self._chosen is not None:
            self._chosen.destroy()
        self._flag = self._typed = self._chosen = None


def _choice_model(choices: Sequence[str], place: int, chosen: Callable[[int], None]) -> Any:
    """Return the model of a box of choices.

    Args:
        choices: The choices.
        place: Which of them it shows.
        chosen: Called with the place of what was chosen.
    """
    import omni.ui

    class _Choice(omni.ui.AbstractItem):
        def __init__(self) -> None:
            super().__init__()
            self.text: Any = None

    def items(texts: Sequence[str]) -> list[_Choice]:
        made = []
        for text in texts:
            item = _Choice()
            item.text = omni.ui.SimpleStringModel(text)
            made.append(item)
        return made

    class _Choices(omni.ui.AbstractItemModel):
        def __init__(self) -> None:
            super().__init__()
            self.choices = tuple(choices)
            self._items = items(choices)
            self._told: Callable[[int], None] | None = chosen
            place_model = omni.ui.SimpleIntModel(place)
            place_model.add_value_changed_fn(self._changed)
            self._place = place_model

        def get_item_children(self, item: Any = None) -> list[Any]:
            return self._items if item is None else []

        def get_item_value_model(self, item: Any = None, column_id: int = 0) -> Any:
            return self._place if item is None else item.text

        def show(self, new: Sequence[str], at: int) -> None:
            told, self._told = self._told, None
            if tuple(new) != self.choices:
                self.choices = tuple(new)
                self._items = items(new)
                self._item_changed(None)
            if self._place.get_value_as_int() != at:
                self._place.set_value(at)
            self._told = told

        def destroy(self) -> None:
            self._told = None

        def _changed(self, changed: Any) -> None:
            self._item_changed(None)
            if self._told is not None:
                self._told(changed.get_value_as_int())

    return _Choices()


def _written(value: object) -> str:
    """Return a value as it stands in a field."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


class _PictureView:
    """One picture, whose bytes are given to the window when there are new ones."""

    def __init__(self, canvas: Canvas) -> None:
        import omni.ui

        self._canvas = canvas
        self._shown: Any = None
        picture = canvas.picture
        provider = omni.ui.ByteImageProvider()
        with omni.ui.HStack(height=picture.height):
            omni.ui.ImageWithProvider(
                provider,
                fill_policy=omni.ui.IwpFillPolicy.IWP_PRESERVE_ASPECT_FIT,
                height=picture.height,
                tooltip=picture.description,
            )
        self._provider = provider
        self._give(_blank(canvas))

    def refresh(self) -> None:
        """Show a new image, where there is one."""
        image = self._canvas.image
        if image is self._shown:
            return
        self._shown = image
        self._give(_blank(self._canvas) if image is None else image)

    def _give(self, image: Any) -> None:
        height, width = image.shape[:2]
        self._provider.set_bytes_data(image.ravel().data, [width, height])

    def destroy(self) -> None:
        """Let go of the image."""
        self._shown = self._provider = None


def _blank(canvas: Canvas) -> Any:
    """Return the image of a picture that has none yet."""
    image = np.empty((canvas.picture.height, canvas.picture.width, 4), dtype=np.uint8)
    image[:] = _EMPTY
    return image
