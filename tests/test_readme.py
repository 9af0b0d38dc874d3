"""The examples of the README run as they stand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.splitlines()[0])
def test_an_example_runs(example: str, tmp_path: Path) -> None:
    pytest.importorskip("pxr")
    pytest.importorskip("irsim")
    (tmp_path / "data").mkdir()
    shutil.copy(ROOT / "data" / "warehouse.usda", tmp_path / "data")
    result = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "out" / "warehouse" / "world.yaml").is_file()


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)", TEXT)
    assert links
    missing = [link for link in links if not (ROOT / link).exists()]
    assert missing == []
