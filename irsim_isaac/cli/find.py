"""``irsim-isaac find``: a robot searches a stage for an item."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from irsim_isaac.cli.exit_codes import BAD_INPUT, EXCEEDED

if TYPE_CHECKING:
    from irsim_isaac.interactive import Search, SearchOutcome
    from irsim_isaac.msg import WorldState

__all__ = ["register"]

_EVERY = 5
"""Steps between two looks of the live display."""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("find")(find)


def find(
    item: Annotated[str, typer.Argument(help="What to search for, such as cup.")],
    scenario: Annotated[str, typer.Argument(help="A scenario: a YAML file, or a bundled name.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")],
    simulator: Annotated[
        str | None, typer.Option(help="The simulator, in place of the scenario's.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(help="The store of observations and models: a file or a URL."),
    ] = None,
    models: Annotated[
        list[int] | None,
        typer.Option("--models", help="A condition of the store whose models tell where to look."),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="How surfaces are ranked: combined, temporal, recency or models."),
    ] = None,
    recording: Annotated[str, typer.Option(help="The form of the recording: mcap or jsonl.")] = (
        "mcap"
    ),
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Search a stage for an item with a robot, the likeliest surface first.

    Writes a recording, a picture and the result. Exits with 1 when the item was not found.
    """
    from irsim_isaac.interactive import load_search_scenario
    from irsim_isaac.kit.script import running_application
    from irsim_isaac.validation import find_scenario

    if recording not in ("mcap", "jsonl"):
        raise typer.BadParameter(f"--recording is '{recording}', mcap or jsonl was expected")
    strategies = ("combined", "temporal", "recency", "models")
    if strategy is not None and strategy not in strategies:
        raise typer.BadParameter(
            f"--strategy is '{strategy}', one of {', '.join(strategies)} was expected"
        )
    loaded = load_search_scenario(find_scenario(scenario)).with_simulator(simulator)
    changes: dict[str, Any] = {}
    if models:
        changes["models"] = models
    if strategy is not None:
        changes["strategy"] = strategy
    loaded = loaded.model_copy(update=changes)
    with running_application({loaded.simulator.simulator}):
        from irsim_isaac.files import writing_directory
        from irsim_isaac.interactive import find as search_for

        with writing_directory(output) as folder:
            with _live(item) as live:
                outcome = search_for(
                    loaded,
                    item,
                    folder,
                    store=store,
                    recording="jsonl" if recording == "jsonl" else "mcap",
                    on_event=live.tell,
                    on_state=live.show,
                    progress=live.progress,
                )
    if json_output:
        typer.echo(json.dumps(outcome.to_dict(), allow_nan=False))
    else:
        _print(outcome, output)
    if outcome.status != "succeeded":
        raise typer.Exit(BAD_INPUT)
    if not outcome.found:
        raise typer.Exit(EXCEEDED)


class _Unseen:
    """Shows nothing."""

    def progress(self, done: int, total: int, what: str) -> None:
        """Show nothing."""

    def tell(self, text: str) -> None:
        """Show nothing."""

    def show(self, search: Search, state: WorldState) -> None:
        """Show nothing."""


class _Live(_Unseen):
    """What happens, as it happens."""

    def __init__(self, item: str, update: Callable[[Any], None]) -> None:
        self._item, self._update = item, update
        self._lines: list[str] = []
        self._steps = 0

    def progress(self, done: int, total: int, what: str) -> None:
        """Say how far the reading of the stage is."""
        from rich.text import Text

        self._update(Text(f"{what}: {done} of {total}"))

    def tell(self, text: str) -> None:
        """Keep the last lines of the story."""
        self._lines = [*self._lines[-7:], text]

    def show(self, search: Search, state: WorldState) -> None:
        """Draw the ranking and the story, now and then."""
        self._steps += 1
        if self._steps % _EVERY:
            return
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(
            title=f"searching the {self._item}, {state.header.stamp:.1f} s", title_justify="left"
        )
        for heading in ("surface", "score", "why"):
            table.add_column(heading, justify="right" if heading == "score" else "left")
        present = search.object_search.current_surface
        for entry in search.outcome.ranking[:8]:
            mark = "> " if entry.name == present else "  "
            table.add_row(Text(mark + entry.name), f"{entry.score:.3f}", Text(entry.why))
        self._update(Group(table, *(Text(line) for line in self._lines)))


@contextmanager
def _live(item: str) -> Iterator[_Unseen]:
    """Give what shows the search on a terminal and nothing elsewhere."""
    if not sys.stderr.isatty():
        yield _Unseen()
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), transient=True) as display:
        yield _Live(item, display.update)


def _print(outcome: SearchOutcome, output: Path) -> None:
    """Print the story in a few lines."""
    for move in outcome.moves:
        typer.echo(f"{move.time:6.1f} s  the {move.item} went from {move.surfaces[0] or 'nowhere'} "
                   f"to {move.surfaces[1]}")  # fmt: skip
    if outcome.ranking:
        likely = ", ".join(f"{entry.name} {entry.score:.3f}" for entry in outcome.ranking[:4])
        typer.echo(f"likeliest: {likely}")
    for surface in outcome.searched[: -1 if outcome.found else None]:
        typer.echo(f"searched {surface}: not there")
    if outcome.found and outcome.position is not None:
        x, y, z = outcome.position
        typer.echo(f"found the {outcome.item} on {outcome.surface} at ({x:.2f}, {y:.2f}, {z:.2f})")
    else:
        typer.echo(f"{outcome.status}: {outcome.text}")
    typer.echo(
        f"{outcome.duration:.1f} s simulated, {outcome.distance:.1f} m driven, "
        f"{outcome.seconds:.1f} s real with {outcome.simulator}"
    )
    typer.echo(f"written to {output}: search.png, search.json and the recording")
