"""What a validation found, with what it was made of."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from irsim_isaac.map import Occupancy
from irsim_isaac.robot import RobotSpec
from irsim_isaac.validation.comparison import Comparison, Run
from irsim_isaac.validation.scenario import Scenario

if TYPE_CHECKING:
    from irsim_isaac.stage import Consistency

__all__ = ["Validation", "installed_versions"]


@dataclass(frozen=True, slots=True, eq=False)
class Validation:
    """A scenario that was run, and what came of it.

    Attributes:
        scenario: What was asked.
        robot: The robot that was driven.
        start: Where it started: x, y [m] and yaw [rad].
        occupancy: The map of the stage.
        consistency: What a lidar sees and no robot touches in the stage, and the reverse.
        left: What the left simulator did.
        right: What the right simulator did.
        comparison: Where they disagree.
        seconds: How long all of it took [s].
        versions: Of the packages that took part.
    """

    scenario: Scenario
    robot: RobotSpec
    start: tuple[float, float, float]
    occupancy: Occupancy
    consistency: Consistency
    left: Run
    right: Run
    comparison: Comparison
    seconds: float
    versions: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as built-in values that strict JSON holds."""
        report = self.occupancy.report
        return {
            "scenario": {"name": self.scenario.title, **self.scenario.model_dump(mode="json")},
            "start": list(self.start),
            "versions": self.versions,
            "simulated_seconds": self.scenario.steps * self.scenario.step_time,
            "map": {
                "resolution": self.occupancy.resolution,
                "origin": list(self.occupancy.origin),
                "shape": list(self.occupancy.shape),
                "warnings": list(report.warnings),
                "omissions": [
                    {"where": item.where, "kind": item.kind, "reason": item.reason}
                    for item in report.omissions
                ],
            },
            "stage": {
                "seen_only": list(self.consistency.seen_only),
                "touched_only": list(self.consistency.touched_only),
            },
            "comparison": self.comparison.to_dict(),
        }


def installed_versions() -> dict[str, str]:
    """Return the versions of the packages whose figures a report shows, those installed."""
    names = ("irsim-isaac", "ir-sim", "ovphysx", "usd-core", "warp-lang", "numpy", "shapely")
    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
