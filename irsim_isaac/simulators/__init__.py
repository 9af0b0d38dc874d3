"""One protocol and everything that speaks it."""

from __future__ import annotations

from irsim_isaac.simulators.irsim import IrsimSimulator
from irsim_isaac.simulators.physx import PhysxSimulator
from irsim_isaac.simulators.protocol import (
    Drive,
    Factory,
    OnStep,
    Simulator,
    StartPose,
    make,
    names,
    register,
    unregister,
)
from irsim_isaac.simulators.recorded import RecordedSimulator
from irsim_isaac.simulators.remote import RemoteSimulator, Resumable
from irsim_isaac.simulators.stage import StageSimulator

__all__ = [
    "Drive",
    "Factory",
    "IrsimSimulator",
    "OnStep",
    "PhysxSimulator",
    "RecordedSimulator",
    "RemoteSimulator",
    "Resumable",
    "Simulator",
    "StageSimulator",
    "StartPose",
    "make",
    "names",
    "register",
    "unregister",
]

register("irsim", IrsimSimulator)
register("physx", PhysxSimulator)
register("recorded", RecordedSimulator)
register("remote", RemoteSimulator)
register("stage", StageSimulator)
