"""RTX lidar output to LaserScan, lidar profiles, ray casting."""

from __future__ import annotations

from irsim_isaac.lidar.profile import EmitterState, LidarProfile

__all__ = ["EmitterState", "LidarProfile"]
