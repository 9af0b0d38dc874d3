"""Checking inside Isaac Sim that it is what the extension takes it for."""

from __future__ import annotations

import ast
import importlib
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irsim_isaac import __version__
from irsim_isaac.errors import IrsimIsaacError
from irsim_isaac.kit.api_list import ApiName, disagreement, read_api_list
from irsim_isaac.kit.packages import COMMANDS, install_command, missing
from irsim_isaac.kit.versions import installed_version, isaac_sim

__all__ = ["Check", "check_names", "check_run", "header", "report", "self_check"]

_DEMO = "data/warehouse.usda"
_STEPS = 60


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        what: What it is.
        passed: Whether it is as expected.
        detail: What was found; why it failed.
    """

    what: str
    passed: bool
    detail: str = ""

    def __str__(self) -> str:
        """Return the line of a report."""
        line = f"{'pass' if self.passed else 'FAIL'}  {self.what}"
        return f"{line}: {self.detail}" if self.detail else line


class _Beyond(Exception):
    """What a name stands for cannot be had without using it."""


def header() -> str:
    """Return the first line of a report: what runs on what."""
    return (
        f"irsim_isaac {__version__}, Isaac Sim {installed_version()}, "
        f"Python {platform.python_version()}, {platform.platform()}"
    )


def check_names() -> Iterator[Check]:
    """Check every name of the list that this version has: that it is there, and its signature."""
    release = "5.1" if installed_version().startswith("5") else "6"
    for entry in read_api_list():
        if release in entry.versions:
            yield _checked(entry)


def _checked(entry: ApiName) -> Check:
    what = f"{entry.module}.{entry.name}"
    try:
        found = _reached(entry)
    except _Beyond as reason:
        return Check(what, True, str(reason))
    except ImportError as error:
        if entry.needs_window:
            return Check(what, True, "not in an application without a window")
        return Check(what, False, str(error))
    except AttributeError as error:
        return Check(what, False, str(error))
    wrong = disagreement(entry, found)
    return Check(what, not wrong, wrong)


def _reached(entry: ApiName) -> Any:
    """Import a name and follow its attributes and its calls without arguments."""
    module = importlib.import_module(entry.module)
    if "[" in entry.name or "(...)" in entry.name:
        raise _Beyond("used in the run")
    return _followed(module, ast.parse(entry.name, mode="eval").body)


def _followed(module: Any, node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return getattr(module, node.id)
    if isinstance(node, ast.Attribute):
        base = _followed(module, node.value)
        if base is None:
            raise _Beyond("nothing to ask before the simulation plays; used in the run")
        return getattr(base, node.attr)
    assert isinstance(node, ast.Call)
    return _followed(module, node.func)()


def check_run() -> Iterator[Check]:
    """Open the demo stage, read a lidar frame, step a robot and mirror one once."""
    from irsim_isaac.kit.application import open_file
    from irsim_isaac.kit.mapping import open_stage
    from irsim_isaac.kit.simulator import IsaacSimulator
    from irsim_isaac.mirror import Mirror
    from irsim_isaac.msg import Twist, Vector3
    from irsim_isaac.resources import resource
    from irsim_isaac.simulators import StageSimulator
    from irsim_isaac.stage import robot_specs, robot_starts

    path = resource(_DEMO)
    open_file(path)
    yield Check(f"open {_DEMO}", True)
    stage = open_stage()
    robots, starts = robot_specs(stage), robot_starts(stage)
    isaac = IsaacSimulator(robots=robots, starts=starts)
    try:
        name = next(iter(isaac.robots))
        lidar = isaac.lidars[name][0]
        before = isaac.read().objects[0].odom.pose.pose.position.x
        began = isaac_sim().simulation_time()
        forward = {name: Twist(Vector3(0.5, 0.0, 0.0), Vector3())}
        steps = 0
        while lidar.scan is None and steps < _STEPS:
            isaac.step(forward)
            steps += 1
        counts = lidar.counts
        yield Check("read a lidar frame", lidar.scan is not None, f"{counts} after {steps} steps")
        for _ in range(10):
            state = isaac.step(forward)
        way = state.objects[0].odom.pose.pose.position.x - before
        told = 0.5 * (steps + 10) * isaac.step_time
        passed = isaac_sim().simulation_time() - began
        yield Check(
            "time is the simulation's",
            abs(isaac.time - passed) < 1e-4,
            f"{isaac.time:.6f} s by steps, {passed:.6f} s by Isaac Sim",
        )
        yield Check(
            "step a robot",
            0.7 * told < way < 1.2 * told,
            f"went {way:.3f} m of {told:.3f} m that it was told",
        )
        leader = StageSimulator(stage=path, robots=robots, starts=starts)
        try:
            mirror = Mirror(leader, isaac, direction="follow", commands=lambda state: forward)
            mirror.start()
            mirror.run(1)
            here = mirror.left_state.objects[0].odom.pose.pose.position
            there = isaac.read().objects[0].odom.pose.pose.position
            apart = max(abs(here.x - there.x), abs(here.y - there.y))
            yield Check("mirror a robot", apart < 1e-3, f"{apart:.2g} m apart")
        finally:
            leader.close()
    finally:
        isaac.close()
    yield _mirrored_irsim()


def _mirrored_irsim() -> Check:
    """Mirror IR-SIM in a process of its own, where there is a Python for it."""
    from irsim_isaac.kit.irsim_process import IrsimAbsentError
    from irsim_isaac.kit.live_mirror import LiveMirror

    what = "mirror IR-SIM in a process of its own"
    mirror = LiveMirror(drive="step", step_time=0.1)
    try:
        mirror.start("follow")
        mirror.run(10)
        apart = max(item.position for item in mirror.divergence.present.values())
        return Check(what, apart < 1e-3, f"process {mirror.process_id}, {apart:.2g} m apart")
    except IrsimAbsentError as error:
        return Check(what, True, f"not done: {error}")
    except IrsimIsaacError as error:
        return Check(what, False, str(error))
    finally:
        mirror.close()


def self_check() -> Iterator[Check]:
    """Give every check, one after the other; a part that breaks off is a failed check."""
    absent = missing(COMMANDS)
    yield Check(
        "packages",
        not absent,
        f"missing; install with: {install_command(absent)}" if absent else "",
    )
    try:
        yield Check("version", True, isaac_sim().version)
        yield from check_names()
        yield from check_run()
    except (IrsimIsaacError, AttributeError, TypeError, ValueError, OSError) as error:
        yield Check("the rest", False, f"{type(error).__name__}: {error}")


def report(checks: Iterator[Check]) -> int:
    """Print the checks as they come, and what came of them.

    Returns:
        0 where all passed, else 1.
    """
    print(header())
    failed = passed = 0
    for check in checks:
        print(check, flush=True)
        failed += not check.passed
        passed += check.passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
