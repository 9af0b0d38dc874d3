"""Draw the window after a session on the double: ``python -m tests.kit.draw_window FILE.png``."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from irsim_isaac.msg import Twist, Vector3, WorldState
from tests.kit.host import ROOT, hosted
from tests.kit.window_session import Session

FLAT = ROOT / "data" / "flat.usda"
ITEM = "mug"


def wander(state: WorldState) -> dict[str, Twist]:
    """Drive in a bow."""
    return {"carrier": Twist(Vector3(0.5, 0.0, 0.0), Vector3(0.0, 0.0, 0.15))}


async def warehouse(session: Session, documents: Path) -> None:
    """Map the warehouse, mirror it, read its lidar, lift its fog, validate it, check Isaac Sim."""
    session.start().open()
    map_panel = session.panel("map")
    map_panel.set("seeds", "-4, -4")
    await session.done(session.execute("map_preview"))
    await session.done(session.execute("doctor_run"))
    settings = session.kit.module("carb.settings").get_settings()
    settings.set("/exts/irsim_isaac/irsim_python", sys.executable)
    scenario = documents / "drive.yaml"
    scenario.write_text(
        (ROOT / "config" / "scenarios" / "warehouse.yaml")
        .read_text()
        .replace("../../data", str(ROOT / "data"))
        .replace("duration: 40.0", "duration: 4.0")
    )
    await session.done(session.execute("validate_run", scenario=str(scenario)), 300.0)
    session.panel("validate").set("scenario", "warehouse")
    session.extension.mirror.commands = wander
    await session.done(session.execute("mirror_start", direction="beside"))
    session.execute("lidar_start")
    await session.done(session.execute("fog_start"))
    fog = session.panel("fog")
    mirror = session.extension.mirror
    await session.until(lambda: mirror.counts.steps >= 600 and fog.coverage > 0.5, 300.0)
    panels = session.bridge.panels.values()
    await session.until(lambda: all(c.drawn for m in panels for c in m.canvases.values()))
    await session.frame()


async def flat(session: Session, documents: Path) -> None:
    """Read the rooms of the flat and rank where to look for something."""
    from irsim_isaac.interactive import Observation, Store

    store = documents / "flat.db"
    session.start(FLAT)
    world = await session.done(session.execute("world_read"))
    surfaces = [surface.name for _, surface in world.surfaces()]
    with Store(str(store)) as kept:
        for number, name in enumerate(surfaces[:3]):
            age = 1800.0 * (number + 1) ** 2
            kept.add_observation(Observation(name, ITEM, time=time.time() - age))
    await session.done(session.execute("world_find", item=ITEM, store=str(store)))
    session.panel("world").set("store", "${omni_documents}/flat.db")


def main(argv: list[str] | None = None) -> None:
    """Draw the window into a file."""
    parser = argparse.ArgumentParser(description="Draw the window after a session on the double.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--columns", type=int, default=3)
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        documents = Path(folder)
        with hosted("6", window=True, documents=documents) as kit:
            second = Session(kit)
            asyncio.run(flat(second, documents))
            world = second.panel("world")
            texts, values = dict(world.texts), dict(world.values)
        with hosted("6", window=True, documents=documents) as kit:
            session = Session(kit)
            asyncio.run(warehouse(session, documents))
            panels = session.bridge.panels
            panels["world"].texts.update(texts)
            panels["world"].values.update(values)
            draw = kit.module("irsim_isaac.kit.window.drawing").draw_window
            image = draw(panels.values(), columns=options.columns)
    image.save(options.file, optimize=True)


if __name__ == "__main__":
    main()
