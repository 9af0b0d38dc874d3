"""The clipboard: one text."""

held = ""


def copy(value_str: str) -> None:
    global held  # noqa: PLW0603  # the clipboard is one for all
    held = value_str


def paste() -> str:
    return held
