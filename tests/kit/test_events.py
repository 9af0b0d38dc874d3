from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kit.host import ROOT, Kit

STAGE = ROOT / "data" / "warehouse.usda"


@pytest.fixture
def events(headless: Kit) -> Any:
    # Isaac Sim's own observers are there first.
    headless.module("isaacsim.core.simulation_manager")
    return headless.module("irsim_isaac.kit.events")


def test_a_stage_that_opens_and_closes_calls_back_in_order(headless: Kit, events: Any) -> None:
    heard: list[str] = []
    undos = [
        events.on_stage(event, lambda event=event: heard.append(event))
        for event in ("OPENED", "CLOSING", "CLOSED")
    ]
    headless.open_stage(STAGE)
    headless.open_stage(STAGE)
    assert heard == ["OPENED", "CLOSING", "CLOSED", "OPENED"]
    for undo in undos:
        undo()
    headless.open_stage(STAGE)
    assert len(heard) == 4


def test_a_step_callback_that_a_stage_clears_is_registered_again(
    headless: Kit, events: Any
) -> None:
    pytest.importorskip("ovphysx")
    isaac = headless.module("irsim_isaac.kit.versions").isaac_sim()
    before = headless.registered()
    headless.open_stage(STAGE)
    lengths: list[float] = []
    end = events.kept(lambda: isaac.on_physics_step(lengths.append))
    for _ in range(3):
        headless.open_stage(STAGE)
        assert len(headless.registered()["physics steps"]) == 1
    timeline = headless.module("omni.timeline").get_timeline_interface()
    timeline.play()
    timeline.commit()
    isaac.step()
    assert len(lengths) == 1
    end()
    end()
    assert headless.registered() == before


def test_ending_after_the_stage_has_closed_is_no_error(headless: Kit, events: Any) -> None:
    isaac = headless.module("irsim_isaac.kit.versions").isaac_sim()
    headless.open_stage(STAGE)
    end = events.kept(lambda: isaac.on_physics_step(lambda seconds: None))
    headless.module("omni.usd").get_context().close_stage()
    assert headless.registered()["physics steps"] == []
    end()
    assert [level for level, _ in headless.log] == []


def test_the_imports_of_the_rooms_modules_need_no_window(headless: Kit, tmp_path: Path) -> None:
    for path in sorted((ROOT / "irsim_isaac" / "kit").rglob("*.py")):
        other = {"5_1": "isaac_6", "6": "isaac_5_1"}[headless.release]
        if path.stem != other:
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            headless.module(name.removesuffix(".__init__"))
