"""The figures of a report, as plotly draws them in a page and matplotlib on paper."""

from __future__ import annotations

import base64
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from irsim_isaac.errors import MissingPackageError
from irsim_isaac.map import Occupancy
from irsim_isaac.msg import LaserScan
from irsim_isaac.robot import LidarMount, RobotSpec
from irsim_isaac.validation.comparison import Comparison
from irsim_isaac.validation.coverage import Coverage
from irsim_isaac.validation.outcome import Validation
from irsim_isaac.validation.scan_difference import bearings_of
from irsim_isaac.validation.trajectory import find_object

__all__ = [
    "LEFT",
    "RIGHT",
    "bearing_figure",
    "explored_figure",
    "import_plotly",
    "overview_image",
    "time_figure",
    "top_view_figure",
]

LEFT = "#1f6fd6"
RIGHT = "#e4572e"
INK = "#1c2330"
MUTED = "#667085"
GRID = "#e6e9ef"

_MOMENTS = 25
_POINTS = 720
_SAMPLES = 4000
_COLOURS = {100: (58, 65, 80), 0: (255, 255, 255), -1: (214, 219, 228)}


def import_plotly() -> Any:
    """Return plotly, or say which extra brings it."""
    try:
        import plotly.graph_objects
        import plotly.offline
        import plotly.subplots
    except ImportError as error:
        raise MissingPackageError("plotly", "report") from error
    return plotly


def top_view_figure(validation: Validation) -> Any:
    """Draw the map, both tracks, and the robots and scans at moments of the run."""
    go = import_plotly().graph_objects
    comparison, occupancy = validation.comparison, validation.occupancy
    figure = go.Figure()
    figure.add_layout_image(_image(occupancy, _shades(occupancy)))
    sides = (
        (validation.left.name, LEFT, comparison.left, "solid"),
        (validation.right.name, RIGHT, comparison.right, "dash"),
    )
    for name, colour, track, dash in sides:
        rows = _thinned(len(track))
        figure.add_scatter(
            x=_short(track.poses[rows, 0]),
            y=_short(track.poses[rows, 1]),
            mode="lines",
            name=f"{name}: path",
            line={"color": colour, "width": 2.5, "dash": dash},
            hovertemplate="%{x:.3f}, %{y:.3f} m<extra>" + name + "</extra>",
        )
    for name, side, points in _pushed(validation):
        figure.add_scatter(
            x=_short(points[:, 0]),
            y=_short(points[:, 1]),
            mode="lines",
            name=f"{sides[side][0]}: {name}",
            line={"color": sides[side][1], "width": 1.5, "dash": "dot"},
            hovertemplate=f"{name}: %{{x:.3f}}, %{{y:.3f}} m<extra>{sides[side][0]}</extra>",
        )
    first = len(figure.data)
    moments = np.unique(np.linspace(0, len(comparison.left) - 1, _MOMENTS).round().astype(int))
    shown = len(moments) // 2
    frames: list[Any] = []
    steps: list[dict[str, Any]] = []
    for moment in moments.tolist():
        stamp = f"{comparison.left.times[moment]:.1f}"
        traces = [
            trace
            for side in range(2)
            for trace in _moment_traces(go, validation, side, moment, sides[side])
        ]
        if moment == moments[shown]:
            figure.add_traces(traces)
        frames.append(go.Frame(name=stamp, data=traces, traces=[*range(first, first + 4)]))
        options = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}}
        steps.append({"label": stamp, "method": "animate", "args": [[stamp], options]})
    figure.frames = frames
    _style(figure, height=640)
    figure.update_layout(
        sliders=[
            {
                "steps": steps,
                "active": shown,
                "currentvalue": {"prefix": "robots and scans at ", "suffix": " s"},
                "pad": {"t": 36, "b": 4},
                "bgcolor": GRID,
                "bordercolor": GRID,
                "activebgcolor": MUTED,
                "font": {"size": 11, "color": MUTED},
            }
        ],
        legend={
            "orientation": "h",
            "y": 1.02,
            "yanchor": "bottom",
            "x": 0,
            "itemsizing": "constant",
        },
        margin={"l": 56, "r": 16, "t": 40, "b": 40},
    )
    _map_axes(figure, occupancy)
    return figure


def time_figure(validation: Validation) -> Any:
    """Draw what differs over time: position, heading, ranges, contacts, explored area."""
    plotly = import_plotly()
    comparison = validation.comparison
    times = comparison.left.times
    rows = _thinned(len(times))
    titles = ["Distance between the robots [m]", "Angle between the headings [deg]"]
    if comparison.scans is not None:
        titles.append("Difference of ranges [m]")
    titles.append("Contacts")
    if comparison.coverage is not None:
        titles.append("Explored share of the reachable area [%]")
    heights = [0.4 if title == "Contacts" else 1.0 for title in titles]
    figure = plotly.subplots.make_subplots(
        rows=len(titles),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.055,
        subplot_titles=titles,
        row_heights=heights,
    )
    _line(figure, 1, times[rows], comparison.ape.translation[rows], "distance", INK)
    _line(figure, 2, times[rows], np.degrees(comparison.ape.rotation[rows]), "angle", INK)
    row = 3
    if comparison.scans is not None:
        scans = comparison.scans
        picked = _thinned(len(scans.times))
        _line(figure, row, scans.times[picked], scans.mean[picked], "mean of a scan", "#6d4bc3")
        _line(figure, row, scans.times[picked], scans.median[picked], "median of a scan", "#12877f")
        row += 1
    _contact_bars(figure, row, validation)
    if comparison.coverage is not None:
        row += 1
        for name, colour, side in zip(
            (validation.left.name, validation.right.name),
            (LEFT, RIGHT),
            comparison.coverage,
            strict=True,
        ):
            _line(figure, row, times[rows], 100 * side.share[rows], f"{name}: explored", colour)
    if comparison.parting.time is not None:
        figure.add_vline(
            x=comparison.parting.time, line={"color": "#b42318", "width": 1.2, "dash": "dot"}
        )
    _style(figure, height=180 * len(titles) + 60)
    figure.update_xaxes(range=[float(times[0]), float(max(times[-1], times[0] + 1e-6))])
    figure.update_xaxes(title_text="time [s]", row=len(titles), col=1)
    figure.update_annotations(font={"size": 12.5, "color": INK}, xanchor="left", x=0)
    figure.update_layout(
        showlegend=True,
        legend={"orientation": "h", "y": -0.06, "yanchor": "top", "x": 0},
        margin={"l": 64, "r": 16, "t": 32, "b": 40},
        hovermode="x unified",
    )
    return figure


def bearing_figure(comparison: Comparison) -> Any:
    """Draw the difference of ranges at each bearing of the lidar, forward being up."""
    go = import_plotly().graph_objects
    scans = comparison.scans
    if scans is None:
        return None
    figure = go.Figure()
    bearings = np.degrees(scans.bearings)
    for values, name, colour in (
        (scans.bearing_max, "greatest", "#d6c8f5"),
        (scans.bearing_mean, "mean", "#6d4bc3"),
    ):
        angles, radii = _binned(bearings, values)
        figure.add_scatterpolar(
            theta=_short(angles),
            r=_short(radii),
            mode="lines",
            name=f"{name} [m]",
            line={"color": colour, "width": 1.4},
            fill="toself",
            hovertemplate="%{theta:.1f}°: %{r:.3f} m<extra>" + name + "</extra>",
        )
    _style(figure, height=420)
    figure.update_layout(
        polar={
            "angularaxis": {"rotation": 90, "direction": "counterclockwise", "gridcolor": GRID},
            "radialaxis": {"gridcolor": GRID, "angle": 0, "ticksuffix": " m"},
            "bgcolor": "white",
        },
        legend={"orientation": "h", "y": -0.08, "x": 0.5, "xanchor": "center"},
        margin={"l": 40, "r": 40, "t": 24, "b": 40},
    )
    return figure


def explored_figure(validation: Validation) -> Any:
    """Draw which cells both sides, one side or none explored."""
    go = import_plotly().graph_objects
    coverage = validation.comparison.coverage
    if coverage is None:
        return None
    figure = go.Figure()
    occupancy = validation.occupancy
    figure.add_layout_image(_image(occupancy, _explored_shades(occupancy, coverage)))
    for name, colour in (
        ("both", "#bfe3d0"),
        (f"{validation.left.name} alone", "#8fbcf2"),
        (f"{validation.right.name} alone", "#f5ab95"),
        ("none, reachable", "#f3e6b3"),
    ):
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            name=name,
            marker={"symbol": "square", "size": 12, "color": colour},
        )
    _style(figure, height=420)
    figure.update_layout(
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        margin={"l": 48, "r": 16, "t": 48, "b": 40},
    )
    _map_axes(figure, occupancy)
    return figure


def overview_image(validation: Validation) -> bytes:
    """Draw the top view and the errors over time as one PNG."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackageError("matplotlib", "irsim") from error
    comparison, occupancy = validation.comparison, validation.occupancy
    figure = Figure(figsize=(13.0, 6.0), dpi=110, facecolor="white", layout="constrained")
    canvas = FigureCanvasAgg(figure)
    grid = figure.add_gridspec(3, 2, width_ratios=(1.9, 1.0))
    top = figure.add_subplot(grid[:, 0])
    x_min, y_min, x_max, y_max = _extent(occupancy)
    top.imshow(_shades(occupancy), extent=(x_min, x_max, y_min, y_max), interpolation="nearest")
    moment = len(comparison.left) // 2
    for side, (name, colour, track) in enumerate(
        (
            (validation.left.name, LEFT, comparison.left),
            (validation.right.name, RIGHT, comparison.right),
        )
    ):
        points, outline = _at_moment(validation, side, moment)
        dash = "-" if side == 0 else (0, (5, 3))
        top.plot(points[:, 0], points[:, 1], ".", ms=2.2, color=colour, alpha=0.55)
        top.plot(*track.poses[:, :2].T, color=colour, lw=2.0, ls=dash, label=name)
        for _, where, places in _pushed(validation):
            if where == side:
                top.plot(places[:, 0], places[:, 1], ":", color=colour, lw=1.4)
        top.fill(outline[:, 0], outline[:, 1], fc=colour, ec="white", lw=0.8, alpha=0.9, zorder=4)
    top.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    top.set(xlim=(x_min, x_max), ylim=(y_min, y_max))
    top.set_title(
        f"{validation.scenario.title}: {validation.left.name} beside {validation.right.name}, "
        f"scans at {comparison.left.times[moment]:.1f} s",
        loc="left",
        fontsize=11,
        color=INK,
    )
    top.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, frameon=False, borderaxespad=0.2
    )
    times = comparison.left.times
    rows: list[tuple[str, NDArray[np.float64], NDArray[np.float64]]] = [
        ("distance [m]", times, comparison.ape.translation),
        ("heading [deg]", times, np.degrees(comparison.ape.rotation)),
    ]
    if comparison.scans is not None:
        rows.append(("ranges, mean [m]", comparison.scans.times, comparison.scans.mean))
    for index, (label, stamps, values) in enumerate(rows):
        axes = figure.add_subplot(grid[index, 1])
        axes.plot(stamps, values, color=INK, lw=1.4)
        axes.set_title(label, loc="left", fontsize=10, color=INK)
        axes.grid(color=GRID)
        axes.set_axisbelow(True)
        axes.set_xlim(float(times[0]), float(max(times[-1], times[0] + 1e-6)))
        axes.set_ylim(bottom=0)
        for spine in ("top", "right"):
            axes.spines[spine].set_visible(False)
        if comparison.parting.time is not None:
            axes.axvline(comparison.parting.time, color="#b42318", lw=1, ls=":")
        if index == len(rows) - 1:
            axes.set_xlabel("time [s]")
    buffer = io.BytesIO()
    canvas.print_png(buffer, metadata={"Software": None})
    return buffer.getvalue()


def _extent(occupancy: Occupancy) -> tuple[float, float, float, float]:
    x, y, _ = occupancy.origin
    return x, y, x + occupancy.width, y + occupancy.height


def _shades(occupancy: Occupancy) -> NDArray[np.uint8]:
    """Return the map as an image, its first row the greatest y."""
    cells = occupancy.cells
    image = np.full((*cells.shape, 3), _COLOURS[0], np.uint8)
    image[cells < 0] = _COLOURS[-1]
    image[cells > 50] = _COLOURS[100]
    return _upright(image)


def _explored_shades(
    occupancy: Occupancy, coverage: tuple[Coverage, Coverage]
) -> NDArray[np.uint8]:
    a, b = (side.explored for side in coverage)
    image = np.full((*occupancy.cells.shape, 3), (244, 245, 248), np.uint8)
    image[coverage[0].reachable | coverage[1].reachable] = (243, 230, 179)
    image[a & b] = (191, 227, 208)
    image[a & ~b] = (143, 188, 242)
    image[b & ~a] = (245, 171, 149)
    image[occupancy.cells > 50] = _COLOURS[100]
    return _upright(image)


def _upright(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(image.transpose(1, 0, 2)[::-1])


def _image(occupancy: Occupancy, shades: NDArray[np.uint8]) -> dict[str, Any]:
    buffer = io.BytesIO()
    Image.fromarray(shades).save(buffer, format="PNG", optimize=True)
    x_min, y_min, x_max, y_max = _extent(occupancy)
    return {
        "source": "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode(),
        "xref": "x",
        "yref": "y",
        "x": x_min,
        "y": y_max,
        "sizex": x_max - x_min,
        "sizey": y_max - y_min,
        "sizing": "stretch",
        "layer": "below",
    }


def _map_axes(figure: Any, occupancy: Occupancy) -> None:
    x_min, y_min, x_max, y_max = _extent(occupancy)
    axis = {"showgrid": False, "zeroline": False, "constrain": "domain"}
    figure.update_xaxes(range=[x_min, x_max], title_text="x [m]", **axis)
    figure.update_yaxes(range=[y_min, y_max], title_text="y [m]", scaleanchor="x", **axis)


def _style(figure: Any, *, height: int) -> None:
    figure.update_layout(
        template="plotly_white",
        height=height,
        font={"family": "Inter, 'Segoe UI', Roboto, sans-serif", "size": 12.5, "color": INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="white",
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": "#c3c9d4", "activecolor": MUTED},
    )
    figure.update_xaxes(gridcolor=GRID, linecolor=GRID)
    figure.update_yaxes(gridcolor=GRID, linecolor=GRID)


def _line(
    figure: Any,
    row: int,
    times: NDArray[np.float64],
    values: NDArray[np.float64],
    name: str,
    colour: str,
) -> None:
    figure.add_scatter(
        x=_short(times),
        y=_short(values, 6),
        mode="lines",
        name=name,
        line={"color": colour, "width": 1.8},
        hovertemplate="%{y:.4g}",
        row=row,
        col=1,
    )


def _contact_bars(figure: Any, row: int, validation: Validation) -> None:
    step = validation.scenario.step_time
    for name, colour, timeline in zip(
        (validation.left.name, validation.right.name),
        (LEFT, RIGHT),
        validation.comparison.contacts,
        strict=True,
    ):
        events = timeline.events
        figure.add_bar(
            y=[name] * max(1, len(events)),
            x=[event.end - event.start + step for event in events] or [0],
            base=[event.start for event in events] or [0],
            orientation="h",
            width=0.5,
            name=f"{name}: contacts",
            marker={"color": colour},
            customdata=[", ".join(event.others) or "unnamed" for event in events] or [""],
            hovertemplate="%{base:.2f} s: %{customdata}<extra>" + name + "</extra>",
            showlegend=False,
            row=row,
            col=1,
        )
    figure.update_yaxes(autorange="reversed", row=row, col=1)


def _moment_traces(
    go: Any, validation: Validation, side: int, moment: int, look: tuple[str, str, Any, str]
) -> list[Any]:
    name, colour, _, _ = look
    points, outline = _at_moment(validation, side, moment)
    return [
        go.Scatter(
            x=_short(points[:, 0]),
            y=_short(points[:, 1]),
            mode="markers",
            name=f"{name}: scan",
            marker={"color": colour, "size": 3.2, "opacity": 0.65},
            hoverinfo="skip",
        ),
        go.Scatter(
            x=_short(outline[:, 0]),
            y=_short(outline[:, 1]),
            mode="lines",
            name=f"{name}: robot",
            fill="toself",
            line={"color": colour, "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
        ),
    ]


def _pushed(validation: Validation) -> list[tuple[str, int, NDArray[np.float64]]]:
    """Return the paths of obstacles that end apart: name, side and places [m], shape (n, 2)."""
    paths = []
    for name, distance in validation.comparison.moved.items():
        if distance <= 1e-3:
            continue
        for side, run in enumerate((validation.left, validation.right)):
            places = [find_object(state, name).odom.pose.pose.position for state in run.states]
            points = np.array([(place.x, place.y) for place in places])
            paths.append((name, side, points[_thinned(len(points))]))
    return paths


def _at_moment(
    validation: Validation, side: int, moment: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what a robot's lidar hit [m], shape (n, 2), and its outline [m], shape (m, 2)."""
    comparison, robot = validation.comparison, validation.robot
    run = (validation.left, validation.right)[side]
    index = (comparison.association.left, comparison.association.right)[side][moment]
    pose = (comparison.left, comparison.right)[side].poses[moment]
    scan = find_object(run.states[index], robot.name).scan
    points = np.zeros((0, 2))
    if scan is not None and robot.lidars:
        points = _hits(scan, pose, robot.lidars[0])
    return points, _placed(_outline(robot), pose)


def _hits(scan: LaserScan, pose: NDArray[np.float64], mount: LidarMount) -> NDArray[np.float64]:
    ranges = np.asarray(scan.ranges, float)
    rows = np.flatnonzero(np.isfinite(ranges))
    rows = rows[:: max(1, math.ceil(len(rows) / _POINTS))]
    angles = bearings_of(scan)[rows] + mount.yaw
    local = ranges[rows, None] * np.column_stack((np.cos(angles), np.sin(angles)))
    return _placed(local + np.array((mount.x, mount.y)), pose)


def _outline(robot: RobotSpec) -> NDArray[np.float64]:
    """Return the footprint, closed, with a mark where its front is, shape (m, 2)."""
    if isinstance(robot.footprint, tuple):
        corners = np.array(robot.footprint, float)
        return np.vstack((corners, corners[:1]))
    angles = np.linspace(0, 2 * np.pi, 33)
    ring = robot.footprint * np.column_stack((np.cos(angles), np.sin(angles)))
    return np.vstack((ring, [(0.0, 0.0)], ring[:1]))


def _placed(points: NDArray[np.float64], pose: NDArray[np.float64]) -> NDArray[np.float64]:
    c, s = math.cos(pose[2]), math.sin(pose[2])
    placed: NDArray[np.float64] = points @ np.array([[c, s], [-s, c]]) + pose[:2]
    return placed


def _thinned(count: int) -> NDArray[np.int64]:
    """Return indices to draw, the last one among them."""
    return np.unique(np.linspace(0, count - 1, min(count, _SAMPLES)).round().astype(np.int64))


def _binned(
    bearings: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the greatest value of each half degree, so that no peak is lost."""
    if len(bearings) <= _POINTS:
        return bearings, np.nan_to_num(values)
    bins = np.floor(bearings * 2).astype(np.int64)
    names, where = np.unique(bins, return_inverse=True)
    greatest = np.zeros(len(names))
    np.maximum.at(greatest, where, np.nan_to_num(values))
    return (names + 0.5) / 2, greatest


def _short(values: NDArray[np.float64], digits: int = 4) -> NDArray[np.float32]:
    """Return values rounded to what a screen shows, to keep the page small."""
    return np.round(values, digits).astype(np.float32)
