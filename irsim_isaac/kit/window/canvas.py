"""Pictures that are drawn on another thread, ten times a second at most."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from irsim_isaac.kit.window.description import Picture

__all__ = ["PERIOD", "Canvas", "Rgba"]

Rgba: TypeAlias = "npt.NDArray[np.uint8]"
"""Red, green, blue and opacity, shape (height, width, 4), rows from the top."""

PERIOD = 0.1
"""Between two drawings of one picture [s]."""


class Canvas:
    """One picture of a panel.

    Whatever asks for a drawing is done at once: the drawing is made on the thread, and of several
    that were asked for meanwhile only the last is.

    Args:
        picture: Which picture.
        thread: Where it is drawn.
        clock: Tells the time [s].

    Attributes:
        picture: As given.
        image: The last drawing; None before the first.
        drawn: How many there were.
        dropped: How many were asked for and never made, because newer ones came first.
        error: Why the last drawing failed; None where it did not.
    """

    def __init__(
        self,
        picture: Picture,
        thread: ThreadPoolExecutor,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.picture = picture
        self.image: Rgba | None = None
        self.drawn = 0
        self.dropped = 0
        self.error: BaseException | None = None
        self._thread = thread
        self._clock = clock
        self._wanted: Callable[[], Rgba] | None = None
        self._making: Future[Rgba] | None = None
        self._next = -np.inf

    @property
    def due(self) -> bool:
        """Whether a drawing that is asked for now is begun with this frame."""
        return self._making is None and self._clock() >= self._next

    def draw(self, make: Callable[[], Rgba]) -> None:
        """Ask for a drawing.

        Args:
            make: Makes it, on another thread.
        """
        self.dropped += self._wanted is not None
        self._wanted = make

    def look(self) -> bool:
        """Begin what is due and take in what is done; once a frame.

        Returns:
            Whether there is a new image.
        """
        new = False
        if self._making is not None and self._making.done():
            making, self._making = self._making, None
            self.error = making.exception()
            if self.error is None:
                self.image = making.result()
                self.drawn += 1
                new = True
        if self._wanted is not None and self.due:
            wanted, self._wanted = self._wanted, None
            self._next = self._clock() + PERIOD
            self._making = self._thread.submit(wanted)
        return new

    def clear(self) -> None:
        """Forget the image and what was asked for."""
        self._wanted = None
        self._making = None
        self.image = None
