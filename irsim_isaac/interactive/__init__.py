"""Rooms, surfaces and items of a stage, and the services that answer for them."""

from irsim_isaac.interactive.action_registry import ActionRegistry
from irsim_isaac.interactive.goals import (
    Action,
    GoalCancelled,
    GoalHandle,
    GoalStatus,
    TimeIsUp,
)
from irsim_isaac.interactive.navigation import (
    Arrival,
    Navigator,
    PathNavigator,
    Planner,
    Stand,
    plan_path,
)
from irsim_isaac.interactive.observations import Observation
from irsim_isaac.interactive.path_following import PathFollower
from irsim_isaac.interactive.persistence import mean_stay, persistence
from irsim_isaac.interactive.ranking import RankedSurface, Strategy, rank_surfaces
from irsim_isaac.interactive.recogniser import (
    Camera,
    Recogniser,
    Sighting,
    StageRecogniser,
    View,
)
from irsim_isaac.interactive.registry import ServiceRegistry
from irsim_isaac.interactive.services import WorldServices
from irsim_isaac.interactive.sightings import Expected, SightingKeeper
from irsim_isaac.interactive.simulation import Simulation
from irsim_isaac.interactive.store import Appointment, Condition, Log, Slot, Store, Study
from irsim_isaac.interactive.templates import (
    Template,
    TemplateStep,
    Unplaced,
    build_template,
)
from irsim_isaac.interactive.world_file import read_world_model, write_world_model

__all__ = [
    "Action",
    "ActionRegistry",
    "Appointment",
    "Arrival",
    "Camera",
    "Condition",
    "Expected",
    "GoalCancelled",
    "GoalHandle",
    "GoalStatus",
    "Log",
    "Navigator",
    "Observation",
    "PathFollower",
    "PathNavigator",
    "Planner",
    "RankedSurface",
    "Recogniser",
    "ServiceRegistry",
    "Sighting",
    "SightingKeeper",
    "Simulation",
    "Slot",
    "StageRecogniser",
    "Stand",
    "Store",
    "Strategy",
    "Study",
    "Template",
    "TemplateStep",
    "TimeIsUp",
    "Unplaced",
    "View",
    "WorldServices",
    "build_template",
    "mean_stay",
    "persistence",
    "plan_path",
    "rank_surfaces",
    "read_world_model",
    "write_world_model",
]
