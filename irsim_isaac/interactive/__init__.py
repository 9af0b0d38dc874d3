"""Rooms, surfaces and items of a stage, and the services that answer for them."""

from irsim_isaac.interactive.observations import Observation
from irsim_isaac.interactive.registry import ServiceRegistry
from irsim_isaac.interactive.services import WorldServices
from irsim_isaac.interactive.store import Appointment, Condition, Log, Slot, Store, Study
from irsim_isaac.interactive.world_file import read_world_model, write_world_model

__all__ = [
    "Appointment",
    "Condition",
    "Log",
    "Observation",
    "ServiceRegistry",
    "Slot",
    "Store",
    "Study",
    "WorldServices",
    "read_world_model",
    "write_world_model",
]
