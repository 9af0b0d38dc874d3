"""``irsim-isaac interfaces``: the messages and services as packages of ROS 2."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("interfaces")(interfaces)


def interfaces(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The folder, such as the src of a workspace.")
    ],
) -> None:
    """Write the ROS 2 packages of this project's interfaces, for colcon to build."""
    from irsim_isaac.msg.interactive_world.interfaces import write_interfaces

    for package in write_interfaces(output):
        count = sum(
            1 for path in package.rglob("*.*") if path.suffix in (".msg", ".srv", ".action")
        )
        typer.echo(f"{package}: {count} interfaces")
