"""PhysX: the contacts of the last step."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import physics_schema_tools
from physics_schema_tools import sdfPathToInt

from tests.kit.physics import World

world = World()

# Kit's own pxr has it.
sys.modules["pxr.PhysicsSchemaTools"] = physics_schema_tools


@dataclass
class ContactEventHeader:
    type: int
    actor0: int
    actor1: int
    collider0: int
    collider1: int
    contact_data_offset: int
    num_contact_data: int


@dataclass
class ContactData:
    position: tuple[float, float, float]
    normal: tuple[float, float, float]
    impulse: tuple[float, float, float]
    separation: float


class IPhysxSimulation:
    def get_contact_report(self) -> tuple[list[ContactEventHeader], list[ContactData]]:
        """Each pair of bodies once; normals point from the second to the first."""
        headers: list[ContactEventHeader] = []
        data: list[ContactData] = []
        if world.engine is None or world.stage is None:
            return headers, data
        dt = world.dt(world.stage)
        reports = world.engine.contacts()
        for path, contacts in reports.items():
            for other in dict.fromkeys(contact.other for contact in contacts):
                if other in reports and other < path:
                    continue
                points = [contact for contact in contacts if contact.other == other]
                first, second = sdfPathToInt(path), sdfPathToInt(other)
                headers.append(
                    ContactEventHeader(2, first, second, first, second, len(data), len(points))
                )
                for contact in points:
                    data.append(
                        ContactData(
                            tuple(contact.point),
                            tuple(contact.normal),
                            tuple(contact.normal * contact.force * dt),
                            contact.separation,
                        )
                    )
        return headers, data


_simulation = IPhysxSimulation()


def get_physx_simulation_interface() -> Any:
    return _simulation
