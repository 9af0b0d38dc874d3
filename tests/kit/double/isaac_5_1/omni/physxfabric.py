"""Fabric: what the renderer sees of the bodies."""

from omni.physx import world


class PhysXFabric:
    def update(self, current_time: float, elapsed_secs: float) -> None:
        world.show()


_fabric = PhysXFabric()


def get_physx_fabric_interface() -> PhysXFabric:
    return _fabric
