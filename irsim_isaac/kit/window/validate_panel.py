"""The panel that drives two simulators through a scenario and says where they disagree."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irsim_isaac.errors import ScenarioError
from irsim_isaac.kit.application import SIMULATOR
from irsim_isaac.kit.mapping import open_stage
from irsim_isaac.kit.packages import REMOTE, VALIDATING, require
from irsim_isaac.kit.window.description import Action, Field, Panel, Text
from irsim_isaac.kit.window.folders import output_folder
from irsim_isaac.kit.window.frame_calls import FrameCalls, OnFrames
from irsim_isaac.kit.window.model import PanelModel

if TYPE_CHECKING:
    from irsim_isaac.validation import Scenario, Validation

__all__ = ["Validate"]

_IRSIM = "irsim"
_LIVE = "Isaac Sim"
_AS_WRITTEN = "as written"
_PLAY_SIMULATIONS = "/app/player/playSimulations"

_LEFT = (_IRSIM, "stage", _AS_WRITTEN)
_RIGHT = (SIMULATOR, "stage", _AS_WRITTEN)


class Validate(PanelModel):
    """Runs a scenario with the live simulation on one side, a step a frame.

    Attributes:
        report: The report that was written last; None before one.
    """

    report: Path | None = None
    _calls: FrameCalls | None = None
    _live = False

    async def run(self) -> Validation:
        """Drive both sides through the scenario and write the report.

        Returns:
            What came of it.
        """
        from irsim_isaac.simulators import register, unregister
        from irsim_isaac.validation import (
            find_scenario,
            load_scenario,
            require_report_packages,
        )

        require(VALIDATING, "validating")
        require_report_packages()
        task = self.task
        assert task is not None
        self.tell(result="", table="")
        scenario = load_scenario(find_scenario(self.text("scenario")))
        left = _side(self.text("left"), scenario.left.simulator)
        right = _side(self.text("right"), scenario.right.simulator)
        live = _LIVE in (left, right)
        if live:
            self._require_free(scenario)
        if _IRSIM in (left, right):
            require(REMOTE, "IR-SIM in a process of its own")
        folder = output_folder(self.text("folder")) / "validation" / _file_name(scenario.title)
        with ExitStack() as stack:
            calls = self._calls = FrameCalls()
            self._live = live
            stack.callback(self._end_calls, calls)
            if live:
                stack.enter_context(_player_held())
            register(_LIVE, _live(calls), replace=True)
            stack.callback(unregister, _LIVE)
            result: Validation = await task.thread(
                _validated, scenario, folder, left, right, task.progress
            )
        self.report = folder / "report.html"
        self._tell_result(result)
        return result

    def _require_free(self, scenario: Scenario) -> None:
        """Refuse a scenario whose stage is not the one that is open, or is being mirrored."""
        if self.host.mirror is not None and self.host.mirror.state != "stopped":
            raise ScenarioError("the mirror has the live simulation; stop it first")
        found = open_stage().GetRootLayer().realPath
        wanted = os.path.realpath(scenario.stage_path)
        if not found or os.path.realpath(found) != wanted:
            raise ScenarioError(
                f"the scenario '{scenario.title}' is about {wanted}; open that stage first"
            )

    def _end_calls(self, calls: FrameCalls) -> None:
        """Do no more calls with the frames, and close what a call has left open."""
        from irsim_isaac.kit.simulator import close_simulator

        calls.close()
        if self._calls is calls:
            self._calls = None
            if self._live:
                close_simulator()

    def _tell_result(self, result: Validation) -> None:
        from irsim_isaac.validation import differences

        exceeded = [str(item) for item in result.comparison.exceeded]
        verdict = "good" if result.comparison.passed else f"exceeded: {'; '.join(exceeded)}"
        self.tell(
            result=f"{result.scenario.title}, {result.left.name} beside {result.right.name}: "
            f"{verdict}",
            table="\n".join(_row(*row) for row in differences(result)),
        )
        self.host.say(f"{self.texts['result']}; report: {self.report}")

    def watch(self) -> None:
        """Do what the validation wants done with this frame."""
        if self._calls is not None:
            self._calls.take()

    def open_report(self) -> Path:
        """Open the last report in the browser.

        Returns:
            The report.

        Raises:
            ScenarioError: There is none, or it is gone.
        """
        if self.report is None:
            raise ScenarioError("there is no report yet; run a scenario first")
        if not self.report.is_file():
            raise ScenarioError(f"the report {self.report} is gone; run the scenario again")
        webbrowser.open(self.report.resolve().as_uri())
        return self.report

    def cancel(self) -> None:
        """Give up what is being done."""
        super().cancel()
        if self._calls is not None:
            self._end_calls(self._calls)


def _row(what: str, value: str, note: str) -> str:
    """Return one difference as a line."""
    return f"{what}: {value} ({note})" if note else f"{what}: {value}"


def _validated(
    scenario: Scenario,
    folder: Path,
    left: str,
    right: str,
    progress: Callable[[int, int, str], None],
) -> Validation:
    """Run a scenario and write its report; on any thread."""
    from irsim_isaac.files import writing_directory
    from irsim_isaac.validation import validate, write_recordings, write_report

    with writing_directory(folder) as temporary:
        result = validate(scenario, temporary, left=left, right=right, progress=progress)
        left_out = write_recordings(result, temporary)
        write_report(result, temporary, left_out=left_out)
    return result


def _side(chosen: str, written: str) -> str:
    """Return the simulator of a side; the live one goes on with the frames here."""
    name = written if chosen == _AS_WRITTEN else chosen
    return _LIVE if name == SIMULATOR else name


def _live(calls: FrameCalls) -> Callable[..., Any]:
    """Return what makes the live simulation, each step of it with a frame."""

    def make(*, robots: Any, starts: Any, step_time: Any, seed: int) -> Any:
        from irsim_isaac.kit.simulator import IsaacSimulator

        # Rays need no frames, and a frame may not be asked for within a frame.
        return OnFrames(
            calls,
            lambda: IsaacSimulator(
                robots=robots, starts=starts, step_time=step_time, seed=seed, lidar="rays"
            ),
        )

    return make


def _player_held() -> ExitStack:
    """Keep the application from stepping the physics by itself, until the stack is closed."""
    import carb.settings

    settings = carb.settings.get_settings()
    before = settings.get(_PLAY_SIMULATIONS)
    settings.set(_PLAY_SIMULATIONS, False)
    stack = ExitStack()
    stack.callback(settings.set, _PLAY_SIMULATIONS, before is not False)
    return stack


def _file_name(name: str) -> str:
    """Return the name of a scenario as one of a folder."""
    letters = [letter if letter.isalnum() else "_" for letter in name.lower()]
    return "".join(letters).strip("_") or "scenario"


Validate.panel = Panel(
    name="validate",
    title="Validate",
    description="Two simulators through one drive, and where they disagree.",
    fields=(
        Field(
            "scenario",
            "Scenario",
            "path",
            "A scenario file, or the name of one that comes with the extension.",
            "warehouse",
        ),
        Field(
            "left",
            "Left",
            "choice",
            "The left side: IR-SIM in its own process, the kinematic simulator, or as written.",
            "irsim",
            choices=_LEFT,
        ),
        Field(
            "right",
            "Right",
            "choice",
            "The right side: this Isaac Sim, the kinematic simulator, or as written.",
            SIMULATOR,
            choices=_RIGHT,
        ),
        Field(
            "folder",
            "Folder",
            "path",
            "Where reports are written, in a folder named after the scenario.",
            "${omni_documents}/irsim_isaac",
        ),
    ),
    actions=(
        Action("run", "Run", "Drive both through the scenario.", Validate.run),
        Action("open_report", "Open report", "Show the last report.", Validate.open_report),
        Action("cancel", "Cancel", "Give up what is being done.", Validate.cancel),
    ),
    texts=(Text("result", lines=2), Text("table", lines=8)),
)
