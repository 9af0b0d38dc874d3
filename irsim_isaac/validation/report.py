"""What a validation leaves behind: one page for people, one file for programs, one picture."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irsim_isaac.errors import MissingPackageError
from irsim_isaac.files import write_bytes, write_text
from irsim_isaac.map import to_occupancy_grid
from irsim_isaac.recording import record
from irsim_isaac.validation import figures
from irsim_isaac.validation.outcome import Validation
from irsim_isaac.validation.pose_error import Statistics

__all__ = ["differences", "require_report_packages", "write_recordings", "write_report"]

_TEMPLATE = Path(__file__).with_name("report.html.j2")


def require_report_packages() -> None:
    """Raise before anything is computed where a report could not be written afterwards.

    Raises:
        MissingPackageError: plotly or jinja2 is not installed.
    """
    figures.import_plotly()
    _environment()


def write_recordings(validation: Validation, directory: Path) -> dict[str, str]:
    """Write ``left.mcap`` and ``right.mcap``: every state of both sides, and the map.

    Args:
        validation: What is kept.
        directory: Where to write.

    Returns:
        What was left out, by file, and why: without the extra ``record`` both are.
    """
    grid = to_occupancy_grid(validation.occupancy, frame_id="world")
    for side, run in (("left", validation.left), ("right", validation.right)):
        try:
            recorder = record(directory / f"{side}.mcap", robots=[validation.robot])
        except MissingPackageError as error:
            return {"left.mcap, right.mcap": str(error)}
        with recorder:
            recorder.write_map(grid)
            for state in run.states:
                recorder.write(state)
    return {}


def write_report(
    validation: Validation, directory: Path, *, left_out: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Write ``report.html``, ``report.json`` and ``overview.png``.

    The page needs no other file and no network. The picture needs matplotlib and is left out
    where that is missing, which ``report.json`` says.

    Args:
        validation: What is told.
        directory: Where to write.
        left_out: Files that are missing beside them, and why.

    Returns:
        What ``report.json`` holds.
    """
    content = validation.to_dict()
    missing = dict(left_out or {})
    try:
        write_bytes(directory / "overview.png", figures.overview_image(validation))
    except MissingPackageError as error:
        missing["overview.png"] = str(error)
    content["left_out"] = missing
    write_text(directory / "report.html", _page(validation, content))
    write_text(directory / "report.json", json.dumps(content, allow_nan=False) + "\n")
    return content


def differences(validation: Validation) -> list[tuple[str, str, str]]:
    """Return the table of differences: what, how much, and what that is worth.

    Args:
        validation: What is told.

    Returns:
        Rows of a name, a value with its unit, and a note.
    """
    comparison = validation.comparison
    ape, turn = comparison.ape.translation_statistics, comparison.ape.rotation_statistics
    relative = comparison.rpe.translation_statistics
    aligned = comparison.ape_aligned.translation_statistics
    parting = comparison.parting
    left, right = comparison.contacts
    rows = [
        (
            "position error, rmse",
            _metres(ape.rmse),
            f"at most {_metres(ape.max)}; aligned {_metres(aligned.rmse)}",
        ),
        ("at the end", _metres(float(comparison.ape.translation[-1])), ""),
        ("heading error, rmse", _degrees(turn.rmse), f"at most {_degrees(turn.max)}"),
        (
            "relative error, rmse",
            _metres(relative.rmse),
            f"a step of {validation.scenario.step_time:g} s",
        ),
    ]
    if parting.cause is None:
        rows.append(("first divergence", "none", "they stay together"))
    else:
        note = f"{parting.cause.share:.0%} from {parting.cause.time:.2f} s on: {parting.cause.text}"
        rows.append(("first divergence", f"{parting.time:.2f} s", note))
    if comparison.scans is not None:
        scans = comparison.scans
        share = (scans.only_left + scans.only_right) / max(1, scans.compared)
        rows.append(
            (
                "ranges, mean difference",
                _metres(scans.statistics.mean),
                f"median {_metres(scans.statistics.median)}; one side alone hits at {share:.2%}",
            )
        )
    rows.append(("contacts", f"{len(left.events)} / {len(right.events)}", "events, left and right"))
    if comparison.coverage is not None:
        a, b = comparison.coverage
        overlap = comparison.explored_overlap
        rows.append(
            (
                "explored",
                f"{a.final:.1%} / {b.final:.1%}",
                f"overlap {overlap:.1%}" if overlap is not None else "",
            )
        )
    return rows


def _environment() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise MissingPackageError("jinja2", "report") from error
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(metres=_metres, degrees=_degrees)
    return environment


def _page(validation: Validation, content: dict[str, Any]) -> str:
    import markupsafe

    plotly = figures.import_plotly()
    template = _environment().from_string(_TEMPLATE.read_text(encoding="utf-8"))
    comparison = validation.comparison
    drawn = {
        "top": figures.top_view_figure(validation),
        "time": figures.time_figure(validation),
        "bearing": figures.bearing_figure(comparison),
        "explored": figures.explored_figure(validation),
    }
    parts = {
        name: markupsafe.Markup(_embedded(figure, name)) if figure is not None else None
        for name, figure in drawn.items()
    }
    page: str = template.render(
        title=validation.scenario.title,
        plotly_js=markupsafe.Markup(plotly.offline.get_plotlyjs()),
        colours={"left": figures.LEFT, "right": figures.RIGHT},
        scenario=validation.scenario,
        robot=validation.robot,
        simulated=content["simulated_seconds"],
        verdict=_verdict(validation),
        cards=_cards(validation),
        parting=comparison.parting,
        limits=validation.scenario.divergence,
        points=720,
        figures=parts,
        pose_rows=_pose_rows(validation),
        matched=comparison.association.matched,
        matchable=min(comparison.association.left_total, comparison.association.right_total),
        path={"left": comparison.left.length, "right": comparison.right.length},
        scan_note=_scan_note(validation),
        explored_note=_explored_note(validation),
        contact_rows=_contact_rows(validation),
        moved=[item for item in comparison.moved.items() if item[1] > 1e-3],
        threshold_rows=_threshold_rows(validation),
        left=_side(validation, "left"),
        right=_side(validation, "right"),
        map=content["map"],
        stage=content["stage"],
        versions=content["versions"],
    )
    return page


def _embedded(figure: Any, name: str) -> str:
    html: str = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=f"figure-{name}",
        auto_play=False,
        config={
            "displaylogo": False,
            "responsive": True,
            "displayModeBar": "hover" if name in ("top", "time") else False,
        },
    )
    return html


def _metres(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    if abs(value) < 1e-3:
        return f"{1e6 * value:.3g} µm" if value else "0 m"
    return f"{1e3 * value:.3g} mm" if abs(value) < 0.1 else f"{value:.3f} m"


def _degrees(value: float) -> str:
    if not math.isfinite(value):
        return "none"
    return f"{math.degrees(value):.3g}°"


def _verdict(validation: Validation) -> dict[str, str]:
    exceeded = validation.comparison.exceeded
    if exceeded:
        count = len(exceeded)
        return {"kind": "bad", "text": f"{count} threshold{'s' * (count > 1)} exceeded"}
    if validation.scenario.thresholds.model_dump(exclude_none=True):
        return {"kind": "good", "text": "within all thresholds"}
    return {"kind": "plain", "text": "no thresholds set"}


def _cards(validation: Validation) -> list[dict[str, str]]:
    return [
        {"label": label[0].upper() + label[1:], "value": value, "note": note}
        for label, value, note in differences(validation)
        if label != "first divergence"
    ]


def _pose_rows(validation: Validation) -> list[dict[str, Any]]:
    comparison = validation.comparison
    rows = []
    for name, error in (
        ("absolute", comparison.ape),
        ("absolute, aligned", comparison.ape_aligned),
        ("relative", comparison.rpe),
        ("relative, aligned", comparison.rpe_aligned),
    ):
        for part, unit, figures_of, scale in (
            ("translation", "m", error.translation_statistics, 1.0),
            ("rotation", "deg", error.rotation_statistics, math.degrees(1)),
        ):
            rows.append({"name": f"{name}, {part} [{unit}]", "values": _figures(figures_of, scale)})
    return rows


def _figures(statistics: Statistics, scale: float) -> list[str]:
    return [
        f"{value * (scale**2 if name == 'sse' else scale):.4g}" if math.isfinite(value) else "none"
        for name, value in statistics.to_dict().items()
    ]


def _scan_note(validation: Validation) -> str:
    scans = validation.comparison.scans
    if scans is None:
        return ""
    return (
        f"{len(scans.bearings)} bearings of {len(scans.times)} scans, resampled by bearing. "
        f"{scans.compared:,} pairs of ranges: {scans.only_left:,} hit on the left alone, "
        f"{scans.only_right:,} on the right alone, {scans.not_measured:,} not measured. It "
        f"includes that the robots are not in one place once they have parted."
    )


def _explored_note(validation: Validation) -> str:
    comparison = validation.comparison
    if comparison.coverage is None:
        return ""
    parts = []
    for name, side in zip(
        (validation.left.name, validation.right.name), comparison.coverage, strict=True
    ):
        ninety = side.time_to(0.9)
        reached = "90 % never" if ninety is None else f"90 % after {ninety:.1f} s"
        parts.append(f"{name} {side.final:.1%} ({side.area[-1]:.1f} m², {reached})")
    overlap = comparison.explored_overlap or 0.0
    return f"{', '.join(parts)}; {overlap:.1%} of what either saw both saw."


def _contact_rows(validation: Validation) -> list[dict[str, Any]]:
    sides = (("left", validation.left.name), ("right", validation.right.name))
    rows = [
        {"side": side, "name": name, "event": event}
        for (side, name), timeline in zip(sides, validation.comparison.contacts, strict=True)
        for event in timeline.events
    ]
    return sorted(rows, key=lambda row: row["event"].start)


def _threshold_rows(validation: Validation) -> list[dict[str, Any]]:
    measured = validation.comparison.figures()
    bad = {item.name for item in validation.comparison.exceeded}
    limits = validation.scenario.thresholds.model_dump(exclude_none=True)
    return [
        {"name": name, "value": measured[name], "limit": limit, "bad": name in bad}
        for name, limit in limits.items()
    ]


def _side(validation: Validation, side: str) -> dict[str, Any]:
    run = getattr(validation, side)
    choice = getattr(validation.scenario, side)
    options = ", ".join(f"{key}: {value}" for key, value in choice.options.items())
    return {
        "side": side,
        "name": run.name,
        "options": options or "none",
        "states": len(run.states),
        "seconds": run.seconds,
    }
