"""``python -m benchmarks [NAME ...] [--json]``: run the benchmarks and print their rows."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import pkgutil
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

import benchmarks
from benchmarks.harness import Row, registry


def _load() -> None:
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name not in {"__main__", "harness"}:
            importlib.import_module(f"benchmarks.{module.name}")


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title="ratio is peer over ours")
    for heading in ("name", "ours [s]", "peer [s]", "ratio", "bar", "value", "peer", "note"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(
            row.name,
            _seconds(row.ours_s),
            _seconds(row.peer_s),
            _seconds(row.ratio),
            _seconds(row.bar),
            "" if row.value is None else f"{row.value:.4g} {row.unit or ''}",
            row.peer or "",
            row.note or "",
        )
    return table


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, or all of them.

    Returns:
        0, or 2 when a name is unknown.
    """
    _load()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(sorted(registry)))
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.names) - set(registry))
    if unknown:
        print(
            f"no benchmark named {', '.join(unknown)}; there are {', '.join(sorted(registry))}",
            file=sys.stderr,
        )
        return 2
    rows: list[Row] = []
    for name in options.names or sorted(registry):
        print(f"running {name}", file=sys.stderr)
        # Peers print as they start; what goes to stdout here is the rows alone.
        with contextlib.redirect_stdout(sys.stderr):
            rows.extend(registry[name]())
    if options.json:
        print(json.dumps([row.to_dict() for row in rows], indent=2))
    else:
        Console().print(_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
