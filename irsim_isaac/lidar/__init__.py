"""RTX lidar output to LaserScan, lidar profiles, ray casting."""

from __future__ import annotations

from irsim_isaac.lidar.emitters import EmitterState
from irsim_isaac.lidar.profile import LidarProfile, lidar_profiles

__all__ = ["EmitterState", "LidarProfile", "lidar_profiles"]
