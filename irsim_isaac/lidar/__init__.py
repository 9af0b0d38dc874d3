"""RTX lidar output to LaserScan, lidar profiles, ray casting."""

from __future__ import annotations

from irsim_isaac.lidar.assembler import ScanAssembler
from irsim_isaac.lidar.check import check_scan
from irsim_isaac.lidar.emitters import EmitterState
from irsim_isaac.lidar.frames import frame_files, profile_beside, read_frames, write_frames
from irsim_isaac.lidar.generic_model_output import (
    VALID,
    AuxType,
    CoordsType,
    FrameAtTime,
    FrameOfReference,
    GenericModelOutput,
    Modality,
    MotionCompensationState,
)
from irsim_isaac.lidar.grid_casting import GridCaster
from irsim_isaac.lidar.isaac_producers import (
    ScanMetadata,
    array_message,
    graph_message,
    srtx_message,
)
from irsim_isaac.lidar.laser_scan_message import (
    Ros2LaserScanMessage,
    Ros2LaserScanMessageImpl,
    Ros2Message,
)
from irsim_isaac.lidar.other_sources import (
    gmo_from_scan_buffer,
    scan_from_flat_scan,
    scan_from_raycast,
    scan_from_rotating_lidar,
)
from irsim_isaac.lidar.profile import LidarProfile, lidar_profiles
from irsim_isaac.lidar.ray_casting import (
    MovingBody,
    RayCaster,
    measured,
    pose_matrix,
    sensor_beams,
)
from irsim_isaac.lidar.returns import ReturnSelection, Strategy
from irsim_isaac.lidar.scan import Producer, scan_from_gmo

__all__ = [
    "VALID",
    "AuxType",
    "CoordsType",
    "EmitterState",
    "FrameAtTime",
    "FrameOfReference",
    "GenericModelOutput",
    "GridCaster",
    "LidarProfile",
    "Modality",
    "MotionCompensationState",
    "MovingBody",
    "Producer",
    "RayCaster",
    "ReturnSelection",
    "Ros2LaserScanMessage",
    "Ros2LaserScanMessageImpl",
    "Ros2Message",
    "ScanAssembler",
    "ScanMetadata",
    "Strategy",
    "array_message",
    "check_scan",
    "frame_files",
    "gmo_from_scan_buffer",
    "graph_message",
    "lidar_profiles",
    "measured",
    "pose_matrix",
    "profile_beside",
    "read_frames",
    "scan_from_flat_scan",
    "scan_from_gmo",
    "scan_from_raycast",
    "scan_from_rotating_lidar",
    "sensor_beams",
    "srtx_message",
    "write_frames",
]
