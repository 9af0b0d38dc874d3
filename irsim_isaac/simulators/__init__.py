"""One protocol and everything that speaks it."""

from __future__ import annotations

from irsim_isaac.simulators.protocol import (
    Drive,
    Factory,
    OnStep,
    Simulator,
    StartPose,
    make,
    names,
    register,
)

__all__ = ["Drive", "Factory", "OnStep", "Simulator", "StartPose", "make", "names", "register"]
