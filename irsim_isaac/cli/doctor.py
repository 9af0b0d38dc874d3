"""``irsim-isaac doctor``: what is installed, and what a stage is."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from irsim_isaac import __version__
from irsim_isaac.cli.exit_codes import EXCEEDED

if TYPE_CHECKING:
    from irsim_isaac.kit.self_check import Check

__all__ = ["register"]

_PACKAGES = {
    "numpy": None, "shapely": None, "warp-lang": None, "pyyaml": None, "pydantic": None,
    "pillow": None, "usd-core": "usd", "ir-sim": "irsim", "ovphysx": "physx",
    "physx-usd-schemas": "physx", "newton-usd-schemas": "physx", "orjson": "fast",
    "mcap": "record", "rosbags": "record", "plotly": "report", "jinja2": "report",
    "pyzmq": "remote", "msgpack": "remote", "sqlalchemy": "store", "scikit-learn": "store",
}  # fmt: skip
"""Each package with the extra that brings it; None belongs to every installation."""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("doctor")(doctor)


def doctor(
    stage: Annotated[Path | None, typer.Argument(help="A stage, a USD file.")] = None,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print what was found as JSON.")
    ] = False,
) -> None:
    """Say what is installed and, given a stage, what it is and what is wrong with it.

    Under Isaac Sim's Python it checks that Isaac Sim too, and exits with 1 where a check failed.
    """
    if find_spec("isaacsim") is None:
        _tell(stage, json_output, [])
        return
    from irsim_isaac.kit.script import running_application
    from irsim_isaac.kit.self_check import self_check

    # Isaac Sim must be running before anything of USD is imported.
    with running_application({"isaac"}):
        checks = list(self_check())
        _tell(stage, json_output, checks)
    if not all(check.passed for check in checks):
        raise typer.Exit(EXCEEDED)


def _tell(stage: Path | None, json_output: bool, checks: list[Check]) -> None:
    found: dict[str, Any] = {
        "irsim-isaac": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "usd": _usd_version(),
    }
    if stage is not None:
        found["stage"] = {"path": str(stage), **_survey(stage)}
    if checks:
        found["isaac_sim"] = [asdict(check) for check in checks]
    if json_output:
        typer.echo(json.dumps(found, indent=2))
        return
    typer.echo(f"irsim-isaac {__version__}, Python {found['python']}, {found['platform']}")
    for name, version in found["packages"].items():
        extra = _PACKAGES[name]
        missing = "not installed" + (f" (extra '{extra}')" if extra else "")
        typer.echo(f"  {name}: {version or missing}")
    if found["usd"] and not found["packages"]["usd-core"]:
        typer.echo(f"  pxr: {found['usd']}, not from usd-core")
    if stage is not None:
        _tell_stage(found["stage"])
    for check in checks:
        typer.echo(check)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _usd_version() -> str | None:
    """Return the version of ``pxr``, which Isaac Sim brings without a package."""
    from irsim_isaac.errors import MissingPackageError

    try:
        from irsim_isaac.stage.usd import Usd
    except MissingPackageError:
        return None
    return ".".join(str(part) for part in Usd.GetVersion())


def _survey(stage: Path) -> dict[str, Any]:
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.stage import open_stage, survey_stage

    opened = open_stage(stage)
    with drawn_progress() as progress:
        return asdict(survey_stage(opened, progress=progress))


def _tell_stage(found: dict[str, Any]) -> None:
    size = "nothing visible"
    if found["size"] is not None:
        size = " x ".join(f"{side:.4g}" for side in found["size"]) + " m"
    prims = ", ".join(f"{count} {kind}" for kind, count in found["prims"].items())
    payloads, unloaded = found["payloads"]
    for line in (
        f"{found['path']}:",
        f"  units of {found['meters_per_unit']:g} m, {found['up_axis']} up",
        f"  {size}, {found['triangles']} triangles",
        f"  prims: {prims}",
        f"  colliders: {found['colliders']}; moved by physics: {len(found['bodies'])}",
        f"  payloads: {payloads}, {unloaded} of them not loaded",
        f"  robots: {', '.join(found['robots']) or 'none'}",
        f"  lidars: {', '.join(found['lidars']) or 'none'}",
    ):
        typer.echo(line)
    for kind, count in found["omissions"].items():
        typer.echo(f"  left out of maps: {count} ({kind})")
    for words, key in (
        ("seen by a lidar, not touched by physics", "seen_only"),
        ("touched by physics, not seen by a lidar", "touched_only"),
    ):
        paths = found["consistency"][key]
        if paths:
            shown = ", ".join(paths[:5]) + (", ..." if len(paths) > 5 else "")
            typer.echo(f"  {words}: {len(paths)}: {shown}")
    for problem in found["problems"]:
        typer.echo(f"  problem: {problem}")
    if not found["problems"]:
        typer.echo("  no problems")
