from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irsim_isaac.kit.api_list import ApiName, disagreement, parse_signature
from tests.kit.host import Kit
from tests.kit.test_standalone import run

pytest.importorskip("ovphysx")


def test_every_check_passes_on_the_double(
    headless: Kit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check_kit.py", patch=monkeypatch) == 0
    first, *lines, last = capsys.readouterr().out.splitlines()
    version = {"5_1": "5.1.0", "6": "6.0.1"}[headless.release]
    assert f"Isaac Sim {version}, Python" in first
    assert all(line.startswith("pass  ") for line in lines)
    assert last == f"{len(lines)} passed, 0 failed"
    text = "\n".join(lines)
    # It is told that this was not done: there is no Python for it.
    assert "pass  mirror IR-SIM in a process of its own: not done: IR-SIM has no Python" in text
    for what in ("read a lidar frame", "step a robot", "mirror a robot", "time is the sim"):
        assert f"pass  {what}" in text
    assert "pass  omni.kit.menu.utils.add_menu_items: not in an application without" in text
    assert headless.registered()["annotators"] == []


def test_ir_sim_is_mirrored_where_there_is_a_python_for_it(headless: Kit) -> None:
    pytest.importorskip("irsim")
    settings = headless.module("carb.settings").get_settings()
    settings.set("/exts/irsim_isaac/irsim_python", sys.executable)
    headless.module("irsim_isaac.kit.script").enable_extensions()
    *_, check = headless.module("irsim_isaac.kit.self_check").check_run()
    assert str(check).startswith("pass  mirror IR-SIM in a process of its own: process ")
    number = int(check.detail.split()[1].rstrip(","))
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def rename(function: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """Return a function that takes a parameter under another name."""
    signature = inspect.signature(function)

    def renamed(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    renamed.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            item.replace(name=new) if item.name == old else item
            for item in signature.parameters.values()
        ]
    )
    return renamed


@pytest.mark.parametrize(
    ("module", "owner", "method", "old", "new"),
    [
        ("omni.usd", "UsdContext", "open_stage", "url", "address"),
        ("omni.kit.actions.core", "IActionRegistry", "register_action", "display_name", "title"),
        ("carb.settings", "ISettings", "get", "path", "key"),
        ("omni.replicator.core", "AnnotatorRegistry", "get_annotator", "name", "annotator"),
    ],
)
def test_one_changed_signature_fails_the_check(
    headless: Kit,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    module: str,
    owner: str,
    method: str,
    old: str,
    new: str,
) -> None:
    target = getattr(headless.module(module), owner)
    changed = rename(getattr(target, method), old, new)
    static = isinstance(inspect.getattr_static(target, method), staticmethod)
    monkeypatch.setattr(target, method, staticmethod(changed) if static else changed)
    assert run("check_kit.py", "--names", patch=monkeypatch) == 1
    lines = capsys.readouterr().out.splitlines()
    (failed,) = (line for line in lines if line.startswith("FAIL"))
    assert method in failed
    assert f"'{old}'" in failed
    assert lines[-1].endswith(", 1 failed")


def test_a_name_that_is_gone_fails_the_check(
    headless: Kit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(headless.module("carb.tokens"), "get_tokens_interface")
    assert run("check_kit.py", "--names", patch=monkeypatch) == 1
    lines = capsys.readouterr().out.splitlines()
    failed = [line for line in lines if line.startswith("FAIL")]
    assert len(failed) == 2
    assert all("get_tokens_interface" in line for line in failed)


def test_an_unsupported_version_fails_at_the_start(
    headless: Kit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    headless.module("isaacsim.core.version").core = "5.0.0"
    assert run("check_kit.py", patch=monkeypatch) == 1
    assert capsys.readouterr().out == (
        "FAIL  start: Isaac Sim 5.0.0 is not supported; 5.1 or 6.x was expected\n"
    )


@pytest.mark.parametrize(
    ("listed", "there", "expected"),
    [
        ("(path)", lambda path: None, ""),
        ("(path)", lambda path, extra=None: None, ""),
        ("(path)", lambda path, extra: None, "requires 'extra', which is not given"),
        ("(path, order=0)", lambda path: None, "has no parameter 'order'"),
        ("(path, order=0)", lambda path, **other: None, ""),
        ("(path, name)", lambda name, path: None, "does not take 'path' in place 1"),
        ("(*, index=None)", lambda *, index=None: None, ""),
        ("(*, index=None)", lambda index=None: None, ""),
        ("(dt)", print, "has no parameter 'dt'"),
        ("()", 3, "is a int and cannot be called"),
    ],
)
def test_a_signature_disagrees_when_a_call_would_fail(
    listed: str, there: Any, expected: str
) -> None:
    entry = ApiName("module", "name", parse_signature(listed), ("6",), False, "A")
    assert disagreement(entry, there) == expected


def test_the_list_travels_with_the_clone(tmp_path: Path) -> None:
    from irsim_isaac.kit.api_list import read_api_list

    assert len(read_api_list()) > 80
    with pytest.raises(FileNotFoundError):
        read_api_list(tmp_path / "absent.md")


def test_the_doctor_checks_the_isaac_sim_that_it_runs_in(
    headless: Kit, capsys: pytest.CaptureFixture[str]
) -> None:
    from irsim_isaac.cli import main

    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["isaac_sim"]) > 60
    assert all(check["passed"] for check in found["isaac_sim"])
    assert {"read a lidar frame", "mirror a robot"} <= {
        check["what"] for check in found["isaac_sim"]
    }
    (application,) = headless.module("isaacsim").started
    assert application.closed


def test_the_doctor_exits_with_1_where_a_check_failed(
    headless: Kit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from irsim_isaac.cli import main

    monkeypatch.delattr(headless.module("carb"), "log_info")
    assert main(["doctor"]) == 1
    assert "FAIL  carb.log_info: " in capsys.readouterr().out
