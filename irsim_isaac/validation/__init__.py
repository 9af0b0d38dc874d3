"""Where two simulators disagree: scenarios, metrics, reports."""

from __future__ import annotations

from irsim_isaac.validation.association import Association, associate
from irsim_isaac.validation.comparison import Comparison, Exceeded, Run, compare
from irsim_isaac.validation.contacts import ContactEvent, ContactTimeline, contact_starts
from irsim_isaac.validation.coverage import Coverage, explore
from irsim_isaac.validation.divergence import Cue, Parting, first_divergence
from irsim_isaac.validation.driving import drive
from irsim_isaac.validation.ground import Ground, check_start, prepare
from irsim_isaac.validation.outcome import Validation, installed_versions
from irsim_isaac.validation.pose_error import (
    PoseError,
    Statistics,
    absolute_pose_error,
    align,
    relative_pose_error,
)
from irsim_isaac.validation.pursuit import PurePursuit
from irsim_isaac.validation.report import (
    differences,
    require_report_packages,
    write_recordings,
    write_report,
)
from irsim_isaac.validation.run import driver, make_simulator, validate
from irsim_isaac.validation.scan_difference import (
    ScanComparison,
    ScanDifference,
    bearings_of,
    compare_scans,
    resample_ranges,
    scan_difference,
)
from irsim_isaac.validation.scenario import (
    Divergence,
    MapSettings,
    MirrorSettings,
    RobotChoice,
    Scenario,
    SimulatorChoice,
    Thresholds,
    WayPoints,
    find_scenario,
    load_scenario,
)
from irsim_isaac.validation.trajectory import Trajectory, find_object, wrap_angle

__all__ = [
    "Association",
    "Comparison",
    "ContactEvent",
    "ContactTimeline",
    "Coverage",
    "Cue",
    "Divergence",
    "Exceeded",
    "Ground",
    "MapSettings",
    "MirrorSettings",
    "Parting",
    "PoseError",
    "PurePursuit",
    "RobotChoice",
    "Run",
    "ScanComparison",
    "ScanDifference",
    "Scenario",
    "SimulatorChoice",
    "Statistics",
    "Thresholds",
    "Trajectory",
    "Validation",
    "WayPoints",
    "absolute_pose_error",
    "align",
    "associate",
    "bearings_of",
    "check_start",
    "compare",
    "compare_scans",
    "contact_starts",
    "differences",
    "drive",
    "driver",
    "explore",
    "find_object",
    "find_scenario",
    "first_divergence",
    "installed_versions",
    "load_scenario",
    "make_simulator",
    "prepare",
    "relative_pose_error",
    "require_report_packages",
    "resample_ranges",
    "scan_difference",
    "validate",
    "wrap_angle",
    "write_recordings",
    "write_report",
]
