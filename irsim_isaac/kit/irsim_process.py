"""IR-SIM beside Isaac Sim: the Python that it runs in, how that is made, and starting it."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import irsim_isaac
from irsim_isaac.errors import SimulatorError
from irsim_isaac.kit.packages import REMOTE, python_launcher, require

if TYPE_CHECKING:
    from irsim_isaac.clock import Seconds
    from irsim_isaac.robot import RobotSpec
    from irsim_isaac.simulators import RemoteSimulator, StartPose

__all__ = [
    "ENVIRONMENT_SETTING",
    "IRSIM_REQUIREMENTS",
    "PYTHON_SETTING",
    "IrsimAbsentError",
    "environment_folder",
    "irsim_python",
    "make_environment",
    "making_commands",
    "start_irsim",
]

PYTHON_SETTING = "/exts/irsim_isaac/irsim_python"
"""The setting that names the Python of IR-SIM; empty for that of the environment."""

ENVIRONMENT_SETTING = "/exts/irsim_isaac/irsim_environment"
"""The setting that names the folder of the environment that is made for IR-SIM."""

IRSIM_REQUIREMENTS = (
    "numpy>=1.26",
    "shapely>=2.0",
    "warp-lang>=1.8.2",
    "pyyaml>=6.0",
    "pydantic>=2.6",
    "pillow>=10.0",
    "typer>=0.12",
    "rich>=13.0",
    "ir-sim>=2.12,<2.13",
    "matplotlib>=3.8",
    "pyzmq>=26.0",
    "msgpack>=1.0",
)
"""What the environment holds: IR-SIM, and what this package needs to serve it."""

_DEFAULT_FOLDER = "${omni_data}/exts/irsim_isaac/irsim"
_MARK = "irsim_isaac.txt"
"""Written last, so that an environment that was left half made counts for none."""

_KITS_OWN = (
    "PYTHONHOME",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PXR_PLUGINPATH_NAME",
)
"""What Isaac Sim sets for itself, with which another Python would load Isaac Sim's packages."""

_LOOK = 0.05
"""Between two looks at a command that runs [s]."""

_LINES_SHOWN = 300
"""Letters of a line of another program that are told at most."""

Progress = Callable[[int, int, str], None]


class IrsimAbsentError(SimulatorError):
    """There is no Python to run IR-SIM in, or none could be made."""


def environment_folder() -> Path:
    """Return the folder of the environment that is made for IR-SIM, whether it is there or not."""
    return Path(_resolved(_setting(ENVIRONMENT_SETTING) or _DEFAULT_FOLDER))


def irsim_python() -> str:
    """Return the Python to run IR-SIM in: that of the setting, else that of the environment.

    Raises:
        IrsimAbsentError: The setting names no program, or the environment is not there.
    """
    given = _setting(PYTHON_SETTING)
    if given:
        command = _resolved(given)
        found = shutil.which(command)
        if found is None:
            raise IrsimAbsentError(
                f"the setting {PYTHON_SETTING} is '{given}', which is no program that can be run; "
                "the path of a Python with ir-sim was expected"
            )
        return found
    folder = environment_folder()
    python = _environment_python(folder)
    if not (folder / _MARK).is_file() or not python.is_file():
        raise IrsimAbsentError(
            f"IR-SIM has no Python yet: there is no environment for it in {folder}. Have it made "
            "by the action make_irsim_environment or the command 'python.sh "
            f"standalone/make_irsim_environment.py', or name a Python with ir-sim in the setting "
            f"{PYTHON_SETTING}"
        )
    made_of = (folder / _MARK).read_text(encoding="utf-8").splitlines()
    if tuple(made_of) != IRSIM_REQUIREMENTS:
        raise IrsimAbsentError(
            f"the environment of IR-SIM in {folder} was made for another version of irsim_isaac; "
            "have it made again by the action make_irsim_environment"
        )
    return str(python)


def making_commands(folder: Path | None = None) -> tuple[str, ...]:
    """Return the lines that make the environment, ready for a terminal.

    Args:
        folder: Where; that of the setting where None.
    """
    commands = [command for _, command in _steps(folder or environment_folder())]
    if sys.platform == "win32":
        return tuple(subprocess.list2cmdline(command) for command in commands)
    return tuple(shlex.join(command) for command in commands)


def make_environment(
    *, progress: Progress | None = None, cancelled: threading.Event | None = None
) -> Path:
    """Make the environment that IR-SIM runs in; call it only after the user has said yes.

    It is a virtual environment of Isaac Sim's own Python with packages of its own. What was there
    before is replaced. An environment that cannot be finished is taken away.

    Args:
        progress: Called with (done, total, what).
        cancelled: Set it from another thread to break off.

    Returns:
        Its Python.

    Raises:
        IrsimAbsentError: It could not be made, or was broken off; the message ends with what
            the program said that failed.
    """
    folder = environment_folder()
    given_up = cancelled or threading.Event()
    tell = progress or _tell_nobody
    steps = _steps(folder)
    if folder.exists() and not (folder / "pyvenv.cfg").is_file() and any(folder.iterdir()):
        raise IrsimAbsentError(
            f"IR-SIM's environment cannot be made in {folder}, which holds something else; an "
            f"empty folder was expected, or another one in the setting {ENVIRONMENT_SETTING}"
        )
    try:
        if folder.exists():
            shutil.rmtree(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        for done, (what, command) in enumerate(steps):
            tell(done, len(steps), what)
            _run(what, command, given_up)
        (folder / _MARK).write_text("\n".join(IRSIM_REQUIREMENTS) + "\n", encoding="utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise IrsimAbsentError(f"IR-SIM's environment cannot be made: {error}") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    tell(len(steps), len(steps), "done")
    return _environment_python(folder)


def start_irsim(
    world: str | os.PathLike[str] | None = None,
    *,
    folder: Path | None = None,
    robots: Sequence[RobotSpec] = (),
    starts: Mapping[str, StartPose] | None = None,
    step_time: Seconds = 0.1,
    seed: int = 0,
    python: str | None = None,
    timeout: float = 30.0,
    **options: Any,
) -> RemoteSimulator:
    """Start IR-SIM in a process of its own.

    The process sees nothing of Isaac Sim's Python but this very package. It ends with the
    simulator, and by itself when this process is no more. In Isaac Sim this is what the
    simulator "irsim" is.

    Args:
        world: The world file.
        folder: A folder of the caller's, where this package is laid out where it lies among
            others; None for one that lasts as long as this process.
        robots: Its robots.
        starts: Where robots start that do not start where the world says: x, y [m], yaw [rad].
        step_time: The length of a step [s].
        seed: The seed of everything random.
        python: The Python to run it in; that of ``irsim_python`` where None.
        timeout: How long an answer may take [s].
        **options: What ``IrsimSimulator`` takes besides.

    Raises:
        MissingInIsaacSimError: pyzmq or msgpack is missing here; the message says how to install
            them.
        IrsimAbsentError: There is no Python to run it in.
        SimulatorError: It cannot be started, or cannot load the world.
    """
    require(REMOTE, "IR-SIM in a process of its own")
    from irsim_isaac.simulators import RemoteSimulator

    return RemoteSimulator(
        simulator="irsim",
        world=world,
        robots=robots,
        starts=starts,
        step_time=step_time,
        seed=seed,
        python=python or irsim_python(),
        environment=_clean_environment(_lent_package(folder)),
        timeout=timeout,
        **options,
    )


def _setting(path: str) -> str:
    import carb.settings

    return str(carb.settings.get_settings().get(path) or "").strip()


def _resolved(text: str) -> str:
    import carb.tokens

    return os.path.expanduser(str(carb.tokens.get_tokens_interface().resolve(text)))


def _environment_python(folder: Path) -> Path:
    if sys.platform == "win32":
        return folder / "Scripts" / "python.exe"
    return folder / "bin" / "python"


def _steps(folder: Path) -> list[tuple[str, list[str]]]:
    """Return what makes the environment: each command and what it does."""
    python = str(_environment_python(folder))
    pip = ["-m", "pip", "install", "--disable-pip-version-check"]
    return [
        ("making the environment", [python_launcher(), "-m", "venv", str(folder)]),
        ("installing ir-sim", [python, *pip, *IRSIM_REQUIREMENTS]),
        ("trying it", [python, "-c", "import irsim, zmq, msgpack, shapely, warp"]),
    ]


def _run(what: str, command: Sequence[str], given_up: threading.Event) -> None:
    """Run one command to its end, unless it is given up."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**os.environ, **_clean_environment(None)},
        start_new_session=True,
    )
    lines: list[str] = []
    output = process.stdout
    assert output is not None

    def read() -> None:
        with output:
            lines.extend(output)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        while process.poll() is None and not given_up.wait(_LOOK):
            pass
        if given_up.is_set():
            raise IrsimAbsentError(f"{what} was broken off; IR-SIM has no environment")
    finally:
        _end(process)
        reader.join(1.0)
    if process.returncode:
        raise IrsimAbsentError(
            f"{what} failed ({_last_word(lines)}); the command was: {shlex.join(command)}"
        )


def _end(process: subprocess.Popen[str]) -> None:
    """End a command and all that it started."""
    if process.poll() is None:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()


def _last_word(lines: Sequence[str]) -> str:
    """Return the line of a program that says best why it failed."""
    said = [line.strip() for line in lines if line.strip()]
    errors = [line for line in said if line.upper().startswith("ERROR")]
    return (errors or said or ["it said nothing"])[-1][:_LINES_SHOWN]


def _clean_environment(package: Path | None) -> dict[str, str]:
    """Return what to set so that another Python loads nothing of Isaac Sim's.

    Python and the loader take an empty variable for one that is not set.

    Args:
        package: The folder that this package is to be found in; None for nowhere.
    """
    cleaned = {name: "" for name in _KITS_OWN if name in os.environ}
    cleaned["PYTHONNOUSERSITE"] = "1"
    if package is not None:
        cleaned["PYTHONPATH"] = str(package)
    return cleaned


def _lent_package(folder: Path | None) -> Path:
    """Return a folder that holds this package and no other.

    Args:
        folder: Where it is laid out when it is installed among Isaac Sim's packages.
    """
    package = Path(irsim_isaac.__file__).resolve().parent
    if (package.parent / "pyproject.toml").is_file():
        return package.parent
    if folder is None:
        folder = _own_folder()
    lent = folder / "package"
    if not lent.exists():
        lent.mkdir(parents=True)
        try:
            (lent / package.name).symlink_to(package, target_is_directory=True)
        except OSError:
            # Windows gives links to some users only.
            shutil.copytree(package, lent / package.name)
    return lent


@cache
def _own_folder() -> Path:
    """Return a folder that lasts as long as this process."""
    folder = tempfile.mkdtemp(prefix="irsim_isaac_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def _tell_nobody(done: int, total: int, what: str) -> None:
    """Tell of progress where nobody asked for it."""
