"""Recordings as TUM trajectories: what evo and every evaluation of trajectories read.

A row is ``stamp x y z qx qy qz qw`` of one robot. The whole state stands in a comment before
its row, which such tools skip, so that nothing is lost; without these comments the rows alone
are read back, as poses.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

from irsim_isaac.errors import RecordingError
from irsim_isaac.msg import (
    Header,
    ObjectState,
    OccupancyGrid,
    Odometry,
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    WorldState,
)
from irsim_isaac.recording.entry import Entry, Order

__all__ = ["TumRecorder", "read_tum"]

_MARK = "#! "


class TumRecorder:
    """Writes the trajectory of one robot.

    Args:
        path: The file to write.
        robot: The robot's name; None takes the only robot there is.
        whole: Write the whole state in a comment before its row.
    """

    def __init__(self, path: Path, *, robot: str | None, whole: bool) -> None:
        self._robot = robot
        self._whole = whole
        self._source: str | None = None
        self._file = path.open("w", encoding="utf-8", newline="\n")
        self._file.write("# stamp[s] x[m] y[m] z[m] qx qy qz qw\n")
        self._file.flush()

    def write_state(self, source: str, state: WorldState) -> None:
        """Write the robot's pose.

        Raises:
            ValueError: The state comes from a second source, or does not have the one robot.
        """
        if self._source not in (None, source):
            raise ValueError(
                f"found states of '{self._source}' and '{source}'; a trajectory is of one source"
            )
        item = _robot(state, self._robot)
        pose = item.odom.pose.pose
        p, q = pose.position, pose.orientation
        numbers = (state.header.stamp, p.x, p.y, p.z, q.x, q.y, q.z, q.w)
        lines = []
        if self._whole:
            lines.append(
                f'{_MARK}{{"source":{json.dumps(source)},"robot":{json.dumps(item.name)},'
                f'"state":{state.to_json()}}}\n'
            )
        lines.append(" ".join(repr(float(number)) for number in numbers) + "\n")
        self._source, self._robot = source, item.name
        self._file.write("".join(lines))
        self._file.flush()

    def write_grid(self, source: str, kind: str, grid: OccupancyGrid) -> None:
        """Refuse a map.

        Raises:
            ValueError: Always; a trajectory holds no maps.
        """
        raise ValueError(f"found a {kind}; a trajectory holds poses alone")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _robot(state: WorldState, name: str | None) -> ObjectState:
    robots = state.robots
    chosen = [item for item in robots if name is None or item.name == name]
    if len(chosen) != 1:
        names = ", ".join(item.name for item in robots) or "none"
        raise ValueError(
            f"robots found: {names}; expected "
            + ("one, or to be told which" if name is None else f"one named '{name}'")
        )
    return chosen[0]


def read_tum(path: Path) -> Iterator[Entry]:
    """Yield what a trajectory holds; after the last whole row, say what is wrong.

    Rows without a state in a comment before them become states with one robot, named as the
    file.

    Raises:
        RecordingError: The file is foreign, cut off, damaged or out of order.
    """
    order = Order(path)
    pending: tuple[str, str, WorldState] | None = None
    count = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            where = f"line {number}"
            if not line.endswith(b"\n"):
                raise RecordingError(f"{path}, {where}: the recording is cut off in the line")
            try:
                text = line.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                raise RecordingError(f"{path}, {where}: not text: {error}") from error
            if text.startswith(_MARK):
                if pending is not None:
                    raise RecordingError(f"{path}, {where}: found a state, expected its row")
                pending = _state(path, where, text[len(_MARK) :])
            elif text and not text.startswith("#"):
                row = _row(path, where, text)
                if pending is None:
                    entry = Entry("", "state", _bare_state(path.stem, count, row))
                else:
                    source, robot, state = pending
                    _compare(path, where, row, state, robot)
                    entry = Entry(source, "state", state)
                pending = None
                count += 1
                assert isinstance(entry.message, WorldState)
                order.follow(entry.source, entry.message, where)
                yield entry
    if pending is not None:
        raise RecordingError(f"{path}: the recording is cut off before the row of its last state")
    if not count and path.stat().st_size == 0:
        raise RecordingError(f"{path}, line 1: the file is empty, expected a trajectory")


def _state(path: Path, where: str, text: str) -> tuple[str, str, WorldState]:
    try:
        content = json.loads(text)
        state = WorldState.from_json(json.dumps(content["state"]))
        return str(content["source"]), str(content["robot"]), state
    except (TypeError, ValueError, KeyError) as error:
        raise RecordingError(f"{path}, {where}: no whole state: {error}") from error


def _row(path: Path, where: str, text: str) -> list[float]:
    try:
        row = [float(number) for number in text.split()]
    except ValueError:
        row = []
    if len(row) != 8 or not math.isfinite(row[0]):
        raise RecordingError(
            f"{path}, {where}: found '{text[:60]}', expected eight numbers: stamp x y z qx qy qz qw"
        )
    return row


def _compare(path: Path, where: str, row: list[float], state: WorldState, robot: str) -> None:
    try:
        pose = _robot(state, robot).odom.pose.pose
    except ValueError as error:
        raise RecordingError(f"{path}, {where}: {error}") from error
    p, q = pose.position, pose.orientation
    told = [state.header.stamp, p.x, p.y, p.z, q.x, q.y, q.z, q.w]
    if list(map(repr, row)) != [repr(float(number)) for number in told]:
        raise RecordingError(f"{path}, {where}: the row is not that of the state before it")


def _bare_state(name: str, count: int, row: list[float]) -> WorldState:
    stamp, x, y, z, qx, qy, qz, qw = row
    pose = PoseWithCovariance(Pose(Point(x, y, z), Quaternion(qx, qy, qz, qw)))
    odom = Odometry(Header(count, stamp), f"{name}/base_link", pose)
    return WorldState(
        Header(count, stamp),
        name,
        "Recorded",
        0.0,
        [
            ObjectState(
                Header(count, stamp),
                0,
                name,
                "robot",
                None,
                "",
                odom,
                None,
                None,
                False,
                False,
                False,
            )
        ],
    )
