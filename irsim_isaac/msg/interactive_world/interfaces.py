"""The messages, services and actions as ROS interface text, and as packages of ROS 2."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import Field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from irsim_isaac.files import writing_directory
from irsim_isaac.msg.interactive_world import actions, segmentation, services, things
from irsim_isaac.msg.interactive_world.described import ROS, SAYS
from irsim_isaac.msg.message import Message
from irsim_isaac.msg.ros_definitions import DEFINITIONS

__all__ = [
    "ACTIONS",
    "MESSAGES",
    "SERVICES",
    "interface_text",
    "message_definitions",
    "message_text",
    "ros_field_type",
    "wire_classes",
    "write_interfaces",
]

MESSAGES: tuple[type[Message], ...] = (
    segmentation.PointField,
    segmentation.PointCloud2,
    segmentation.SegmentedObject,
    segmentation.SegmentedObjectList,
    things.Item,
    things.PointOfInterest,
    things.Surface,
    things.Room,
    things.Configuration,
    things.Placement,
    things.PlacementSet,
    things.TaskTrainingData,
    things.Model,
    things.TaskModels,
)
"""The messages, every one after those that it is made of."""

SERVICES: tuple[type[Any], ...] = tuple(getattr(services, name) for name in services.__all__)
"""The services."""

ACTIONS: tuple[type[Any], ...] = tuple(getattr(actions, name) for name in actions.__all__)
"""The actions."""

_SCALARS = {bool: "bool", int: "int32", float: "float64", str: "string"}
_VERSION = "0.1.0"


def ros_field_type(hint: Any, item: Field[Any]) -> str:
    """Return a field's type as ROS 2 spells it.

    Args:
        hint: The evaluated annotation.
        item: The field.
    """
    told = item.metadata.get(ROS)
    if told:
        return str(told).replace("time[]", "builtin_interfaces/Time[]")
    if get_origin(hint) is list:
        (inner,) = get_args(hint)
        return f"{_SCALARS.get(inner) or inner.ros_type}[]"
    return _SCALARS.get(hint) or str(hint.ros_type)


def message_text(cls: type[Message]) -> str:
    """Return the ``.msg`` text of one class, or its part of a ``.srv`` or ``.action`` text.

    Args:
        cls: A message, or the request, response, goal, result or feedback of something.
    """
    hints = get_type_hints(cls)
    lines = [
        f"{ros_field_type(hints[item.name], item)} {item.name}"
        + (f"  # {item.metadata[SAYS]}" if item.metadata.get(SAYS) else "")
        for item in fields(cls)
    ]
    return "".join(f"{line}\n" for line in lines)


def interface_text(cls: type[Any]) -> str:
    """Return the ``.srv`` text of a service or the ``.action`` text of an action.

    Args:
        cls: One of :data:`SERVICES` or :data:`ACTIONS`.
    """
    return "---\n".join(message_text(part) for part in _parts(cls))


def _parts(cls: type[Any]) -> tuple[type[Message], ...]:
    if hasattr(cls, "Request"):
        return cls.Request, cls.Response
    return cls.Goal, cls.Result, cls.Feedback


def wire_classes() -> dict[str, type[Message]]:
    """Return every class that goes over the wire, by its ROS type."""
    found = list(MESSAGES)
    for interface in (*SERVICES, *ACTIONS):
        found += _parts(interface)
    return {cls.ros_type: cls for cls in found}  # type: ignore[attr-defined]  # each has one


@lru_cache(maxsize=1)
def message_definitions() -> Mapping[str, str]:
    """Return the text of every class that ROS itself does not have, by its ROS type."""
    return {
        name: message_text(cls)
        for name, cls in wire_classes().items()
        if not name.startswith("sensor_msgs/")
    }


def write_interfaces(directory: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write the packages of ROS 2 that hold the interfaces, for ``colcon build``.

    Args:
        directory: The folder to write to, such as the ``src`` of a workspace.

    Returns:
        The folders of the packages, in the order in which they build.
    """
    packages: dict[str, dict[str, str]] = {
        "rail_manipulation_msgs": {},
        "interactive_world_msgs": {},
        "irsim_msgs": {},
    }
    for cls in MESSAGES:
        package, _, leaf = cls.ros_type.partition("/")  # type: ignore[attr-defined]  # each has one
        if package in packages:
            packages[package][f"msg/{leaf}.msg"] = message_text(cls)
    for kind, interfaces in (("srv", SERVICES), ("action", ACTIONS)):
        for interface in interfaces:
            package, _, leaf = interface.ros_type.partition("/")
            packages[package][f"{kind}/{leaf}.{kind}"] = interface_text(interface)
    for name, text in DEFINITIONS.items():
        package, _, leaf = name.partition("/")
        packages[package][f"msg/{leaf}.msg"] = text
    with writing_directory(directory) as folder:
        for package, files in packages.items():
            needs = _needs(package, files)
            texts = {
                **files,
                "package.xml": _manifest(package, needs),
                "CMakeLists.txt": _build_file(package, sorted(files), needs),
            }
            for name, text in texts.items():
                path = folder / package / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8", newline="\n")
    return tuple(Path(directory) / package for package in packages)


def _needs(package: str, files: Mapping[str, str]) -> list[str]:
    """Return the packages whose types the files name."""
    needs = {
        line.split("/")[0]
        for text in files.values()
        for line in text.splitlines()
        if "/" in line.split("#")[0]
    }
    if any(name.startswith("action/") for name in files):
        needs.add("action_msgs")
    return sorted(needs - {package})


_ABOUT = {
    "interactive_world_msgs": "Rooms, surfaces, items and where items belong.",
    "rail_manipulation_msgs": "What interactive_world_msgs uses of rail_manipulation_msgs.",
    "irsim_msgs": "The state of an IR-SIM world in full.",
}


def _manifest(package: str, needs: list[str]) -> str:
    depends = "".join(f"  <depend>{name}</depend>\n" for name in needs)
    return f"""<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>{_VERSION}</version>
  <description>{_ABOUT[package]}</description>
  <maintainer email="irsim_isaac@users.noreply.github.com">irsim_isaac</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
{depends}  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export>
    <build_type>ament_cmake</build_type>
  </export>
</package>
"""


def _build_file(package: str, files: list[str], needs: list[str]) -> str:
    found = "".join(f"find_package({name} REQUIRED)\n" for name in needs)
    listed = "".join(f'  "{name}"\n' for name in files)
    depends = f"  DEPENDENCIES {' '.join(needs)}\n" if needs else ""
    return f"""cmake_minimum_required(VERSION 3.8)
project({package})

find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
{found}
rosidl_generate_interfaces(${{PROJECT_NAME}}
{listed}{depends})

ament_export_dependencies(rosidl_default_runtime)
ament_package()
"""
