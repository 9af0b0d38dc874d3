"""The version of Isaac Sim."""

core = "6.0.1"


def get_version() -> tuple[str, ...]:
    return (core, "", *core.split("."), "", "", "")
