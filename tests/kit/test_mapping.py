from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from irsim_isaac.errors import StageError
from irsim_isaac.map import load_ros_map
from irsim_isaac.stage import build_occupancy
from irsim_isaac.stage import open_stage as open_stage_file
from tests.kit.host import ROOT, Kit

STAGE = ROOT / "data" / "warehouse.usda"


def test_the_room_imports_without_omniverse_and_quietly() -> None:
    program = (
        "import sys, irsim_isaac.kit; "
        "names = {name.split('.')[0] for name in sys.modules}; "
        "print(sorted(names & {'omni', 'carb', 'isaacsim', 'pxr'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_outside_isaac_sim_there_is_no_stage_to_map(tmp_path: Path) -> None:
    from irsim_isaac.kit import map_stage

    with pytest.raises(StageError, match=r"this is not Isaac Sim's process"):
        map_stage(tmp_path)


def test_the_map_is_the_one_that_the_stage_gives_outside(kit: Kit, tmp_path: Path) -> None:
    kit.module("omni.usd").get_context().open_stage(str(STAGE))
    mapped = kit.module("irsim_isaac.kit").map_stage(
        tmp_path / "out", resolution=0.1, height=(0.2, 0.5), bounds=(-2.0, -2.0, 2.0, 3.0)
    )
    alone = build_occupancy(
        open_stage_file(STAGE), resolution=0.1, height=(0.2, 0.5), bounds=(-2.0, -2.0, 2.0, 3.0)
    )
    loaded = load_ros_map(mapped.map)
    assert np.array_equal(loaded.cells, alone.cells)
    assert loaded.origin == pytest.approx(alone.origin)
    assert mapped.report.omissions == alone.report.omissions


def test_what_the_session_moved_is_mapped_where_it_is(kit: Kit, tmp_path: Path) -> None:
    from pxr import Usd, UsdGeom

    context = kit.module("omni.usd").get_context()
    context.new_stage()
    stage = context.get_stage()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    cube = UsdGeom.Cube.Define(stage, "/World/crate")
    cube.CreateSizeAttr(1.0)
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        UsdGeom.XformCommonAPI(cube).SetTranslate((3.0, 1.0, 0.5))
    mapped = kit.module("irsim_isaac.kit").map_stage(
        tmp_path / "out", resolution=0.5, bounds=(0.0, 0.0, 5.0, 2.0)
    )
    occupied = np.argwhere(load_ros_map(mapped.map).cells == 100)
    assert [tuple(cell) for cell in occupied] == [(5, 1), (5, 2), (6, 1), (6, 2)]


def test_a_failed_mapping_leaves_what_was_there(
    kit: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "kept.txt").write_text("mine")
    kit.module("omni.usd").get_context().new_stage()
    with pytest.raises(StageError):
        kit.module("irsim_isaac.kit").map_stage(out)
    assert [path.name for path in out.iterdir()] == ["kept.txt"]


def test_every_public_name_of_the_room_can_be_had(kit: Kit) -> None:
    room = kit.module("irsim_isaac.kit")
    for name in room.__all__:
        assert getattr(room, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        room.nothing  # noqa: B018  # looking it up is what is tried
