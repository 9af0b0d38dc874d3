"""Rooms, surfaces and items: the messages, services and actions of ``interactive_world_msgs``."""

from __future__ import annotations

from irsim_isaac.msg.interactive_world.actions import (
    DriveAndSearch,
    DriveToSurface,
    ObjectSearch,
)
from irsim_isaac.msg.interactive_world.segmentation import (
    PointCloud2,
    PointField,
    SegmentedObject,
    SegmentedObjectList,
)
from irsim_isaac.msg.interactive_world.services import (
    FindObservations,
    FindSurface,
    GetSurfaces,
    LearnModels,
    LoadModels,
    Parse,
    SetObservationsRemoved,
    StoreObservation,
    TransformToSurfaceFrame,
)
from irsim_isaac.msg.interactive_world.things import (
    Configuration,
    Item,
    Model,
    Placement,
    PlacementSet,
    PointOfInterest,
    Room,
    Surface,
    TaskModels,
    TaskTrainingData,
)
from irsim_isaac.msg.interactive_world.world_model import (
    Door,
    ItemPlace,
    NavGoal,
    PlacementSurface,
    PoiPlace,
    RoomPlace,
    SurfacePlace,
    WorldModel,
    from_matrix,
    to_matrix,
)

__all__ = [
    "Configuration",
    "Door",
    "DriveAndSearch",
    "DriveToSurface",
    "FindObservations",
    "FindSurface",
    "GetSurfaces",
    "Item",
    "ItemPlace",
    "LearnModels",
    "LoadModels",
    "Model",
    "NavGoal",
    "ObjectSearch",
    "Parse",
    "Placement",
    "PlacementSet",
    "PlacementSurface",
    "PoiPlace",
    "PointCloud2",
    "PointField",
    "PointOfInterest",
    "Room",
    "RoomPlace",
    "SegmentedObject",
    "SegmentedObjectList",
    "SetObservationsRemoved",
    "StoreObservation",
    "Surface",
    "SurfacePlace",
    "TaskModels",
    "TaskTrainingData",
    "TransformToSurfaceFrame",
    "WorldModel",
    "from_matrix",
    "to_matrix",
]
