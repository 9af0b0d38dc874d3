"""The base of every message: equality, dictionaries and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from irsim_isaac.msg.codec import DecodeError, codec, parse

__all__ = ["Message"]

M = TypeVar("M", bound="Message")


@dataclass(slots=True, eq=False)
class Message:
    """The base of every message.

    Two messages are equal when they are of one class and their fields have the same values;
    arrays by value and shape, not by dtype, and not-a-number equals itself.
    """

    __hash__ = None  # type: ignore[assignment]  # messages are mutable, as IR-SIM's are

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other.__class__ is not self.__class__:
            return NotImplemented
        return codec(self.__class__).equal(self, other)

    def to_dict(self) -> dict[str, Any]:
        """Return the complete message as JSON-compatible built-in values of its own.

        Floats stay floats, also where they are not finite; arrays become lists.

        Raises:
            TypeError: A field holds what no built-in value stands for.
        """
        return codec(self.__class__).to_dict(self)

    @classmethod
    def from_dict(cls: type[M], data: Mapping[str, Any]) -> M:
        """Return the message that a dictionary of :meth:`to_dict` tells of.

        Fields that have a default may be absent.

        Args:
            data: The values by field name.

        Raises:
            TypeError: A field is missing, unknown or of the wrong type.
            ValueError: A value does not fit its field.
        """
        try:
            return codec(cls).from_dict(data, False)  # type: ignore[no-any-return]
        except DecodeError as problem:
            raise problem.error(cls.__name__) from None

    def to_json(self) -> str:
        """Return the message as strict RFC 8259 text, losslessly.

        Numbers that are not finite are the strings ``"inf"``, ``"-inf"`` and ``"nan"``;
        float32 arrays are printed with the digits of a float32.

        Raises:
            TypeError: A field holds what JSON cannot say.
        """
        return codec(self.__class__).to_json(self)

    @classmethod
    def from_json(cls: type[M], text: str | bytes) -> M:
        """Return the message that a text of :meth:`to_json` tells of.

        Args:
            text: JSON, UTF-8 where it is bytes.

        Raises:
            TypeError: A field is missing, unknown or of the wrong type.
            ValueError: The text is not JSON, or a value does not fit its field.
        """
        try:
            return codec(cls).from_dict(parse(text), True)  # type: ignore[no-any-return]
        except DecodeError:
            pass
        try:
            # The fast parser turns integers beyond 64 bits into floats.
            return codec(cls).from_dict(parse(text, exact=True), True)  # type: ignore[no-any-return]
        except DecodeError as problem:
            raise problem.error(cls.__name__) from None
