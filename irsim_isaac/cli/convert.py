"""``irsim-isaac convert``: a recording in another form."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("convert")(convert)


def convert(
    recording: Annotated[Path, typer.Argument(help="The recording: .mcap, .jsonl or .tum.")],
    output: Annotated[Path, typer.Argument(help="The recording to write: .mcap, .jsonl or .tum.")],
    source: Annotated[
        str | None, typer.Option(help="The one simulator to keep; all without.")
    ] = None,
    robot: Annotated[
        str | None, typer.Option(help="The robot whose trajectory a .tum file tells.")
    ] = None,
    accept_damage: Annotated[
        bool, typer.Option("--accept-damage", help="Keep what precedes a cut-off or a damage.")
    ] = False,
) -> None:
    """Write a recording in another form."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.recording import convert

    with drawn_progress() as progress:
        left_out = convert(
            recording,
            output,
            source=source,
            robot=robot,
            damage="accept" if accept_damage else "refuse",
            progress=progress,
        )
    for kind, count in left_out.items():
        typer.echo(f"left out: {count} {kind}, which the form cannot hold", err=True)
    typer.echo(str(output))
