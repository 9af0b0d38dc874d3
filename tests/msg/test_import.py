"""What importing the messages costs and pulls in."""

from __future__ import annotations

import subprocess
import sys

BARE = """
import sys

class NumpyAlone:
    allowed = {"numpy", "irsim_isaac"}

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in self.allowed and top not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"{top} is not installed", name=top)

for name in list(sys.modules):
    if name.partition(".")[0] not in sys.stdlib_module_names:
        del sys.modules[name]
sys.meta_path.insert(0, NumpyAlone())
import irsim_isaac.msg as msg
import numpy as np

scan = msg.LaserScan(msg.Header(), *[0.0] * 7, np.ones(3, np.float32), np.zeros(0, np.float32))
state = msg.WorldState(msg.Header(), "w", "on", 0.1, [])
assert msg.WorldState.from_json(state.to_json()) == state
assert msg.LaserScan.from_json(scan.to_json()) == scan
from irsim_isaac.msg import ros
try:
    ros.to_cdr(scan)
except ImportError as error:
    assert str(error) == (
        "the package 'rosbags' is not installed; it comes with the extra 'record': "
        "pip install 'irsim-isaac[record]'"
    ), error
else:
    raise AssertionError("rosbags cannot be there")
from irsim_isaac import recording
for suffix in (".mcap", ".jsonl"):
    try:
        recording.record(sys.argv[1] + suffix).close()
    except ImportError as error:
        assert suffix == ".mcap" and "irsim-isaac[record]" in str(error), error
    else:
        assert suffix == ".jsonl"
foreign = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
assert foreign <= {"numpy", "irsim_isaac", "__main__", "__mp_main__"}, foreign
"""


def test_messages_need_numpy_alone_and_print_nothing(tmp_path):
    """Every other package is refused while it runs, as where it is not installed."""
    result = subprocess.run(
        [sys.executable, "-c", BARE, str(tmp_path / "run")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert (result.stdout, result.stderr) == ("", "")
