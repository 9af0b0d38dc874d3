"""What the window costs a frame: the work of every panel against the time that a frame has.

The work is the processor time of the frames' own thread; pictures are drawn on another.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, benchmark, compare

FRAME = 1.0 / 60.0
FRAMES = 600
STAGE = "data/warehouse.usda"
_TIMES = "a frame of the window's 60 a second"


@benchmark("window")
def window() -> Iterable[Row]:
    """Time the window on the double of Isaac Sim: no pixel is drawn, everything else is done."""
    from tests.kit.host import hosted

    with (
        tempfile.TemporaryDirectory() as folder,
        hosted("6", window=True, documents=Path(folder)) as kit,
    ):
        yield from asyncio.run(_frames(kit))


async def _frames(kit) -> list[Row]:  # type: ignore[no-untyped-def]  # the double has no types
    from irsim_isaac.kit.application import play
    from irsim_isaac.kit.window import Bridge
    from irsim_isaac.kit.window.omni_ui import BridgeWindow
    from irsim_isaac.resources import resource

    kit.open_stage(resource(STAGE))
    app = kit.module("omni.kit.app").get_app()
    bridge = Bridge()
    # The frames are timed here, so the panels must not be woken by those of the application.
    bridge.host.wake = None
    shown = BridgeWindow(bridge, lambda: None)
    bridge.act("lidar", "start")
    task = bridge.act("fog", "start")
    while not task.done():
        bridge.look()
        await asyncio.sleep(0.01)
    await task
    preview = bridge.act("map", "preview")
    play()
    times = []
    while len(times) < FRAMES or not preview.done():
        app.update()
        await asyncio.sleep(0)
        begin = time.thread_time()
        bridge.look()
        times.append(time.thread_time() - begin)
    drawn = sum(
        canvas.drawn for model in bridge.panels.values() for canvas in model.canvases.values()
    )
    bridge.host.wake = None
    idle = _quiet(bridge)
    shown.destroy()
    image = bridge.panels["lidar"].canvases["scan"].image
    copied = np.empty_like(image)
    provider = kit.module("omni.ui").ByteImageProvider()
    height, width = image.shape[:2]
    rows = [
        Row(
            name=f"window/frame, {what}",
            ours_s=seconds,
            peer_s=FRAME,
            peer=_TIMES,
            ratio=FRAME / seconds,
            bar=bar,
            note=note,
        )
        for what, seconds, bar, note in (
            ("median", statistics.median(times), 10.0, f"{len(times)} frames, {drawn} pictures"),
            (
                "99 of 100",
                float(np.quantile(times, 0.99)),
                1.0,
                "a scan of 3200 beams was taken in",
            ),
            ("nothing to do", idle, 100.0, "open, and no panel does anything"),
        )
    ]
    bridge.close()
    rows.append(
        compare(
            "window/picture",
            lambda: provider.set_bytes_data(image.ravel().data, [width, height]),
            lambda: np.copyto(copied, image),
            peer_name="a copy of the bytes",
            runs=31,
            note="giving a picture of 380 by 260 to the window",
        )
    )
    return rows


def _quiet(bridge) -> float:  # type: ignore[no-untyped-def]  # as above
    """Return the median time of a frame of a window in which nothing happens [s]."""
    bridge.act("lidar", "stop")
    bridge.act("fog", "stop")
    for _ in range(50):
        bridge.look()
        time.sleep(0.002)
    times = []
    for _ in range(300):
        begin = time.perf_counter()
        bridge.look()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)
