"""Rooms, surfaces and items of a stage, and the services that answer for them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from irsim_isaac.interactive.action_registry import ActionRegistry
from irsim_isaac.interactive.actions import (
    DriveAndSearchAction,
    DriveToSurfaceAction,
    ObjectSearchAction,
)
from irsim_isaac.interactive.goals import (
    Action,
    GoalCancelled,
    GoalHandle,
    GoalStatus,
    TimeIsUp,
)
from irsim_isaac.interactive.learner import (
    Cluster,
    Clusters,
    LearnedModels,
    LearnedSet,
    learn_models,
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
from irsim_isaac.interactive.parser import ParsedCondition, Skipped, parse_study
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

if TYPE_CHECKING:
    from irsim_isaac.interactive.search import Look, Move, Search, SearchOutcome, find
    from irsim_isaac.interactive.search_picture import draw_search
    from irsim_isaac.interactive.search_scenario import (
        CameraSettings,
        Event,
        SearchScenario,
        Seen,
        load_search_scenario,
    )

__all__ = [
    "Action",
    "ActionRegistry",
    "Appointment",
    "Arrival",
    "Camera",
    "CameraSettings",
    "Cluster",
    "Clusters",
    "Condition",
    "DriveAndSearchAction",
    "DriveToSurfaceAction",
    "Event",
    "Expected",
    "GoalCancelled",
    "GoalHandle",
    "GoalStatus",
    "LearnedModels",
    "LearnedSet",
    "Log",
    "Look",
    "Move",
    "Navigator",
    "ObjectSearchAction",
    "Observation",
    "ParsedCondition",
    "PathFollower",
    "PathNavigator",
    "Planner",
    "RankedSurface",
    "Recogniser",
    "Search",
    "SearchOutcome",
    "SearchScenario",
    "Seen",
    "ServiceRegistry",
    "Sighting",
    "SightingKeeper",
    "Simulation",
    "Skipped",
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
    "draw_search",
    "find",
    "learn_models",
    "load_search_scenario",
    "mean_stay",
    "parse_study",
    "persistence",
    "plan_path",
    "rank_surfaces",
    "read_world_model",
    "write_world_model",
]

_LATER = {
    **dict.fromkeys(("Look", "Move", "Search", "SearchOutcome", "find"), "search"),
    "draw_search": "search_picture",
    **dict.fromkeys(
        ("CameraSettings", "Event", "SearchScenario", "Seen", "load_search_scenario"),
        "search_scenario",
    ),
}
"""What needs simulators and maps, and is imported when it is first asked for."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
