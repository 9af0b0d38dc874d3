"""Every error that the package raises on purpose.

A message says what was found, what was expected and where. The command line prints it as
one line and exits with 2.
"""

from __future__ import annotations

__all__ = [
    "InteractiveError",
    "IrsimIsaacError",
    "MapFormatError",
    "MirrorError",
    "MissingPackageError",
    "RecordingError",
    "ScanError",
    "ScenarioError",
    "SimulatorError",
    "StageError",
    "StoreError",
]


class IrsimIsaacError(Exception):
    """Base of every error of this package."""


class MissingPackageError(IrsimIsaacError, ImportError):
    """An optional package is not installed.

    Args:
        package: The package that was looked for, by its import name.
        extra: The extra of this project that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"the package '{package}' is not installed; it comes with the extra '{extra}': "
            f"pip install 'irsim-isaac[{extra}]'"
        )
        self.package = package
        self.extra = extra


class RecordingError(IrsimIsaacError):
    """A recording cannot be read or written."""


class ScanError(IrsimIsaacError):
    """Lidar output, a lidar profile or a scan is not what it must be."""


class MapFormatError(IrsimIsaacError, ValueError):
    """A map, a grid or a map file is not what it must be."""


class StageError(IrsimIsaacError):
    """A stage cannot be opened, or does not hold what was asked of it."""


class SimulatorError(IrsimIsaacError):
    """A simulator cannot do what was asked of it."""


class MirrorError(IrsimIsaacError):
    """Two simulators cannot be kept in step."""


class ScenarioError(IrsimIsaacError):
    """A scenario is malformed or cannot be run."""


class InteractiveError(IrsimIsaacError):
    """A question about rooms, surfaces and items cannot be answered."""


class StoreError(IrsimIsaacError):
    """A store cannot be opened, read or written."""
