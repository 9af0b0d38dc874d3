"""Widgets without pixels: a tree of them, models that call back, unknown arguments refused."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np

_COMMON = {
    "enabled",
    "height",
    "identifier",
    "name",
    "style",
    "style_type_name_override",
    "tooltip",
    "visible",
    "width",
}


class DockPolicy(enum.Enum):
    DO_NOTHING = 0
    CURRENT_WINDOW_IS_ACTIVE = 1
    TARGET_WINDOW_IS_ACTIVE = 2


class Alignment(enum.Enum):
    LEFT_TOP = 1
    LEFT_CENTER = 2
    CENTER = 3


class IwpFillPolicy(enum.Enum):
    IWP_STRETCH = 0
    IWP_PRESERVE_ASPECT_FIT = 1


# ------------------------------------------------------------------ models


class AbstractValueModel:
    def __init__(self) -> None:
        self._changed: dict[int, Callable[[Any], None]] = {}
        self._edited: dict[int, Callable[[Any], None]] = {}
        self._next = 0

    def _add(self, where: dict[int, Callable[[Any], None]], fn: Callable[[Any], None]) -> int:
        self._next += 1
        where[self._next] = fn
        return self._next

    def add_value_changed_fn(self, fn: Callable[[Any], None]) -> int:
        return self._add(self._changed, fn)

    def add_end_edit_fn(self, fn: Callable[[Any], None]) -> int:
        return self._add(self._edited, fn)

    def end_edit(self) -> None:
        for fn in list(self._edited.values()):
            fn(self)

    def _value_changed(self) -> None:
        for fn in list(self._changed.values()):
            fn(self)


class _SimpleModel(AbstractValueModel):
    kind: type = object

    def __init__(self, defaultValue: Any) -> None:
        super().__init__()
        assert isinstance(defaultValue, self.kind), f"{defaultValue!r} is no {self.kind}"
        self._value = defaultValue

    def set_value(self, value: Any) -> None:
        assert isinstance(value, self.kind), f"{value!r} is no {self.kind}"
        if value != self._value:
            self._value = value
            self._value_changed()

    def get_value_as_bool(self) -> bool:
        return bool(self._value)

    def get_value_as_float(self) -> float:
        return float(self._value)

    def get_value_as_int(self) -> int:
        return int(self._value)

    def get_value_as_string(self) -> str:
        return str(self._value)


class SimpleBoolModel(_SimpleModel):
    kind = bool


class SimpleFloatModel(_SimpleModel):
    kind = float


class SimpleIntModel(_SimpleModel):
    kind = int


class SimpleStringModel(_SimpleModel):
    kind = str


class AbstractItem:
    def __init__(self) -> None:
        pass


class AbstractItemModel:
    def __init__(self) -> None:
        self.widgets: list[ComboBox] = []

    def _item_changed(self, item: AbstractItem | None) -> None:
        for widget in self.widgets:
            widget.read()


# ------------------------------------------------------------------ widgets

_open: list[Container] = []
"""The containers whose ``with`` is open, innermost last."""


class Widget:
    takes: frozenset[str] = frozenset()

    def __init__(self, **kwargs: Any) -> None:
        unknown = set(kwargs) - _COMMON - self.takes
        if unknown:
            raise TypeError(f"{type(self).__name__} takes no {sorted(unknown)}")
        self.visible: bool = kwargs.get("visible", True)
        self.enabled: bool = kwargs.get("enabled", True)
        self.tooltip: str = kwargs.get("tooltip", "")
        self.width = kwargs.get("width")
        self.height = kwargs.get("height")
        self.style = kwargs.get("style", {})
        self.children: list[Widget] = []
        if _open:
            _open[-1].children.append(self)

    def destroy(self) -> None:
        for child in self.children:
            child.destroy()
        self.children = []


class Container(Widget):
    def __enter__(self) -> Container:
        _open.append(self)
        return self

    def __exit__(self, *args: object) -> None:
        assert _open.pop() is self

    def clear(self) -> None:
        for child in self.children:
            child.destroy()
        self.children = []


class Frame(Container):
    takes = frozenset({"horizontal_clipping", "vertical_clipping", "opaque_for_mouse_events"})


class ScrollingFrame(Frame):
    takes = Frame.takes | {"horizontal_scrollbar_policy", "vertical_scrollbar_policy"}


class CollapsableFrame(Frame):
    takes = Frame.takes | {"collapsed", "alignment"}

    def __init__(self, title: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.title = title
        self.collapsed: bool = kwargs.get("collapsed", False)


class Stack(Container):
    takes = frozenset({"spacing", "content_clipping"})


class VStack(Stack):
    pass


class HStack(Stack):
    pass


class ZStack(Stack):
    pass


class Label(Widget):
    takes = frozenset({"word_wrap", "alignment", "elided_text"})

    def __init__(self, text: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._text = text

    @property
    def text(self) -> str:
        return self._text

    @text.setter
    def text(self, text: str) -> None:
        assert isinstance(text, str)
        self._text = text


class Button(Widget):
    takes = frozenset({"clicked_fn", "image_url", "image_width", "image_height", "spacing"})

    def __init__(self, text: str = "", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text = text
        self._clicked: Callable[[], None] | None = kwargs.get("clicked_fn")

    def call_clicked_fn(self) -> None:
        assert self.enabled and self._clicked is not None
        self._clicked()


class CheckBox(Widget):
    takes = frozenset({"model"})

    def __init__(self, model: AbstractValueModel | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model or SimpleBoolModel(False)


class StringField(Widget):
    takes = frozenset({"model", "read_only", "multiline", "password_mode"})

    def __init__(self, model: AbstractValueModel | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model or SimpleStringModel("")

    def type(self, text: str) -> None:
        """Type a text and leave the field."""
        self.model.set_value(text)
        self.model.end_edit()


class ProgressBar(Widget):
    def __init__(self, model: AbstractValueModel | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model = model or SimpleFloatModel(0.0)


class ComboBox(Widget):
    takes = frozenset({"arrow_only"})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        (self.model,) = args
        assert isinstance(self.model, AbstractItemModel), "a model was expected"
        self.model.widgets.append(self)
        self.read()

    def read(self) -> None:
        """Take the choices and the place from the model, as the widget does when told to."""
        self.choices = [
            self.model.get_item_value_model(item, 0).get_value_as_string()
            for item in self.model.get_item_children(None)
        ]
        self.place = self.model.get_item_value_model(None, 0).get_value_as_int()
        assert 0 <= self.place < len(self.choices)

    @property
    def shown(self) -> str:
        return self.choices[self.place]

    def choose(self, text: str) -> None:
        """Choose an entry."""
        self.model.get_item_value_model(None, 0).set_value(self.choices.index(text))


class ByteImageProvider:
    def __init__(self) -> None:
        self.images = 0
        self.pixels: Any = None

    def set_bytes_data(self, bytes: Sequence[int] | memoryview, sizes: Sequence[int]) -> None:
        """Copy the bytes, as the provider does for the graphics card."""
        width, height = sizes
        self.pixels = np.array(np.frombuffer(bytes, dtype=np.uint8)).reshape(height, width, 4)
        self.images += 1


class ImageWithProvider(Widget):
    takes = frozenset({"fill_policy", "alignment", "pixel_aligned"})

    def __init__(self, provider: ByteImageProvider, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert isinstance(provider, ByteImageProvider)
        assert isinstance(kwargs.get("fill_policy", IwpFillPolicy.IWP_STRETCH), IwpFillPolicy)
        self.provider = provider


# ------------------------------------------------------------------ windows

windows: list[Window] = []
"""The windows that have not been destroyed."""


class Window:
    takes = frozenset({"width", "height", "visible", "flags", "dockPreference", "focused"})

    def __init__(self, title: str, **kwargs: Any) -> None:
        unknown = set(kwargs) - self.takes
        if unknown:
            raise TypeError(f"Window takes no {sorted(unknown)}")
        assert all(window.title != title for window in windows), f"two windows are '{title}'"
        self.title = title
        self._frame = Frame()
        self.docked_in: tuple[str, DockPolicy] | None = None
        self._visible: bool = kwargs.get("visible", True)
        self._visibility_changed: Callable[[bool], None] | None = None
        self._telling = False
        windows.append(self)

    @property
    def frame(self) -> Frame:
        return self._frame

    @property
    def visible(self) -> bool:
        return self._visible

    @visible.setter
    def visible(self, visible: bool) -> None:
        if visible == self._visible:
            return
        self._visible = visible
        if self._visibility_changed is not None:
            self._telling = True
            self._visibility_changed(visible)
            self._telling = False

    def set_visibility_changed_fn(self, fn: Callable[[bool], None] | None) -> None:
        self._visibility_changed = fn

    def deferred_dock_in(
        self, target_window: str, active_window: DockPolicy = DockPolicy.DO_NOTHING
    ) -> None:
        assert isinstance(active_window, DockPolicy)
        self.docked_in = (target_window, active_window)

    def destroy(self) -> None:
        assert not self._telling, "a window must not be destroyed while it tells of itself"
        assert self in windows, "destroyed twice"
        windows.remove(self)
        self.frame.destroy()


class Workspace:
    show_window_fns: ClassVar[dict[str, Callable[[bool], None]]] = {}

    @classmethod
    def set_show_window_fn(cls, title: str, fn: Callable[[bool], None] | None) -> None:
        if fn is None:
            cls.show_window_fns.pop(title, None)
        else:
            cls.show_window_fns[title] = fn

    @classmethod
    def show_window(cls, title: str, show: bool = True) -> bool:
        if title not in cls.show_window_fns:
            return False
        cls.show_window_fns[title](show)
        return True


def widgets(root: Any) -> Iterator[Any]:
    """Give every widget below one, in order."""
    for child in root.children:
        yield child
        yield from widgets(child)
