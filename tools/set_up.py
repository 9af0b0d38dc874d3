"""Make ``.venv`` with everything that the demo and the tests need, after saying what comes.

Run by ``make`` with any Python from 3.10 on; it needs the standard library alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / ".complete"

NOTICE = """\
Setting up {environment}: about 530 MB to download, 2 GB on disk, nothing outside it.
  ir-sim (MIT), usd-core (Tomorrow Open Source Technology License 1.0), warp-lang (Apache-2.0),
  numpy, scipy, shapely, matplotlib, plotly and other open-source packages: about 330 MB
  ovphysx and ovstage, NVIDIA's PhysX for Python: about 200 MB, under the NVIDIA Omniverse
  licence, which is neither this project's nor open source; it is printed in
  .venv/lib/python*/site-packages/ovphysx-*.dist-info/licenses/ once installed"""

WITHOUT_PHYSX = "usd,irsim,fast,record,report,remote,store,dev"


def _python() -> Path:
    folder = "Scripts" if os.name == "nt" else "bin"
    return ENVIRONMENT / folder / "python"


def _pip(*arguments: str) -> int:
    command = [str(_python()), "-m", "pip", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _has_physx_wheel() -> bool:
    """Tell whether the registry has an ovphysx wheel for this machine and Python."""
    pinned = next(
        line.split(";")[0].strip()
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line.startswith("ovphysx==")
    )
    command = [str(_python()), "-m", "pip", "install", "--dry-run", "--no-deps", "--quiet", pinned]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0


def main() -> int:
    """Set up the environment.

    Returns:
        The exit code of what failed, or 0.
    """
    if sys.version_info < (3, 10):  # noqa: UP036 - an older Python must be told, not crash later
        print(f"Python 3.10 or newer is needed, this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    print(NOTICE.format(environment=ENVIRONMENT.relative_to(ROOT)), flush=True)
    # Linked as `python3 -m venv` does it: a copy onto the link that is there already would fail.
    venv.create(ENVIRONMENT, with_pip=True, clear=False, symlinks=os.name != "nt")
    extras = "all,dev"
    if not _has_physx_wheel():
        extras = WITHOUT_PHYSX
        print(
            "There is no ovphysx wheel for this machine; StageSimulator takes its place.",
            flush=True,
        )
    code = _pip(
        "install", "--quiet", "--constraint", "constraints.txt", "--editable", f".[{extras}]"
    )
    if code == 0:
        STAMP.touch()
    return code


if __name__ == "__main__":
    sys.exit(main())
