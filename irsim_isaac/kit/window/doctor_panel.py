"""The panel that checks whether this Isaac Sim is what the extension takes it for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.packages import install_command, missing
from irsim_isaac.kit.self_check import Check, check_names, header
from irsim_isaac.kit.versions import isaac_sim
from irsim_isaac.kit.window.description import Action, Panel, Text
from irsim_isaac.kit.window.host import copy_text
from irsim_isaac.kit.window.model import PanelModel

__all__ = ["Doctor"]

_SLICE = 0.004
"""How long checks may take within one frame [s]."""

_SHOWN = 8


class Doctor(PanelModel):
    """Walks through what is used of Isaac Sim, a few names a frame.

    Attributes:
        checks: What was checked last.
    """

    checks: tuple[Check, ...] = ()

    async def run(self) -> tuple[Check, ...]:
        """Check packages, the version, and every name and signature that is used.

        Returns:
            The checks.
        """
        task = self.task
        assert task is not None
        found: list[Check] = []
        begun = time.perf_counter()
        for check in _all_checks():
            found.append(check)
            if time.perf_counter() - begun > _SLICE:
                task.progress(len(found), 0, f"{len(found)} checks")
                await asyncio.sleep(0)
                begun = time.perf_counter()
        self.checks = tuple(found)
        failed = [check for check in found if not check.passed]
        lines = [str(check) for check in failed[:_SHOWN]]
        if len(failed) > _SHOWN:
            lines.append(f"and {len(failed) - _SHOWN} more; 'Copy' has them all")
        self.tell(
            result=f"{len(found) - len(failed)} passed, {len(failed)} failed",
            failures="\n".join(lines)
            or "Frames, steps and a mirror are checked by python.sh standalone/check_kit.py",
        )
        return self.checks

    def copy(self) -> str:
        """Put the report into the clipboard, ready for a bug report.

        Returns:
            The report.

        Raises:
            SimulatorError: Nothing was checked yet.
        """
        if not self.checks:
            raise SimulatorError("nothing was checked yet; run the check first")
        report = "\n".join([header(), *(str(check) for check in self.checks)])
        copy_text(report)
        return report


def _all_checks() -> Iterator[Check]:
    absent = missing()
    yield Check(
        "packages", not absent, f"install with: {install_command(absent)}" if absent else ""
    )
    try:
        yield Check("version", True, isaac_sim().version)
    except SimulatorError as error:
        yield Check("version", False, str(error))
        return
    yield from check_names()


Doctor.panel = Panel(
    name="doctor",
    title="Doctor",
    description="Whether this Isaac Sim is what the extension takes it for.",
    actions=(
        Action("run", "Check", "Check packages, version, names and signatures.", Doctor.run),
        Action("copy", "Copy", "Put the report into the clipboard.", Doctor.copy),
        Action("cancel", "Cancel", "Give up what is being done.", Doctor.cancel),
    ),
    texts=(Text("result"), Text("failures", lines=4)),
)
