"""Two runs side by side: every figure that a report shows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from irsim_isaac.errors import ScenarioError
from irsim_isaac.map import Occupancy
from irsim_isaac.msg import LaserScan, WorldState
from irsim_isaac.robot import RobotSpec
from irsim_isaac.validation.association import Association, associate
from irsim_isaac.validation.contacts import ContactTimeline
from irsim_isaac.validation.coverage import Coverage, explore
from irsim_isaac.validation.divergence import Cue, Parting, first_divergence
from irsim_isaac.validation.pose_error import (
    PoseError,
    absolute_pose_error,
    relative_pose_error,
)
from irsim_isaac.validation.scan_difference import ScanComparison, compare_scans
from irsim_isaac.validation.scenario import Divergence, Thresholds
from irsim_isaac.validation.trajectory import Trajectory, find_object

__all__ = ["Comparison", "Exceeded", "Run", "compare"]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """What one side did.

    Attributes:
        name: The simulator's name.
        states: Its states, the start first.
        commands: Forward, left [m/s] and counter-clockwise [rad/s] of each step, shape
            (steps, 3).
        seconds: How long it computed [s].
    """

    name: str
    states: tuple[WorldState, ...]
    commands: NDArray[np.float64]
    seconds: float = math.nan


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A threshold that was exceeded.

    Attributes:
        name: Of the threshold.
        value: What was measured.
        limit: The most that was allowed.
    """

    name: str
    value: float
    limit: float

    def __str__(self) -> str:
        return f"{self.name} is {self.value:.4g}, at most {self.limit:.4g} was allowed"


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Where two runs disagree.

    Attributes:
        robot: The robot that was driven.
        left_name: The left simulator.
        right_name: The right simulator.
        association: Which states were compared.
        left: The left poses, pair by pair.
        right: The right poses, pair by pair.
        ape: Absolute pose error.
        ape_aligned: The same after alignment.
        rpe: Relative pose error, state to state.
        rpe_aligned: The same after alignment.
        scans: The scans; None where a side has none.
        contacts: The contacts of the left and the right robot.
        coverage: What each side explored; None without scans or without a map.
        parting: When and why they first parted.
        moved: How far apart each obstacle is at most [m], by name, of those on both sides.
        unmatched: Names of obstacles that one side alone has.
        exceeded: The thresholds that were exceeded.
    """

    robot: str
    left_name: str
    right_name: str
    association: Association
    left: Trajectory
    right: Trajectory
    ape: PoseError
    ape_aligned: PoseError
    rpe: PoseError
    rpe_aligned: PoseError
    scans: ScanComparison | None
    contacts: tuple[ContactTimeline, ContactTimeline]
    coverage: tuple[Coverage, Coverage] | None
    parting: Parting
    moved: Mapping[str, float]
    unmatched: tuple[str, ...]
    exceeded: tuple[Exceeded, ...]

    @property
    def passed(self) -> bool:
        """Whether no threshold was exceeded."""
        return not self.exceeded

    @property
    def explored_overlap(self) -> float | None:
        """Cells that both sides saw over cells that either saw, from 0 to 1."""
        if self.coverage is None:
            return None
        a, b = (side.explored for side in self.coverage)
        either = int((a | b).sum())
        return int((a & b).sum()) / either if either else 1.0

    def figures(self) -> dict[str, float | None]:
        """Return the figures that thresholds are compared with, by their names."""
        scans, coverage = self.scans, self.coverage
        events = [len(side.events) for side in self.contacts]
        return {
            "position_max": self.ape.translation_statistics.max,
            "position_final": float(self.ape.translation[-1]),
            "heading_max": self.ape.rotation_statistics.max,
            "ape_rmse": self.ape.translation_statistics.rmse,
            "ape_rotation_rmse": self.ape.rotation_statistics.rmse,
            "rpe_rmse": self.rpe.translation_statistics.rmse,
            "rpe_rotation_rmse": self.rpe.rotation_statistics.rmse,
            "range_mean": scans.statistics.mean if scans else None,
            "hit_mismatch": (
                (scans.only_left + scans.only_right) / max(1, scans.compared) if scans else None
            ),
            "contact_events": float(abs(events[0] - events[1])),
            "explored": abs(coverage[0].final - coverage[1].final) if coverage else None,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as built-in values that strict JSON holds."""
        position = self.ape.translation
        left, right = self.contacts
        result: dict[str, Any] = {
            "passed": self.passed,
            "robot": self.robot,
            "left": self.left_name,
            "right": self.right_name,
            "states": {
                "left": self.association.left_total,
                "right": self.association.right_total,
                "matched": self.association.matched,
            },
            "figures": self.figures(),
            "exceeded": [
                {"name": item.name, "value": item.value, "limit": item.limit}
                for item in self.exceeded
            ],
            "absolute_pose_error": _pose_error(self.ape, self.ape_aligned),
            "relative_pose_error": _pose_error(self.rpe, self.rpe_aligned),
            "path_length": {"left": self.left.length, "right": self.right.length},
            "first_divergence": {
                "time": self.parting.time,
                "position": self.parting.position,
                "heading": self.parting.heading,
                "cause": self.parting.cause and _cue(self.parting.cause),
                "cues": [_cue(cue) for cue in self.parting.cues],
                "ranges_differ_from": self.parting.ranges,
            },
            "contacts": {"left": _events(left), "right": _events(right)},
            "obstacles": {"apart": dict(self.moved), "on_one_side": list(self.unmatched)},
            "scans": self.scans and _scans(self.scans),
            "explored": None,
            "over_time": {
                "time": self.left.times,
                "position_error": position,
                "heading_error": self.ape.rotation,
                "left": self.left.poses,
                "right": self.right.poses,
                "left_touching": left.touching,
                "right_touching": right.touching,
            },
        }
        if self.coverage is not None:
            sides = dict(zip(("left", "right"), self.coverage, strict=True))
            result["explored"] = {
                **{name: _coverage(side) for name, side in sides.items()},
                "overlap": self.explored_overlap,
            }
            for name, side in sides.items():
                result["over_time"][f"{name}_explored"] = side.share
        plain: dict[str, Any] = _plain(result)
        return plain


def compare(
    left: Run,
    right: Run,
    robot: RobotSpec,
    *,
    occupancy: Occupancy | None = None,
    thresholds: Thresholds | None = None,
    divergence: Divergence | None = None,
    min_matched: float = 0.9,
) -> Comparison:
    """Compare two runs.

    Args:
        left: One side; its scans give the bearings that are compared.
        right: The other side.
        robot: The robot that was driven; its first lidar is the one compared.
        occupancy: The map whose fog the scans lift; None to leave that out.
        thresholds: What may differ.
        divergence: From when on they count as apart.
        min_matched: The least share of states that must find their partner in time.

    Raises:
        ScenarioError: The robot is missing in a state, or too few states match in time.
    """
    stamps = [[state.header.stamp for state in run.states] for run in (left, right)]
    steps = [float(np.median(np.diff(times))) for times in stamps if len(times) > 1]
    association = associate(
        *stamps, tolerance=0.5 * min(steps, default=0.02), min_share=min_matched
    )
    if not association.matched:
        raise ScenarioError("there is no state on both sides at one time; nothing to compare")
    states = (
        [left.states[index] for index in association.left],
        [right.states[index] for index in association.right],
    )
    tracks = [Trajectory.from_states(side, robot.name) for side in states]
    contacts = (
        ContactTimeline.from_states(states[0], robot.name),
        ContactTimeline.from_states(states[1], robot.name),
    )
    reference, estimate = tracks[0].poses, tracks[1].poses
    beams = [_scans_of(side, robot.name) for side in states]
    scans = compare_scans(tracks[0].times, *beams)
    coverage = None
    if occupancy is not None and scans is not None and robot.lidars:
        coverage = (
            explore(occupancy, tracks[0].times, reference, beams[0], robot.lidars[0]),
            explore(occupancy, tracks[1].times, estimate, beams[1], robot.lidars[0]),
        )
    moved, unmatched = _obstacles(*states)
    comparison = Comparison(
        robot=robot.name,
        left_name=left.name,
        right_name=right.name,
        association=association,
        left=tracks[0],
        right=tracks[1],
        ape=absolute_pose_error(reference, estimate),
        ape_aligned=absolute_pose_error(reference, estimate, aligned=True),
        rpe=relative_pose_error(reference, estimate),
        rpe_aligned=relative_pose_error(reference, estimate, aligned=True),
        scans=scans,
        contacts=contacts,
        coverage=coverage,
        parting=first_divergence(
            tracks[0],
            tracks[1],
            limits=divergence,
            contacts=contacts,
            commands=(
                _commands_of(left, association.left),
                _commands_of(right, association.right),
            ),
            scans=scans,
        ),
        moved=moved,
        unmatched=unmatched,
        exceeded=(),
    )
    return _judged(comparison, thresholds or Thresholds())


def _judged(comparison: Comparison, thresholds: Thresholds) -> Comparison:
    figures = comparison.figures()
    exceeded = []
    for name, limit in thresholds.model_dump(exclude_none=True).items():
        value = figures[name]
        if value is None:
            raise ScenarioError(
                f"the threshold '{name}' needs lidar scans on both sides, found none"
            )
        if not value <= limit:
            exceeded.append(Exceeded(name, value, limit))
    fields = {name: getattr(comparison, name) for name in Comparison.__dataclass_fields__}
    return Comparison(**{**fields, "exceeded": tuple(exceeded)})


def _commands_of(run: Run, indices: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the command that led to each state; zero for the start and where none is known."""
    rows = np.zeros((len(run.states), 3))
    rows[1 : 1 + len(run.commands)] = run.commands[: len(rows) - 1]
    return rows[indices]


def _scans_of(states: Sequence[WorldState], robot: str) -> list[LaserScan | None]:
    return [find_object(state, robot).scan for state in states]


def _obstacles(
    left: Sequence[WorldState], right: Sequence[WorldState]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return how far apart obstacles get [m], and the names that one side alone has."""
    apart: dict[str, float] = {}
    alone: set[str] = set()
    for a, b in zip(left, right, strict=True):
        places = [
            {item.name: item.odom.pose.pose.position for item in state.obstacles}
            for state in (a, b)
        ]
        alone |= places[0].keys() ^ places[1].keys()
        for name in places[0].keys() & places[1].keys():
            p, q = places[0][name], places[1][name]
            apart[name] = max(apart.get(name, 0.0), math.hypot(p.x - q.x, p.y - q.y))
    return dict(sorted(apart.items())), tuple(sorted(alone))


def _pose_error(raw: PoseError, aligned: PoseError) -> dict[str, Any]:
    return {
        "translation": raw.translation_statistics.to_dict(),
        "rotation": raw.rotation_statistics.to_dict(),
        "aligned": {
            "translation": aligned.translation_statistics.to_dict(),
            "rotation": aligned.rotation_statistics.to_dict(),
        },
    }


def _cue(cue: Cue) -> dict[str, Any]:
    return {"time": cue.time, "kind": cue.kind, "text": cue.text, "share": cue.share}


def _events(timeline: ContactTimeline) -> list[dict[str, Any]]:
    return [
        {
            "start": event.start,
            "end": event.end,
            "others": list(event.others),
            "max_force": event.max_force,
        }
        for event in timeline.events
    ]


def _scans(scans: ScanComparison) -> dict[str, Any]:
    return {
        "absolute_difference": scans.statistics.to_dict(),
        "compared": scans.compared,
        "only_left_hits": scans.only_left,
        "only_right_hits": scans.only_right,
        "not_measured": scans.not_measured,
        "states_without_scan": scans.skipped,
        "over_time": {
            "time": scans.times,
            "mean": scans.mean,
            "median": scans.median,
            "mismatch": scans.mismatch,
        },
        "over_bearing": {
            "bearing": scans.bearings,
            "mean": scans.bearing_mean,
            "max": scans.bearing_max,
            "mismatch": scans.bearing_mismatch,
        },
    }


def _coverage(side: Coverage) -> dict[str, Any]:
    return {
        "share": side.final,
        "area": float(side.area[-1]),
        "reachable_area": float(side.area[-1]) / side.final if side.final else None,
        "time_to_90": side.time_to(0.9),
        "time_to_99": side.time_to(0.99),
        "states_without_scan": side.skipped,
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what is not finite is null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
