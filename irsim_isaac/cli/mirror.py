"""``irsim-isaac mirror``: two simulators of one scenario kept in step, as a live table."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from irsim_isaac.cli.exit_codes import EXCEEDED
from irsim_isaac.cli.options import LeftSimulator, RightSimulator, ScenarioName
from irsim_isaac.cli.progress import drawn_progress

if TYPE_CHECKING:
    from irsim_isaac.mirror import Direction, Mirror
    from irsim_isaac.validation import Scenario

__all__ = ["register"]

_EVERY = 5
"""Steps between two looks of the live table."""


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("mirror")(mirror)


def mirror(
    scenario: ScenarioName,
    direction: Annotated[
        str | None,
        typer.Option(
            help="follow: left drives right; lead: right drives left; beside: same commands to "
            "both; in place of the scenario's."
        ),
    ] = None,
    left: LeftSimulator = None,
    right: RightSimulator = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="How many steps, in place of the scenario's.")
    ] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Keep the simulators of a scenario in step and watch how far they are apart.

    Exits with 1 when the scenario's position_max or heading_max is exceeded.
    """
    from irsim_isaac.kit.script import running_application
    from irsim_isaac.validation import find_scenario, load_scenario

    if direction not in (None, "follow", "lead", "beside"):
        raise typer.BadParameter(
            f"--direction is '{direction}', follow, lead or beside was expected"
        )
    loaded = load_scenario(find_scenario(scenario)).with_simulators(left, right)
    with (
        running_application({loaded.left.simulator, loaded.right.simulator}),
        _mirrored(loaded, direction or loaded.mirror.direction) as kept,
    ):
        count = steps or loaded.steps
        with _live_table(kept) as show:
            for step in range(count):
                kept.run(1)
                if (step + 1) % _EVERY == 0:
                    show()
        content = _content(kept)
    exceeded = _exceeded(loaded, content)
    content["exceeded"] = exceeded
    if json_output:
        typer.echo(json.dumps(content, allow_nan=False))
    else:
        _print(kept, content)
    if exceeded:
        raise typer.Exit(EXCEEDED)


@contextmanager
def _mirrored(scenario: Scenario, direction: str) -> Iterator[Mirror]:
    """Give a started mirror of a scenario's simulators."""
    from irsim_isaac.mirror import DivergenceMonitor, Mirror
    from irsim_isaac.validation import driver, make_simulator, prepare

    limits = scenario.divergence
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with drawn_progress() as progress:
            ground = prepare(scenario, progress=progress)
        world = ground.world.save(folder)
        sides = []
        for choice in (scenario.left, scenario.right):
            simulator = make_simulator(choice, scenario, ground, world)
            stack.callback(simulator.close)
            sides.append(simulator)
        mirror = Mirror(
            sides[0],
            sides[1],
            bindings=scenario.mirror.bound,
            direction=cast("Direction", direction),
            policy=scenario.mirror.policy,
            monitor=DivergenceMonitor(position=limits.position, heading=limits.heading),
            commands=driver(scenario, ground),
        )
        mirror.start(scenario.seed)
        yield mirror


@contextmanager
def _live_table(mirror: Mirror) -> Iterator[Callable[[], None]]:
    """Give a function that redraws the table on a terminal and does nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(_table(mirror), console=Console(stderr=True), transient=True) as live:
        yield lambda: live.update(_table(mirror))


def _table(mirror: Mirror) -> Any:
    from rich.markup import escape
    from rich.table import Table

    monitor = mirror.monitor
    table = Table(
        title=f"{mirror.left.name} {_ARROWS[mirror.direction]} {mirror.right.name}, "
        f"{mirror.left.time:.2f} s",
        title_justify="left",
    )
    for heading in ("object", "left x, y, yaw", "right x, y, yaw", "apart [m]", "turned [rad]"):
        # Units in brackets are text and no markup.
        table.add_column(escape(heading), justify="left" if heading == "object" else "right")
    for name, item in sorted(monitor.present.items()) if monitor is not None else ():
        table.add_row(
            escape(name),
            "{:.3f}, {:.3f}, {:.3f}".format(*item.left),
            "{:.3f}, {:.3f}, {:.3f}".format(*item.right),
            f"{item.position:.3g}",
            f"{item.heading:.3g}",
        )
    return table


_ARROWS = {"follow": "→", "lead": "←", "beside": "beside"}


def _content(mirror: Mirror) -> dict[str, Any]:
    monitor, counts = mirror.monitor, mirror.counts
    objects = {}
    for name, item in sorted(monitor.present.items()) if monitor is not None else ():
        most = monitor.greatest[name] if monitor is not None else (0.0, 0.0)
        objects[name] = {
            "left": list(item.left),
            "right": list(item.right),
            "position": item.position,
            "heading": item.heading,
            "position_max": most[0],
            "heading_max": most[1],
        }
    return {
        "direction": mirror.direction,
        "left": mirror.left.name,
        "right": mirror.right.name,
        "time": mirror.left.time,
        "robots": sorted(mirror.left.robots),
        "objects": objects,
        "divergences": monitor.count if monitor is not None else 0,
        "counts": {
            "steps": counts.steps,
            "writes": counts.writes,
            "repeated": counts.repeated,
            "skipped": counts.skipped,
            "backwards": counts.backwards,
            "late": counts.late,
            "held": counts.held,
            "new": sorted(counts.new),
            "vanished": sorted(counts.vanished),
            "drifted": dict(sorted(counts.drifted.items())),
        },
    }


def _exceeded(scenario: Scenario, content: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the robots that were farther apart than the scenario allows."""
    limits = scenario.thresholds
    return [
        {"object": name, "name": key, "value": item[key], "limit": limit}
        for name, item in content["objects"].items()
        for key, limit in (
            ("position_max", limits.position_max),
            ("heading_max", limits.heading_max),
        )
        if limit is not None and item[key] > limit and name in content["robots"]
    ]


def _print(mirror: Mirror, content: dict[str, Any]) -> None:
    from rich.console import Console

    Console().print(_table(mirror))
    counts = content["counts"]
    typer.echo(
        f"{counts['steps']} steps, {counts['writes']} objects moved, "
        f"{content['divergences']} times apart"
    )
    for name, distance in counts["drifted"].items():
        typer.echo(f"{name} stands {distance:.4g} m from its other self")
    for item in content["exceeded"]:
        typer.echo(
            f"exceeded: {item['name']} of {item['object']} is {item['value']:.4g}, at most "
            f"{item['limit']:.4g} was allowed"
        )
