"""Settings by path."""

from typing import Any


class ISettings:
    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def get(self, path: str) -> Any:
        return self._values.get(path)

    def get_as_bool(self, path: str) -> bool:
        return bool(self._values.get(path))

    def set(self, path: str, value: Any) -> None:
        self._values[path] = value

    def set_default(self, path: str, value: Any) -> None:
        self._values.setdefault(path, value)


_settings = ISettings()


def get_settings() -> ISettings:
    return _settings
