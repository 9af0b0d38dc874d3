from __future__ import annotations

import sys

import pytest
from PIL import Image

from irsim_isaac import __version__
from tests.kit.host import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SECTIONS = ["core", "package", "dependencies", "python", "settings", "test", "documentation"]
FIELDS = [
    "version",
    "category",
    "title",
    "description",
    "authors",
    "repository",
    "keywords",
    "changelog",
    "readme",
    "preview_image",
    "icon",
    "writeTarget",
]


@pytest.fixture(scope="module")
def manifest() -> dict:
    return tomllib.loads((ROOT / "extension.toml").read_text())


def test_the_copy_in_config_is_the_same_to_the_byte() -> None:
    root = (ROOT / "extension.toml").read_bytes()
    assert (ROOT / "config" / "extension.toml").read_bytes() == root


def test_sections_and_fields_stand_in_isaac_sims_order(manifest: dict) -> None:
    assert list(manifest) == SECTIONS
    assert list(manifest["package"]) == FIELDS


def test_dependencies_are_alphabetical(manifest: dict) -> None:
    assert list(manifest["dependencies"]) == sorted(manifest["dependencies"])


def test_each_setting_has_a_comment_above_it(manifest: dict) -> None:
    lines = (ROOT / "extension.toml").read_text().splitlines()
    start = lines.index("[settings]") + 1
    for above, line in zip(lines[start - 1 :], lines[start:], strict=False):
        if line.startswith("["):
            break
        if "=" in line and not line.startswith("#"):
            assert above.startswith("# "), line


def test_the_first_test_is_startup_and_the_last_has_no_name(manifest: dict) -> None:
    assert manifest["test"][0]["name"] == "startup"
    assert "name" not in manifest["test"][-1]


def test_the_version_is_the_packages(manifest: dict) -> None:
    assert manifest["package"]["version"] == __version__


def test_what_it_names_exists(manifest: dict) -> None:
    package = manifest["package"]
    named = [package[key] for key in ("changelog", "readme", "preview_image", "icon")]
    for name in [*named, *manifest["documentation"]["pages"]]:
        assert (ROOT / name).is_file(), name
    for module in manifest["python"]["module"]:
        path = ROOT / module["name"].replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def test_the_pictures_are_what_their_script_draws() -> None:
    namespace: dict = {"__name__": "make_icons", "__file__": str(ROOT / "data" / "make_icons.py")}
    script = ROOT / "data" / "make_icons.py"
    exec(compile(script.read_text(), str(script), "exec"), namespace)
    with Image.open(ROOT / "data" / "icon.png") as icon:
        assert icon.size == (256, 256)
        assert icon.convert("RGB").tobytes() == namespace["icon"]().tobytes()
    with Image.open(ROOT / "data" / "preview.png") as preview:
        assert preview.convert("RGB").tobytes() == namespace["preview"]().tobytes()
