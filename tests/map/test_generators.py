"""Generated grids are IR-SIM's to the last bit, save where its reading is wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from irsim_isaac.errors import MapFormatError
from irsim_isaac.map import (
    GridMapGenerator,
    ImageGridGenerator,
    PerlinGridGenerator,
    build_grid_from_generator,
    resolve_obstacle_map,
)


@settings(max_examples=60)
@given(
    width=st.integers(1, 70),
    height=st.integers(1, 70),
    complexity=st.floats(-2, 2),
    fill=st.floats(0, 1),
    fractal=st.integers(1, 6),
    attenuation=st.floats(0.01, 5),
    seed=st.integers(0, 2**63),
)
def test_perlin_equals_irsims_bit_for_bit(real: Any, **parameters: Any) -> None:
    """Make the very grid that IR-SIM makes of any parameters."""
    ours = PerlinGridGenerator(**parameters).grid
    theirs = real.PerlinGridGenerator(**parameters).grid
    assert ours.dtype == theirs.dtype
    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize(
    ("parameters", "digest"),
    [
        ({"width": 50, "height": 40, "seed": 3}, "4e7f134f7f2841cd369528c941d146ac086ab124"),
        (
            {"width": 200, "height": 200, "seed": 42, "fractal": 3},
            "6c0688508bebcdfbe52fbe323c32fcc4729fcd95",
        ),
    ],
)
def test_perlin_keeps_its_digests(parameters: dict[str, Any], digest: str) -> None:
    """Make the same grids on every machine and release."""
    grid = PerlinGridGenerator(**parameters).grid
    assert hashlib.sha1(grid.tobytes()).hexdigest() == digest


@pytest.mark.parametrize(
    "parameters",
    [
        {"fractal": 0},
        {"attenuation": 0},
        {"attenuation": -1},
        {"fill": 1.5},
        {"fill": -0.1},
        {"fill": float("nan")},
        {"complexity": float("inf")},
        {"width": 0},
        {"height": -3},
    ],
)
def test_perlin_refuses_parameters_out_of_range(parameters: dict[str, Any]) -> None:
    """Refuse what IR-SIM wraps round, divides by or takes for noise."""
    with pytest.raises(ValueError, match=r"must be|at least one"):
        PerlinGridGenerator(**{"width": 5, "height": 5, **parameters})


def test_a_perlin_grid_of_absurd_size_is_refused_before_allocation() -> None:
    """Refuse ten thousand million cells."""
    with pytest.raises(MapFormatError, match="at most"):
        _ = PerlinGridGenerator(100_000, 100_000).grid


def test_generators_are_lazy_and_return_themselves() -> None:
    """Make the grid once, when it is asked for."""
    generator = PerlinGridGenerator(8, 9, seed=1)
    assert generator.generate() is generator
    assert generator.grid is generator.grid
    assert generator.grid.shape == (8, 9)


def test_named_generators_register_and_replace(real: Any) -> None:
    """Register under a name, replace one of the same name, and know IR-SIM's names."""
    assert set(real.GridMapGenerator.registry) <= set(GridMapGenerator.registry)
    assert GridMapGenerator.registry["perlin"] is PerlinGridGenerator
    try:
        for value in (1, 2):

            class Flat(GridMapGenerator):
                name = "flat"
                yaml_param_names = ("height_of",)
                level = value

                def __init__(self, width: int, height: int, height_of: float = 0) -> None:
                    super().__init__()
                    self._made = np.full((width, height), self.level + height_of)

                def _build_grid(self) -> Any:
                    return self._made

            assert GridMapGenerator.registry["flat"] is Flat
        spec = {"name": "flat", "resolution": "0.5", "height_of": 40, "colour": "red"}
        grid = build_grid_from_generator(spec, 2.0, 3.25)
        assert grid.shape == (4, 6)
        assert grid.dtype == np.float64
        assert (grid == 42).all()
    finally:
        GridMapGenerator.registry.pop("flat", None)


def test_a_generator_that_makes_nothing_says_so() -> None:
    """Raise where a generator leaves no grid."""

    class Nothing(GridMapGenerator):
        def _build_grid(self) -> Any:
            return None

        def generate(self) -> GridMapGenerator:
            return self

    with pytest.raises(RuntimeError, match="Grid generation failed"):
        _ = Nothing().grid


@settings(max_examples=40)
@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=12),
        elements=st.sampled_from([0.0, 100.0]),
    )
)
def test_saving_then_loading_is_the_identity(
    real: Any, tmp_path_factory: pytest.TempPathFactory, grid: Any
) -> None:
    """Read back the very grid, with our reader and with IR-SIM's."""

    class Given(GridMapGenerator):
        def _build_grid(self) -> Any:
            return grid

    path = tmp_path_factory.mktemp("grid") / "grid.png"
    Given().save_as_image(str(path))
    assert np.array_equal(ImageGridGenerator(str(path)).grid, grid)
    assert np.array_equal(real.ImageGridGenerator(str(path)).grid, grid)
    Given().save_as_image(str(path), invert=False)
    assert np.array_equal(ImageGridGenerator(str(path)).grid, 100 - grid)


def test_unknown_cells_are_saved_transparent_and_follow_the_policy(tmp_path: Path) -> None:
    """Write unknown cells without opacity, and read them as the policy says."""
    cells = np.array([[-1.0, 100.0], [0.0, 0.0]])

    class Given(GridMapGenerator):
        def _build_grid(self) -> Any:
            return cells

    path = tmp_path / "grid.png"
    Given().save_as_image(path)
    for unknown, value in (("free", 0.0), ("occupied", 100.0), ("keep", -1.0)):
        grid = ImageGridGenerator(str(path), unknown=unknown).grid
        assert grid.tolist() == [[value, 100.0], [0.0, 0.0]]


def _image(mode: str, random: np.random.Generator) -> Image.Image:
    if mode == "I;16":
        return Image.fromarray(random.integers(0, 65536, (7, 5)).astype(np.uint16))
    channels = {"L": (), "LA": (2,), "RGB": (3,), "RGBA": (4,), "P": (), "1": ()}[mode]
    pixels = random.integers(0, 256, (7, 5, *channels)).astype(np.uint8)
    if mode in ("LA", "RGBA"):
        pixels[..., -1] = 255
    image = Image.fromarray(pixels)
    return image.convert(mode) if mode in ("P", "1") else image


@pytest.mark.parametrize(
    ("suffix", "mode"),
    [
        *(("png", mode) for mode in ("L", "LA", "RGB", "RGBA", "P", "1", "I;16")),
        *(("bmp", mode) for mode in ("L", "RGB", "RGBA", "P", "1")),
        *(("jpg", mode) for mode in ("L", "RGB", "1")),
    ],
)
def test_images_read_as_irsims_where_it_reads_them_right(
    real: Any, tmp_path: Path, suffix: str, mode: str
) -> None:
    """Read opaque images to the same last bit; colours outside PNG by 255, not their own most."""
    path = tmp_path / f"image.{suffix}"
    _image(mode, np.random.default_rng(2)).save(path)
    ours, theirs = ImageGridGenerator(str(path)).grid, real.ImageGridGenerator(str(path)).grid
    if suffix == "png" or Image.open(path).mode in ("L", "1"):
        assert ours.tobytes() == theirs.tobytes()
        return
    rgb = np.asarray(Image.open(path).convert("RGB"))
    own_most = np.dot(rgb, [0.2989, 0.5870, 0.1140]).max()
    assert np.allclose(100 - theirs, (100 - ours) * 255 / own_most, rtol=0, atol=1e-9)


def test_a_dark_photo_is_dark(real: Any, tmp_path: Path) -> None:
    """Read a dark JPEG as occupied, which IR-SIM reads as free."""
    path = tmp_path / "dark.jpg"
    Image.new("RGB", (6, 4), (60, 60, 60)).save(path)
    assert (ImageGridGenerator(str(path)).grid > 75).all()
    assert (real.ImageGridGenerator(str(path)).grid == 0).all()


def test_transparency_thins_darkness(tmp_path: Path) -> None:
    """Read transparent black as unknown, then free, and half transparent black as half."""
    image = Image.new("RGBA", (3, 1), (0, 0, 0, 255))
    image.putpixel((1, 0), (0, 0, 0, 51))
    image.putpixel((2, 0), (0, 0, 0, 0))
    image.save(tmp_path / "image.png")
    grid = ImageGridGenerator(str(tmp_path / "image.png")).grid
    assert grid[:, 0] == pytest.approx([100.0, 20.0, 0.0])


def test_images_are_found_where_irsim_finds_them(
    real: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Look in the working folder and among IR-SIM's own maps, and say what is missing."""
    assert np.array_equal(
        ImageGridGenerator("cave.png").grid, real.ImageGridGenerator("cave.png").grid
    )
    Image.new("L", (3, 2), 0).save(tmp_path / "here.png")
    monkeypatch.chdir(tmp_path)
    assert (ImageGridGenerator("here.png").grid == 100).all()
    missing = ImageGridGenerator("nowhere_to_be_found.png")
    with pytest.raises(FileNotFoundError, match="nowhere_to_be_found"):
        missing.generate()


_OBSTACLE_MAPS: list[tuple[Any, Any]] = [
    (None, None),
    (np.arange(6).reshape(2, 3), None),
    ({"name": "perlin", "resolution": 0.5, "seed": 7, "other": 1}, (8.25, 3.75)),
    ({"name": "perlin", "resolution": "1", "seed": 7}, (2.5, 3.5)),
    ("cave.png", None),
    ({"name": "image", "path": "cave.png"}, (3.0, 3.0)),
]


@pytest.mark.parametrize(("given", "size"), _OBSTACLE_MAPS)
def test_resolve_equals_irsims(real: Any, given: Any, size: Any) -> None:
    """Resolve every kind of obstacle map to what IR-SIM resolves it to."""
    ours = resolve_obstacle_map(given, *(size or ()))
    theirs = real.resolve_obstacle_map(given, *(size or ()))
    if theirs is None:
        assert ours is None
        return
    assert ours is not None
    assert ours.dtype == theirs.dtype == np.float64
    assert ours.tobytes() == theirs.tobytes()
    assert ours.shape == theirs.shape


_WRONG: list[tuple[Any, Any]] = [
    (12345, ()),
    ([1, 2], ()),
    ({"width": 3}, ()),
    ({}, ()),
    (Path("cave.png"), ()),
    ("", ()),
    ({"name": "image"}, ()),
    ({"name": "perlin", "resolution": 1}, ()),
    ({"name": "unheard_of", "resolution": 1}, (3, 3)),
    ({"name": "perlin"}, (3, 3)),
]


@pytest.mark.parametrize(("given", "size"), _WRONG)
def test_resolve_refuses_what_irsim_refuses(real: Any, given: Any, size: Any) -> None:
    """Raise the kind of error that IR-SIM raises."""
    with pytest.raises((TypeError, ValueError)) as theirs:
        real.resolve_obstacle_map(given, *size)
    with pytest.raises(theirs.type):
        resolve_obstacle_map(given, *size)


def test_resolve_keeps_a_float64_grid_and_refuses_nan() -> None:
    """Copy nothing that is right, and refuse NaN."""
    grid = np.full((2, 2), -1.0)
    assert resolve_obstacle_map(grid) is grid
    grid[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        resolve_obstacle_map(grid)


@pytest.mark.parametrize("resolution", [0, -1, float("nan"), 1e-7])
def test_absurd_resolutions_are_refused_before_allocation(resolution: float) -> None:
    """Refuse cells of no side and cells too many."""
    spec = {"name": "perlin", "resolution": resolution}
    with pytest.raises(MapFormatError, match=r"more than 0|at most"):
        build_grid_from_generator(spec, 10, 10)


def test_preview_shows_the_grid(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw the grid with x to the right and y up, and show it."""
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gcf()))
    generator = PerlinGridGenerator(8, 5, seed=1)
    generator.preview(title="Noise")
    (figure,) = shown
    axes = figure.axes[0]
    assert axes.get_title() == "Noise"
    assert np.array_equal(axes.images[0].get_array(), generator.grid.T)
    plt.close(figure)
