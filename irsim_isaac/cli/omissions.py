"""What a command left out, in its JSON and in its last lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from irsim_isaac.map import BuildReport

__all__ = ["count_omissions", "omission_rows"]


def omission_rows(report: BuildReport) -> list[dict[str, str]]:
    """Return the omissions of a report as JSON has them."""
    return [
        {"where": entry.where, "kind": entry.kind, "reason": entry.reason}
        for entry in report.omissions
    ]


def count_omissions(summary: dict[str, Any]) -> None:
    """Print the warnings of a summary, and how many of each kind were left out."""
    for warning in summary["warnings"]:
        typer.echo(f"warning: {warning}")
    rows: Sequence[dict[str, str]] = summary["omissions"]
    counts = Counter(row["kind"] for row in rows)
    for kind, count in sorted(counts.items()):
        typer.echo(f"left out: {count} ({kind}); --json names them")
