"""A small hall as a stage, and scenarios in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

WALLS = {
    "South": (0.0, -3.1, 8.4, 0.2),
    "North": (0.0, 3.1, 8.4, 0.2),
    "West": (-4.1, 0.0, 0.2, 6.4),
    "East": (4.1, 0.0, 0.2, 6.4),
    "Pillar": (2.0, 1.5, 0.4, 0.4),
}


def stage_text(walls: dict[str, tuple[float, float, float, float]], height: float = 2.0) -> str:
    """A stage with a box for each wall: x, y, and its size along both [m]."""
    prims = [
        f"""    def Cube "{name}"
    {{
        double size = 1
        double3 xformOp:translate = ({x}, {y}, {height / 2})
        float3 xformOp:scale = ({dx}, {dy}, {height})
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
    }}"""
        for name, (x, y, dx, dy) in walls.items()
    ]
    body = "\n".join(prims)
    return f"""#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{{
{body}
}}
"""


def write_hall(folder: Path, **walls: tuple[float, float, float, float]) -> Path:
    """Write the hall, with further boxes in it."""
    path = folder / "hall.usda"
    path.write_text(stage_text({**WALLS, **walls}))
    return path


ROBOT = """name: drum
footprint: {radius: 0.2}
height: 0.3
wheel_radius: 0.05
track: 0.3
mass: 5.0
max_linear_speed: 0.5
max_angular_speed: 1.5
lidars:
  - {profile: RPLIDAR_S2E, z: 0.3}
"""


def write_scenario(folder: Path, **changes: Any) -> Path:
    """Write a scenario that drives a round robot ahead and to the left for two seconds."""
    (folder / "drum.yaml").write_text(ROBOT)
    content = {
        "stage": "hall.usda",
        "robot": {"spec": "drum.yaml", "start": [-3.0, -2.0, 0.0]},
        "left": "stage",
        "right": "stage",
        "commands": [[1.0, 0.2, 0.0], [1.0, 0.2, 0.4]],
        **changes,
    }
    path = folder / "drive.yaml"
    path.write_text(yaml.safe_dump({key: value for key, value in content.items() if value}))
    return path
