"""Two simulators kept in step, in either direction."""

from __future__ import annotations

from irsim_isaac.mirror.bindings import (
    Binding,
    Direction,
    PlanarPose,
    bind_by_label,
    bind_by_name,
    bind_by_prim_path,
    bindings_from_config,
)
from irsim_isaac.mirror.mirror import Commands, Counts, Mirror, Policy
from irsim_isaac.mirror.monitor import Apart, Difference, DivergenceMonitor
from irsim_isaac.mirror.resumption import RESUMED, Resumption

__all__ = [
    "RESUMED",
    "Apart",
    "Binding",
    "Commands",
    "Counts",
    "Difference",
    "Direction",
    "DivergenceMonitor",
    "Mirror",
    "PlanarPose",
    "Policy",
    "Resumption",
    "bind_by_label",
    "bind_by_name",
    "bind_by_prim_path",
    "bindings_from_config",
]
