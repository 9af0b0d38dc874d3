"""What the room needs, and what it says where that is missing."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCKED = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked}:
            raise ImportError(name)
sys.meta_path.insert(0, Block())
"""


def run(code: str, *blocked: str) -> str:
    script = BLOCKED.format(blocked=set(blocked)) + code
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    ).stdout


def test_worlds_are_asked_without_usd_and_without_a_database():
    out = run(
        "from irsim_isaac.interactive import WorldServices, read_world_model\n"
        "from irsim_isaac.msg.interactive_world import GetSurfaces, WorldModel\n"
        "print(WorldServices(WorldModel()).get_surfaces(GetSurfaces.Request()).surfaces)\n"
        "print([name for name in ('pxr', 'sqlalchemy', 'warp', 'rclpy') if name in sys.modules])",
        "pxr", "sqlalchemy", "warp", "rclpy",
    )  # fmt: skip
    assert out == "[]\n[]\n"


@pytest.mark.parametrize(
    ("blocked", "url"),
    [
        ("sqlalchemy", "sqlite:///x.db"),
        ("pymysql", "mariadb://a:b@c/d"),
        ("psycopg", "postgresql://a:b@c/d"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(blocked, url, tmp_path):
    if blocked != "sqlalchemy":
        pytest.importorskip("sqlalchemy")
    out = run(
        "from irsim_isaac.errors import MissingPackageError\n"
        "from irsim_isaac.interactive import Store\n"
        "try:\n"
        f"    Store({url!r})\n"
        "except MissingPackageError as error:\n"
        "    print(error.package, error.extra)\n",
        blocked,
    )
    assert out == f"{blocked} store\n"
