"""The version of Isaac Sim."""

core = "5.1.0"


def get_version() -> tuple[str, ...]:
    return (core, "", *core.split("."), "", "", "")
