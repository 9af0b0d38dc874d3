"""The description of the panels, their parts, and what goes on without any application."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from irsim_isaac.kit.window.canvas import PERIOD, Canvas
from irsim_isaac.kit.window.description import (
    Field,
    FieldError,
    Picture,
    read_points,
    write_points,
)
from irsim_isaac.kit.window.fog_overlay import rectangles
from irsim_isaac.kit.window.frame_calls import FrameCalls, OnFrames
from irsim_isaac.kit.window.images import draw_curves, draw_fog, draw_map, draw_scan
from irsim_isaac.kit.window.task import GivenUpError, Task
from irsim_isaac.map import FogMap, Occupancy
from irsim_isaac.msg import Header, LaserScan
from tests.kit.host import ROOT, hosted
from tests.kit.window_session import Session

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GREEN = (118, 185, 0, 255)

number = st.floats(-1e6, 1e6, allow_nan=False)


# ---------------------------------------------------------------------- the description


@pytest.fixture(scope="module")
def panels(tmp_path_factory: pytest.TempPathFactory) -> list:
    with hosted("6", window=True, documents=tmp_path_factory.mktemp("documents")) as kit:
        return [kind.panel for kind in kit.module("irsim_isaac.kit.window").PANELS]


def test_names_are_unique_and_what_is_shown_is_a_sentence(panels: list) -> None:
    names = [panel.name for panel in panels]
    assert names == ["map", "lidar", "mirror", "fog", "validate", "world", "doctor"]
    for panel in panels:
        for part in (panel.fields, panel.actions, panel.texts, panel.pictures):
            found = [item.name for item in part]
            assert len(set(found)) == len(found), panel.name
        for item in (panel, *panel.fields, *panel.actions, *panel.pictures):
            assert item.description[0].isupper() and item.description.endswith("."), item
        for field in panel.fields:
            assert field.optional or field.take(field.default) == field.default


def test_every_kept_field_stands_in_the_manifest_with_its_default_and_its_comment(
    panels: list,
) -> None:
    text = (ROOT / "extension.toml").read_text()
    written = tomllib.loads(text)["settings"]["exts"]["irsim_isaac"]["window"]
    described = {
        panel.name: {field.name: field.default for field in panel.fields if field.kept}
        for panel in panels
    }
    assert written == {name: fields for name, fields in described.items() if fields}
    flat = " ".join(line.lstrip("# ") for line in text.splitlines())
    for panel in panels:
        for field in panel.fields:
            if field.kept:
                assert f"{panel.title}: {field.description[:-1]}" in flat
                if field.kind in ("number", "whole", "choice"):
                    assert f"({field.limits})." in flat


def test_the_page_of_the_window_lists_every_action(panels: list) -> None:
    page = (ROOT / "docs" / "window.md").read_text()
    for panel in panels:
        actions = ", ".join(f"`{action.name}`" for action in panel.actions)
        assert f"| `{panel.name}`, {panel.title} | {actions} |" in page
    assert "Drawing, not a screenshot" in page


@given(least=number, most=number, value=number)
@settings(max_examples=60)
def test_a_number_is_taken_where_it_is_within_its_limits(
    least: float, most: float, value: float
) -> None:
    least, most = min(least, most), max(least, most)
    field = Field("x", "X", "number", "A number.", least, unit="m", least=least, most=most)
    if least <= value <= most:
        assert field.take(repr(value)) == value == field.take(value)
    else:
        with pytest.raises(FieldError, match=r"X: found .* was expected") as caught:
            field.take(value)
        assert caught.value.field == "x"


@given(st.lists(st.tuples(number, number), max_size=6))
@settings(max_examples=60)
def test_points_are_read_as_they_are_written(points: list[tuple[float, float]]) -> None:
    again = read_points(write_points(points))
    assert again == [(float(f"{x:.10g}"), float(f"{y:.10g}")) for x, y in points]
    assert write_points(again) == write_points(points)


@pytest.mark.parametrize(
    ("kind", "good", "value", "bad"),
    [
        ("whole", "3", 3, ["3.5", "x", "", True, None]),
        ("flag", True, True, ["yes", 1, None]),
        ("text", "  word ", "word", ["", "   "]),
        ("prim", "/World/Lidar", "/World/Lidar", ["World", "/", "//x", "/a//b"]),
        ("points", "1,2;  3 4", "1, 2; 3, 4", ["1", "1, 2, 3", "a, b", "nan, 1", "inf, 2"]),
        ("path", "out", "out", [""]),
    ],
)
def test_each_kind_takes_its_own_and_refuses_the_rest(
    kind: str, good: object, value: object, bad: list[object]
) -> None:
    field = Field("x", "X", kind, "Something.", "")  # type: ignore[arg-type]
    assert field.take(good) == value
    for given_value in bad:
        with pytest.raises(FieldError, match="was expected"):
            field.take(given_value)
    if kind in ("text", "prim", "points", "path"):
        assert Field("x", "X", kind, "Something.", "", optional=True).take(" ") == ""  # type: ignore[arg-type]


# ---------------------------------------------------------------------- pictures


def solid(colour: int) -> np.ndarray:
    return np.full((4, 6, 4), colour, dtype=np.uint8)


def test_a_picture_is_drawn_ten_times_a_second_at_most_and_only_the_last_of_many() -> None:
    now = 0.0
    with ThreadPoolExecutor(1) as thread:
        canvas = Canvas(Picture("p", "A picture.", 6, 4), thread, clock=lambda: now)
        begun: list[tuple[int, float]] = []

        def drawn(frame: int) -> np.ndarray:
            begun.append((frame, now))
            return solid(frame % 256)

        for frame in range(600):
            now = frame / 60
            canvas.draw(partial(drawn, frame))
            canvas.look()
            thread.submit(int).result()
        # What is drawn is what was asked for last.
        assert [frame for frame, _ in begun] == [round(60 * stamp) for _, stamp in begun]
        assert min(np.diff([stamp for _, stamp in begun])) >= PERIOD - 1e-9
        assert 95 <= len(begun) <= 100
        assert len(begun) + canvas.dropped >= 598


def test_a_frame_does_not_wait_for_a_drawing() -> None:
    hold = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        canvas = Canvas(Picture("p", "A picture.", 6, 4), thread)
        canvas.draw(lambda: solid(int(hold.wait(30.0))))
        assert not canvas.look()
        canvas.draw(lambda: solid(2))
        for _ in range(100):
            assert not canvas.look()
        assert canvas.image is None
        hold.set()
        thread.submit(int).result()
        assert canvas.look()
        assert (canvas.image == 1).all()


def test_a_drawing_that_fails_is_told_and_the_next_is_drawn() -> None:
    now = 0.0
    with ThreadPoolExecutor(1) as thread:
        canvas = Canvas(Picture("p", "A picture.", 6, 4), thread, clock=lambda: now)
        canvas.draw(lambda: 1 / 0)  # type: ignore[arg-type, return-value]  # it fails
        canvas.look()
        thread.submit(int).result()
        assert not canvas.look()
        assert isinstance(canvas.error, ZeroDivisionError)
        now = 1.0
        canvas.draw(lambda: solid(3))
        canvas.look()
        thread.submit(int).result()
        assert canvas.look() and canvas.error is None


def grid() -> Occupancy:
    cells = np.zeros((40, 20), dtype=np.int8)
    cells[0], cells[-1] = 100, -1
    return Occupancy(cells, 0.1, (1.0, 2.0, 0.0))


def test_a_map_is_drawn_with_y_up_and_its_seeds_in_place() -> None:
    image = draw_map(grid(), 400, 200, seeds=[(3.05, 3.75)])
    assert image.shape == (200, 400, 4)
    assert tuple(image[100, 5]) == (38, 44, 52, 255)
    assert tuple(image[100, 395]) == (148, 153, 160, 255)
    rows, columns = np.nonzero((image == GREEN).all(axis=-1))
    assert abs(columns.mean() - 205) < 2 and abs(rows.mean() - 25) < 2


def scan(ranges: list[float]) -> LaserScan:
    return LaserScan(
        Header(1, 0.0, "laser"),
        *(0.0, 1.5 * np.pi, np.pi / 2, 0.0, 0.1, 0.1, 30.0),
        np.array(ranges, dtype=np.float32),
        np.zeros(0, dtype=np.float32),
    )


def test_a_scan_is_drawn_forward_up_and_left_to_the_left() -> None:
    image = draw_scan(scan([2.0, 4.0, np.nan, np.inf]), 300, 300, reach=4.0)
    rows, columns = np.nonzero((image == GREEN).all(axis=-1))
    ahead = rows[np.abs(columns - 150) < 5]
    left = columns[np.abs(rows - 150) < 5]
    assert ahead.mean() == pytest.approx(150 - 70, abs=3)
    assert left.mean() == pytest.approx(10, abs=3)
    assert len(ahead) + len(left) == len(rows)


@given(
    st.lists(st.one_of(st.floats(0.0, 50.0), st.just(np.nan), st.just(np.inf)), max_size=40),
    st.floats(0.0, 60.0),
)
@settings(max_examples=25, deadline=None)
def test_any_scan_is_drawn(ranges: list[float], reach: float) -> None:
    assert draw_scan(scan(ranges), 120, 90, reach=reach).shape == (90, 120, 4)


def test_curves_are_drawn_also_where_there_is_nothing() -> None:
    assert draw_curves([], {}, 200, 100).shape == (100, 200, 4)
    assert draw_curves([0.0], {"a": [0.0]}, 200, 100, limit=0.05).shape == (100, 200, 4)
    gap = {"a": [0.0, 0.1, 0.2], "b": [float("nan"), 0.1, 0.3]}
    drawn = draw_curves([0.0, 0.1, 0.2], gap, 200, 100)
    assert (drawn == GREEN).all(axis=-1).any()


def test_fog_is_drawn_where_nothing_was_seen() -> None:
    occupancy = grid()
    fog = occupancy.to_fog_map()
    fog.explored[:20] = True
    image = draw_fog(fog, occupancy, 400, 200, at=(2.0, 3.0, 0.0))
    assert tuple(image[20, 100]) == (214, 228, 190, 255)
    assert tuple(image[20, 300]) == (70, 76, 84, 255)


@given(st.integers(0, 2**20 - 1))
@settings(max_examples=60, deadline=None)
def test_rectangles_cover_exactly_the_cells(bits: int) -> None:
    cells = np.array([bool(bits >> index & 1) for index in range(20)]).reshape(4, 5)
    fog = FogMap(4.0, 5.0, 1.0, (-1.0, 2.0))
    again = np.zeros_like(cells, dtype=int)
    for x0, y0, x1, y1 in rectangles(fog, cells):
        again[round(x0 + 1) : round(x1 + 1), round(y0 - 2) : round(y1 - 2)] += 1
    assert np.array_equal(again, cells.astype(int))


# ---------------------------------------------------------------------- tasks


def test_a_task_that_is_cancelled_ends_its_thread_at_the_next_progress() -> None:
    ended = threading.Event()
    begun = threading.Event()

    async def run() -> None:
        task = Task("Work")

        def work() -> None:
            try:
                for done in range(10_000):
                    begun.set()
                    task.progress(done, 10_000, "counting")
                    threading.Event().wait(0.001)
            finally:
                ended.set()

        task.asyncio = asyncio.ensure_future(task.thread(work))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        assert 0.0 <= task.part < 1.0 and task.what in ("counting", "Work")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task.asyncio

    asyncio.run(run())
    assert ended.wait(10.0)


def test_what_a_thread_raises_is_raised_where_it_is_awaited() -> None:
    async def run() -> None:
        task = Task("Work")
        with pytest.raises(ZeroDivisionError):
            await task.thread(lambda: 1 / 0)
        assert await task.thread(sum, [1, 2, 3]) == 6

    asyncio.run(run())


class Counter:
    """Counts, and says on which thread."""

    def __init__(self) -> None:
        self.name = "counter"
        self.threads: set[int] = set()
        self.closed = 0

    def step(self, by: int) -> int:
        self.threads.add(threading.get_ident())
        return by + 1

    def fail(self) -> None:
        raise ValueError("no")

    def close(self) -> None:
        self.closed += 1


def test_calls_of_a_thread_are_done_with_the_frames() -> None:
    calls = FrameCalls()
    counter = Counter()
    found: list[object] = []

    def work() -> None:
        far = OnFrames(calls, lambda: counter)
        found.extend([far.name, far.step(1), far.step(2)])
        with pytest.raises(ValueError, match="no"):
            far.fail()
        far.close()

    worker = threading.Thread(target=work)
    worker.start()
    while worker.is_alive():
        calls.take()
    assert found == ["counter", 2, 3]
    assert counter.threads == {threading.get_ident()}
    assert counter.closed == 1


def test_calls_that_no_frame_will_do_are_given_up() -> None:
    calls = FrameCalls()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            calls.call(lambda: None)
        except GivenUpError as error:
            raised.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    while calls._waiting.empty():
        pass
    calls.close()
    worker.join(10.0)
    assert len(raised) == 1
    with pytest.raises(GivenUpError):
        calls.call(lambda: None)


# ---------------------------------------------------------------------- the drawing


def test_the_drawing_holds_every_panel_with_its_values_and_says_what_it_is(
    tmp_path: Path,
) -> None:
    with hosted("6", window=True, documents=tmp_path) as kit:
        session = Session(kit).start()
        drawing = kit.module("irsim_isaac.kit.window.drawing")
        assert drawing.CAPTION.startswith("Drawing, not a screenshot")
        models = list(session.bridge.panels.values())
        plain = drawing.draw_window(models)
        again = drawing.draw_window(models)
        assert plain.tobytes() == again.tobytes()
        for change in (
            lambda: session.panel("map").set("resolution", 0.25),
            lambda: session.panel("map").set("lowest", 50.0),
            lambda: session.panel("fog").set("overlay", False),
            lambda: session.panel("mirror").set("direction", "lead"),
            lambda: session.panel("doctor").tell(result="1 passed, 0 failed"),
        ):
            before = drawing.draw_window(models).tobytes()
            change()
            assert drawing.draw_window(models).tobytes() != before
        for index, model in enumerate(models):
            rest = models[:index] + models[index + 1 :]
            assert drawing.draw_window(rest).size != plain.size or (
                drawing.draw_window(rest).tobytes() != plain.tobytes()
            ), model.panel.name
        one = drawing.draw_window(models, columns=1, scale=1.0)
        assert one.height > plain.height / 1.5


def test_the_picture_in_the_docs_is_a_drawing_of_seven_panels() -> None:
    with Image.open(ROOT / "docs" / "images" / "window.png") as image:
        assert image.width > 1200 and image.height > 900
    assert (ROOT / "docs" / "images" / "window.png").stat().st_size < 500_000
