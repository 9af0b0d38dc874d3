"""Logging: every line is kept in ``lines`` as (level, text)."""

lines: list[tuple[str, str]] = []


def log_info(message: str) -> None:
    lines.append(("info", message))


def log_warn(message: str) -> None:
    lines.append(("warn", message))


def log_error(message: str) -> None:
    lines.append(("error", message))
