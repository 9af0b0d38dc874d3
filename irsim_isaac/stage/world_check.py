"""Whether a world file still is what its stage gives."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from irsim_isaac.errors import StageError
from irsim_isaac.stage.geometry import Progress
from irsim_isaac.stage.parameters import WorldFrame, WorldParameters, read_parameters
from irsim_isaac.stage.usd import Usd
from irsim_isaac.stage.world import build_world

__all__ = ["WorldCheck", "check_world", "world_provenance"]


@dataclass(frozen=True, slots=True)
class WorldCheck:
    """How a world file stands to a stage.

    Attributes:
        same_stage: Whether the surfaces that it was made from are those of the stage.
        changed: The obstacles that are new, gone or otherwise, by name.
        digest: Of the stage as it is.
        recorded: Of the stage that the file was made from.
    """

    same_stage: bool
    changed: tuple[str, ...]
    digest: str
    recorded: str

    @property
    def good(self) -> bool:
        """Whether the world is what the stage gives."""
        return self.same_stage and not self.changed


def world_provenance(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    """Return what a world file says of the stage that it was made from.

    Args:
        path: A world file of this project.

    Raises:
        StageError: It is no such file, or says nothing of a stage.
    """
    content = _content(path)
    custom = content.get("custom")
    said = custom.get("irsim_isaac") if isinstance(custom, dict) else None
    if not isinstance(said, dict) or not isinstance(said.get("digest"), str):
        raise StageError(
            f"{path}: the world does not say from which stage it was made: "
            "custom.irsim_isaac.digest was expected"
        )
    return said


def _content(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise StageError(f"{path}: {error.strerror}, an IR-SIM world was expected") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise StageError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if isinstance(content, dict) and isinstance(content.get("irsim"), dict):
        content = content["irsim"]
    if not isinstance(content, dict):
        raise StageError(f"{path}: an IR-SIM world was expected")
    return content


def _sections(content: Mapping[str, Any], path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the obstacles of a world, each of which has a name in those of this project."""
    sections = content.get("obstacle") or []
    if not isinstance(sections, list) or not all(
        isinstance(section, dict) and isinstance(section.get("name"), str) for section in sections
    ):
        raise StageError(f"{path}: obstacle: a list of obstacles with names was expected")
    return sections


def check_world(
    path: str | os.PathLike[str], stage: Usd.Stage, *, progress: Progress | None = None
) -> WorldCheck:
    """Tell whether a world file still is what its stage gives.

    Args:
        path: A world file of this project.
        stage: The stage, opened as it was for the world.
        progress: Called as ``progress(done, total, what)``.

    Raises:
        StageError: The file does not say from what it was made.
    """
    said = world_provenance(path)
    if said.get("geometry") == "given":
        raise StageError(
            f"{path}: the world was made from surfaces that were given, not from a stage"
        )
    content = _content(path)
    made_with = read_parameters(WorldParameters, dict(said), f"{path}: custom.irsim_isaac")
    frame = read_parameters(WorldFrame, content.get("world"), f"{path}: world")
    low, high = made_with.height
    x, y = frame.offset
    made = build_world(
        stage,
        mode=made_with.mode,
        height=(low, high) if made_with.mode == "band" else (0.1, 0.62),
        lidar_height=low if made_with.mode == "lidar" else None,
        floor=made_with.floor,
        tolerance=made_with.tolerance,
        merge=made_with.merge,
        geometry=made_with.geometry,
        bounds=(x, y, x + frame.width, y + frame.height),
        progress=progress,
    )
    digest = str(made.report.parameters["digest"])
    # Through YAML, as the file went, so that numbers have the same form.
    now = yaml.safe_load(yaml.safe_dump(made.to_irsim())).get("obstacle") or []
    before = {section["name"]: section for section in _sections(content, path)}
    after = {section["name"]: section for section in now}
    if "obstacle_map" in content["world"]:
        # What stands may be in the image alone.
        after = {name: section for name, section in after.items() if name in before}
    changed = [
        name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)
    ]
    return WorldCheck(digest == said["digest"], tuple(changed), digest, str(said["digest"]))
