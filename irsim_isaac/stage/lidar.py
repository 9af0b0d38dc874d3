"""The lidars of a stage."""

from __future__ import annotations

from irsim_isaac.errors import StageError
from irsim_isaac.lidar import LidarProfile
from irsim_isaac.stage.usd import Usd

__all__ = ["lidar_profile"]

_SENSOR = "omni:sensor:"


def lidar_profile(prim: Usd.Prim) -> LidarProfile:
    """Return what an ``OmniLidar`` prim measures, read from its attributes.

    The attributes are those of Isaac Sim 5 and 6; the schema need not be installed. What is
    not authored has the schema's own value. Where the lidar sits is the prim's transform, which
    ``lidar_mounts`` reads.

    Args:
        prim: The prim.

    Raises:
        StageError: The prim has no attribute of a lidar.
        ScanError: An attribute is not what it must be; the message names the prim.
    """
    if not prim:
        raise StageError("the prim does not exist, an OmniLidar was expected")
    attributes = {
        attribute.GetName(): attribute.Get()
        for attribute in prim.GetAttributes()
        if attribute.GetName().startswith(_SENSOR)
    }
    if not any(name.startswith(_SENSOR + "Core:") for name in attributes):
        raise StageError(
            f"{prim.GetPath()}: a prim of type '{prim.GetTypeName()}' without attributes "
            f"'{_SENSOR}Core:...', an OmniLidar was expected"
        )
    return LidarProfile.from_omni_lidar(
        attributes, name=str(prim.GetName()), where=str(prim.GetPath())
    )
