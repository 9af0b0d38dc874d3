"""Lidar frames to scans, beside the time that copying the frame's buffer takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from benchmarks.harness import Row, benchmark, compare
from irsim_isaac.lidar import VALID, GenericModelOutput, LidarProfile, scan_from_gmo

ELEMENTS = 100_000
COPY = f"numpy {np.__version__}, copy of the buffer"
# What is timed lasts a millisecond and less, so a run repeats it.
REPEATS = 10


def _buffer(elevation: float) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the buffer of a frame of 100,000 returns, in no order."""
    rng = np.random.default_rng(0)
    frame = GenericModelOutput(
        x=rng.uniform(-180.0, 180.0, ELEMENTS).astype(np.float32),
        y=rng.uniform(-elevation, elevation, ELEMENTS).astype(np.float32),
        z=rng.uniform(0.1, 29.0, ELEMENTS).astype(np.float32),
        scalar=rng.random(ELEMENTS, dtype=np.float32),
        flags=np.full(ELEMENTS, VALID, dtype=np.uint8),
        timeOffsetNs=np.arange(ELEMENTS, dtype=np.int32) * 1000,
        timestampNs=10**9,
    )
    return np.frombuffer(frame.to_bytes(), dtype=np.uint8).copy()


def _repeated(work: Callable[[], Any]) -> Callable[[], None]:
    def repeat() -> None:
        for _ in range(REPEATS):
            work()

    return repeat


@benchmark("scan_from_gmo_100k")
def scan_from_gmo_100k() -> Iterable[Row]:
    """Time a frame of 100,000 returns from its buffer to a scan of 3,200 beams."""
    profile = LidarProfile.load("RPLIDAR_S2E")
    flat, elevated = _buffer(0.0), _buffer(20.0)
    band = {"height": (-2.0, 2.0)}
    tilt = {"tilt": (0.1, 0.05), "height": (-30.0, 30.0)}
    scenes: list[tuple[str, np.ndarray[Any, np.dtype[np.uint8]], dict[str, Any], float]] = [
        ("flat", flat, {}, 1 / 20),
        ("graph", flat, {"producer": "graph"}, 1 / 20),
        ("srtx", flat, {"producer": "srtx"}, 1 / 20),
        ("elevated", elevated, band, 1 / 20),
        ("tilted", flat, tilt, 1 / 40),
        ("tilted_elevated", elevated, tilt, 1 / 40),
    ]
    for name, buffer, options, bar in scenes:
        yield compare(
            f"scan_from_gmo_100k/{name}",
            _repeated(
                lambda buffer=buffer, options=options: scan_from_gmo(
                    GenericModelOutput.from_buffer(buffer), profile, **options
                )
            ),
            _repeated(buffer.copy),
            peer_name=COPY,
            bar=bar,
            note="times of ten frames; the bar is the least part of ours that the copy takes",
        )
    yield compare(
        "scan_from_gmo_100k/graph_beside_rep117",
        _repeated(
            lambda: scan_from_gmo(GenericModelOutput.from_buffer(flat), profile, producer="graph")
        ),
        _repeated(lambda: scan_from_gmo(GenericModelOutput.from_buffer(flat), profile)),
        peer_name="our corrected producer",
        bar=1.0,
        note="what reproduces Isaac Sim is to be no slower",
    )


@benchmark("gmo_parse")
def gmo_parse() -> Iterable[Row]:
    """Time the parsing of a buffer of 100,000 returns."""
    buffer = _buffer(0.0)
    yield compare(
        "gmo_parse",
        _repeated(lambda: GenericModelOutput.from_buffer(buffer)),
        _repeated(buffer.copy),
        peer_name=COPY,
        bar=2.0,
    )
