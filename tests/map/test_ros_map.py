"""Map files by nav2's rules."""

from __future__ import annotations

import math
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map import (
    BuildReport,
    Occupancy,
    Omission,
    load_ros_map,
    save_ros_map,
)

_HEADER = {
    "image": "map.png",
    "resolution": 0.1,
    "origin": [0.0, 0.0, 0.0],
    "negate": 0,
    "occupied_thresh": 0.65,
    "free_thresh": 0.196,
}


def _write(folder: Path, pixels: Any, **header: Any) -> Path:
    """Write a map file whose image is given by pixels or by Pillow."""
    content = {**_HEADER, **header}
    if not isinstance(pixels, Image.Image):
        pixels = Image.fromarray(np.asarray(pixels, dtype=np.uint8))
    pixels.save(folder / content["image"])
    path = folder / "map.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def _counts(occupancy: Occupancy) -> tuple[int, int, int]:
    cells = occupancy.cells
    return int((cells == 100).sum()), int((cells == 0).sum()), int((cells == -1).sum())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nav2/depot", (5947, 179481, 0)),
        ("nav2/smoothers_world", (10576, 79424, 0)),
        ("nav2/TenByTen", (20, 78, 2)),
        ("nav2/testmap", (29, 71, 0)),
        ("flatland/map", (18215, 495587, 147748)),
    ],
)
@pytest.mark.filterwarnings("ignore:.*grey 205")
def test_public_maps_have_their_known_counts(
    shared: Path, name: str, expected: tuple[int, int, int]
) -> None:
    """Count occupied, free and unknown cells of public maps as nav2's rule does."""
    assert _counts(load_ros_map(shared / "maps" / f"{name}.yaml")) == expected


def test_205_reads_as_free_with_a_warning_only_above_its_share(
    shared: Path, tmp_path: Path
) -> None:
    """Warn that the depot's unknown cells read as free, and keep them with 0.196."""
    path = shared / "maps" / "nav2" / "depot.yaml"
    with pytest.warns(UserWarning, match="grey 205.*reads as free") as caught:
        depot = load_ros_map(path)
    assert caught[0].filename == __file__
    assert len(depot.report.warnings) == 1
    header = yaml.safe_load(path.read_text())
    header.update(free_thresh=0.196, image=str(path.with_name("depot.pgm")))
    again = tmp_path / "map.yaml"
    again.write_text(yaml.safe_dump(header))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kept = load_ros_map(again)
    assert _counts(kept) == (5947, 170587, 8894)


@pytest.mark.parametrize("suffix", ["png", "bmp", "pgm"])
def test_rows_run_from_the_bottom(shared: Path, tmp_path: Path, suffix: str) -> None:
    """Read the same cells from every format, the image's last row at the least y."""
    folder = shared / "maps" / "nav2"
    header = yaml.safe_load((folder / "testmap.yaml").read_text())
    header["image"] = str(folder / f"testmap.{suffix}")
    (tmp_path / "map.yaml").write_text(yaml.safe_dump(header))
    occupancy = load_ros_map(tmp_path / "map.yaml")
    pixels = np.asarray(Image.open(folder / "testmap.png").convert("L"))
    expected = np.where(pixels <= 89, 100, 0)[::-1].T
    assert np.array_equal(occupancy.cells, expected)
    assert _counts(occupancy) == (29, 71, 0)


def test_the_origins_yaw_is_honoured(shared: Path) -> None:
    """Place cells of a turned map about its corner, and tell where points lie in it."""
    occupancy = load_ros_map(shared / "maps" / "nav2" / "testmap.yaml")
    assert occupancy.origin == (2.0, 3.0, 1.0)
    assert occupancy.cell_to_world(0, 0, at="corner") == (2.0, 3.0)
    x, y = occupancy.cell_to_world(1, 0, at="corner")
    assert (x, y) == pytest.approx((2 + 0.1 * math.cos(1), 3 + 0.1 * math.sin(1)), abs=1e-15)
    assert occupancy.world_to_cell(*occupancy.cell_to_world(7, 3)) == (7, 3)


@settings(max_examples=60)
@given(
    cells=hnp.arrays(
        np.int8,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.sampled_from([-1, 0, 100]),
    ),
    resolution=st.floats(1e-6, 1e4),
    x=st.floats(-1e9, 1e9),
    y=st.floats(-1e9, 1e9),
    image_format=st.sampled_from(["png", "pgm", "bmp"]),
)
def test_save_then_load_is_the_identity(
    tmp_path_factory: pytest.TempPathFactory,
    cells: Any,
    resolution: float,
    x: float,
    y: float,
    image_format: Any,
) -> None:
    """Keep three classes and every number to the last bit, in every format."""
    path = tmp_path_factory.mktemp("map") / "a map.yaml"
    occupancy = Occupancy(cells, resolution, (x, y, 0.0))
    save_ros_map(occupancy, path, image_format=image_format)
    assert load_ros_map(path) == occupancy


def test_numbers_are_written_shortest_and_survive(tmp_path: Path) -> None:
    """Write 0.0254 as 0.0254, and 1e-5 so that YAML 1.1 reads a number."""
    for resolution, text in ((0.0254, "0.0254"), (1e-5, "1.0e-05")):
        occupancy = Occupancy(np.zeros((2, 2), np.int8), resolution, (12345.123, -7e22, 0.0))
        path = occupancy.save_ros(tmp_path)
        assert f"resolution: {text}\n" in path.read_text()
        header = yaml.safe_load(path.read_text())
        assert header["resolution"] == resolution
        assert header["origin"] == [12345.123, -7e22, 0.0]
        assert load_ros_map(path) == occupancy


@settings(max_examples=20)
@given(hnp.arrays(np.int8, (5, 4), elements=st.integers(-1, 100)))
def test_scale_and_raw_keep_every_value(
    tmp_path_factory: pytest.TempPathFactory, cells: Any
) -> None:
    """Keep -1 to 100 in the modes that can."""
    occupancy = Occupancy(cells, 0.5)
    folder = tmp_path_factory.mktemp("map")
    for mode in ("scale", "raw"):
        path = save_ros_map(occupancy, folder / f"{mode}.yaml", mode=mode)  # type: ignore[arg-type]
        assert np.array_equal(load_ros_map(path).cells, cells)


def test_trinary_writes_nav2s_greys(tmp_path: Path) -> None:
    """Write 254, 205 and 0 with nav2's thresholds, the largest y at the top."""
    cells = np.array([[0, 20, 21, 64, 65, 100, -1]], dtype=np.int8)
    path = Occupancy(cells, 1.0).save_ros(tmp_path / "deep" / "er")
    assert path == tmp_path / "deep" / "er" / "map.yaml"
    pixels = np.asarray(Image.open(path.with_name("map.png")))
    assert pixels[::-1, 0].tolist() == [254, 254, 205, 205, 0, 0, 205]
    header = yaml.safe_load(path.read_text())
    assert header == {**_HEADER, "resolution": 1.0, "mode": "trinary"}


def test_image_row_0_is_the_largest_y_and_column_0_the_least_x(tmp_path: Path) -> None:
    """Write one cube at (3, 1) and an L that no turn or mirror maps onto itself."""
    cells = np.zeros((20, 20), dtype=np.int8)
    cells[15:17, 11:13] = 100
    path = Occupancy(cells, 0.5, (-5.0, -5.0, 0.0)).save_ros(tmp_path)
    pixels = np.asarray(Image.open(path.with_name("map.png")))
    expected = np.full((20, 20), 254)
    expected[7:9, 15:17] = 0
    assert np.array_equal(pixels, expected)

    letter = np.zeros((4, 3), dtype=np.int8)
    letter[0, :] = letter[1:3, 0] = 100
    path = Occupancy(letter, 1.0).save_ros(tmp_path)
    pixels = np.asarray(Image.open(path.with_name("map.png")))
    assert (pixels == 0).tolist() == [
        [True, False, False, False],
        [True, False, False, False],
        [True, True, True, False],
    ]


def test_the_origin_is_a_corner_and_the_last_cell_is_there(tmp_path: Path) -> None:
    """Write the corner of cell (0, 0) as origin, and keep a wall in the last column."""
    cells = np.zeros((400, 400), dtype=np.int8)
    cells[-1, :] = 100
    occupancy = Occupancy(cells, 0.05, (-10.0, -10.0, 0.0))
    header = yaml.safe_load(occupancy.save_ros(tmp_path).read_text())
    assert header["origin"] == [-10.0, -10.0, 0.0]
    again = load_ros_map(tmp_path / "map.yaml")
    assert again.shape == (400, 400)
    assert again.world_to_cell(9.975, 0.0)[0] == 399
    assert again.to_map().grid_occupied(9.975, 0.0) is True
    assert Occupancy(cells, 0.5, (-2.0, -2.0, 0.0)).world_to_cell(1.0, 0.0) == (6, 4)


def test_rooms_that_are_not_square_stay_as_they_are(tmp_path: Path) -> None:
    """Keep only the border of a 5 by 10 m room occupied."""
    cells = np.full((50, 100), 100, dtype=np.int8)
    cells[1:-1, 1:-1] = 0
    again = load_ros_map(Occupancy(cells, 0.1).save_ros(tmp_path))
    assert (again.width, again.height) == (5.0, 10.0)
    assert np.array_equal(again.cells, cells)


@pytest.mark.parametrize(
    ("negate", "dark_is_occupied"),
    [
        (0, True),
        (1, False),
        (True, False),
        (False, True),
        ("0", True),
        ("1", False),
        ("true", False),
        ("False", True),
    ],
)
def test_negate_in_every_spelling(tmp_path: Path, negate: Any, dark_is_occupied: bool) -> None:
    """Read negate as a number, a truth value or a word."""
    occupancy = load_ros_map(_write(tmp_path, [[0, 255]], negate=negate))
    assert occupancy.cells[:, 0].tolist() == ([100, 0] if dark_is_occupied else [0, 100])


def test_grey_127_is_unknown_and_a_tuple_origin_is_read_with_a_message(tmp_path: Path) -> None:
    """Read what MobilityGen writes, and say what nav2 would not accept."""
    path = _write(tmp_path, [[0, 127, 255]])
    path.write_text(path.read_text().replace("- 0.0\n", "").replace("origin:", "#"))
    path.write_text(path.read_text() + "origin: (-10.0, -12.5, 0.0)\n")
    assert yaml.safe_load(path.read_text())["origin"] == "(-10.0, -12.5, 0.0)"
    with pytest.warns(UserWarning, match="a Python tuple as MobilityGen writes it"):
        occupancy = load_ros_map(path)
    assert occupancy.origin == (-10.0, -12.5, 0.0)
    assert occupancy.cells[:, 0].tolist() == [100, -1, 0]
    assert "nav2 refuses" in occupancy.report.warnings[0]
    written = yaml.safe_load(occupancy.save_ros(tmp_path / "again").read_text())
    assert written["origin"] == [-10.0, -12.5, 0.0]
    assert load_ros_map(tmp_path / "again" / "map.yaml") == occupancy


@pytest.mark.parametrize("key", list(_HEADER))
def test_each_missing_key_is_named(tmp_path: Path, key: str) -> None:
    """Name the key that a map file lacks."""
    path = _write(tmp_path, [[0]])
    header = yaml.safe_load(path.read_text())
    del header[key]
    path.write_text(yaml.safe_dump(header))
    with pytest.raises(MapFormatError, match=f"the key '{key}' is missing"):
        load_ros_map(path)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"origin": [0.0, 0.0]}, "three numbers"),
        ({"origin": "(1, 2"}, "three numbers"),
        ({"origin": [0.0, 0.0, ".inf"]}, "a number was expected"),
        ({"mode": "fancy"}, "trinary, scale, raw"),
        ({"resolution": 0}, "more than 0"),
        ({"resolution": "wide"}, "a number was expected"),
        ({"resolution": math.nan}, "a number was expected"),
        ({"negate": "perhaps"}, "negate"),
        ({"free_thresh": 0.7}, "free_thresh < occupied_thresh"),
        ({"occupied_thresh": True}, "a number was expected"),
    ],
)
def test_wrong_values_are_refused(tmp_path: Path, header: dict[str, Any], message: str) -> None:
    """Say which key is wrong and what was expected."""
    with pytest.raises(MapFormatError, match=message):
        load_ros_map(_write(tmp_path, [[0]], **header))


def test_other_keys_and_other_cases_of_the_mode_do_no_harm(tmp_path: Path) -> None:
    """Take extra keys, and the mode in any case, as nav2 does."""
    occupancy = load_ros_map(_write(tmp_path, [[0, 255]], mode="Trinary", map_type="circular"))
    assert occupancy.cells[:, 0].tolist() == [100, 0]


@pytest.mark.parametrize("text", ["image: [", "- 1\n- 2\n"])
def test_what_is_no_map_file_is_refused(tmp_path: Path, text: str) -> None:
    """Refuse broken YAML, and a list."""
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(MapFormatError, match=r"map\.yaml"):
        load_ros_map(tmp_path / "map.yaml")


def test_image_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find the image beside the file from anywhere, by its whole path, and in the home folder."""
    (tmp_path / "maps").mkdir()
    path = _write(tmp_path / "maps", [[0, 255]])
    monkeypatch.chdir("/")
    expected = load_ros_map(path)
    whole = {**_HEADER, "image": str(tmp_path / "maps" / "map.png")}
    (tmp_path / "whole.yaml").write_text(yaml.safe_dump(whole))
    assert load_ros_map(tmp_path / "whole.yaml") == expected
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_ros_map("~/maps/map.yaml") == expected
    home = {**_HEADER, "image": "~/maps/map.png"}
    (tmp_path / "home.yaml").write_text(yaml.safe_dump(home))
    assert load_ros_map(tmp_path / "home.yaml") == expected
    (tmp_path / "maps" / "map.png").unlink()
    with pytest.raises(FileNotFoundError, match=r"map\.png"):
        load_ros_map(path)


def test_every_kind_of_image(tmp_path: Path) -> None:
    """Read palettes, opacity, bits and deep greys by their grey; transparent is unknown."""
    grey = np.array([[0, 255, 205], [0, 254, 0]], dtype=np.uint8)
    expected = np.array([[100, 100], [0, 0], [100, -1]])
    plain = Image.fromarray(grey)
    opaque = Image.merge("LA", (plain, Image.new("L", plain.size, 255)))
    for image in (plain, plain.convert("RGB"), plain.convert("P"), opaque, opaque.convert("RGBA")):
        assert np.array_equal(load_ros_map(_write(tmp_path, image)).cells, expected), image.mode
    deep = Image.fromarray(grey.astype(np.uint16) * 257)
    assert deep.mode.startswith("I")
    assert np.array_equal(load_ros_map(_write(tmp_path, deep)).cells, expected)
    bits = Image.fromarray(grey).point(lambda value: 255 if value > 210 else 0).convert("1")
    black = np.where(expected == -1, 100, expected)
    assert np.array_equal(load_ros_map(_write(tmp_path, bits)).cells, black)

    opacity = Image.fromarray(np.array([[255, 254, 0], [255, 255, 255]], dtype=np.uint8))
    thin = Image.merge("LA", (plain, opacity))
    unknown = expected.copy()
    unknown[1, 1] = unknown[2, 1] = -1
    for image in (thin, thin.convert("RGBA")):
        assert np.array_equal(load_ros_map(_write(tmp_path, image)).cells, unknown), image.mode
    palette = plain.convert("P")
    palette.info["transparency"] = palette.getpixel((1, 0))
    palette.save(tmp_path / "map.png", transparency=palette.getpixel((1, 0)))
    assert load_ros_map(tmp_path / "map.yaml").cells[1, 1] == -1


@pytest.mark.parametrize(
    "data",
    [
        b"P5\n3 2\n255\n\x00\xff\xcd\x00\xfe\x00",
        b"P5 # made by hand\n# and more\n3 # wide\n2\n255\n\x00\xff\xcd\x00\xfe\x00",
        b"P2\n# comment\n3 2\n255\n0 255 205\n0 254 0\n",
        b"P2 3 2 65535\n0 65535 52685\n0 # black\n 65278 0",
        b"P5 3 2 65535\n" + struct.pack(">6H", 0, 65535, 52685, 0, 65278, 0),
    ],
)
def test_every_kind_of_pgm(tmp_path: Path, data: bytes) -> None:
    """Read plain and raw PGM of one and two bytes, with comments wherever they may stand."""
    path = _write(tmp_path, [[0]], image="map.pgm")
    (tmp_path / "map.pgm").write_bytes(data)
    expected = np.array([[100, 100], [0, 0], [100, -1]])
    assert np.array_equal(load_ros_map(path).cells, expected)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"P5\n3 2\n255\n\x00\xff", "ends after 2 of 6 pixels"),
        (b"P2\n3 2\n255\n0 0 zero 0 0 0", "no number"),
        (b"P5\n3", "no height"),
        (b"P5\n0 2\n255\n", "at least one pixel"),
        (b"P5\n20000 20000\n255\n", "at most 134,217,728"),
        (b"no image", "no image that Pillow knows"),
    ],
)
def test_damaged_and_oversized_images_are_refused(
    tmp_path: Path, data: bytes, message: str
) -> None:
    """Say what is wrong with an image, before anything of its size is allocated."""
    path = _write(tmp_path, [[0]], image="map.pgm")
    (tmp_path / "map.pgm").write_bytes(data)
    with pytest.raises(MapFormatError, match=message):
        load_ros_map(path)


def test_a_png_of_20000_by_20000_is_refused_by_its_header(tmp_path: Path) -> None:
    """Count the pixels of a PNG before decoding any."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    path = _write(tmp_path, [[0]])
    header = struct.pack(">IIBBBBB", 20000, 20000, 8, 0, 0, 0, 0)
    (tmp_path / "map.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"")
    )
    with pytest.raises(MapFormatError, match=r"too many pixels|at most"):
        load_ros_map(path)
    small = struct.pack(">IIBBBBB", 10000, 5000, 8, 0, 0, 0, 0)
    (tmp_path / "map.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", small) + chunk(b"IDAT", b"")
    )
    with pytest.raises(MapFormatError, match="at most 1,000"):
        load_ros_map(path, limit=1000)


def test_a_turned_map_is_written_with_a_warning(tmp_path: Path) -> None:
    """Keep the yaw, and warn that costmaps ignore it."""
    occupancy = Occupancy(np.zeros((2, 3), np.int8), 0.5, (1.0, 2.0, 0.25))
    with pytest.warns(UserWarning, match="yaw is 0.25"):
        path = save_ros_map(occupancy, tmp_path / "map.yaml")
    assert load_ros_map(path) == occupancy


def test_unknown_keywords_and_words_are_refused(tmp_path: Path) -> None:
    """Refuse misspelt options by name."""
    occupancy = Occupancy(np.zeros((2, 2), np.int8), 0.5)
    with pytest.raises(TypeError, match="modus"):
        save_ros_map(occupancy, tmp_path / "map.yaml", modus="raw")  # type: ignore[call-arg]
    for option in ({"mode": "rough"}, {"image_format": "gif"}):
        with pytest.raises(MapFormatError, match="expected"):
            save_ros_map(occupancy, tmp_path / "map.yaml", **option)  # type: ignore[arg-type]
    grey = Occupancy(np.full((2, 2), -1, np.int8), 0.5)
    with pytest.raises(MapFormatError, match="use png"):
        save_ros_map(grey, tmp_path / "map.yaml", mode="scale", image_format="pgm")


def test_what_a_grid_was_built_with_travels_in_the_file(tmp_path: Path) -> None:
    """Keep the report's parameters, which other readers skip."""
    parameters = {"stage": "a.usda", "height": (0.1, 0.62), "digest": np.int64(7)}
    report = BuildReport((Omission("/a", "hidden", "it is hidden"),), (), parameters)
    occupancy = Occupancy(np.zeros((2, 2), np.int8), 0.5, report=report)
    assert report.count("hidden") == 1
    again = load_ros_map(occupancy.save_ros(tmp_path))
    kept = {key: value for key, value in again.report.parameters.items() if key != "map_file"}
    assert kept == {"stage": "a.usda", "height": [0.1, 0.62], "digest": 7}
    thresholds = again.report.parameters["map_file"]
    assert isinstance(thresholds, dict)
    assert thresholds["free_thresh"] == 0.196
    once = (tmp_path / "map.yaml").read_text()
    again.save_ros(tmp_path)
    assert (tmp_path / "map.yaml").read_text() == once


def test_a_block_of_205_follows_the_policy(tmp_path: Path) -> None:
    """Make grey 205 free, occupied or keep it, as it is asked of the map."""
    occupancy = load_ros_map(_write(tmp_path, np.full((3, 3), 205)))
    assert _counts(occupancy) == (0, 0, 9)
    values = {"free": 0, "occupied": 100, "keep": -1}
    for policy, value in values.items():
        grid = occupancy.to_map(unknown=policy).grid  # type: ignore[arg-type]
        assert grid is not None
        assert (grid == value).all()
