"""``irsim-isaac scan``: recorded lidar frames to a recording of LaserScans."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

if TYPE_CHECKING:
    from irsim_isaac.cli.progress import Progress
    from irsim_isaac.lidar import LidarProfile, Producer, ScanAssembler
    from irsim_isaac.msg import LaserScan, WorldState

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command("scan")(scan)


def scan(
    frames: Annotated[
        Path,
        typer.Argument(
            help="A file of GenericModelOutput buffers one after another, or a folder of such."
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The recording to write: .mcap or .jsonl.")
    ],
    profile: Annotated[
        str | None,
        typer.Option(
            help="The lidar: a bundled name, a .yaml file, or Isaac Sim's .json file; without, "
            "the one that lies beside the frames."
        ),
    ] = None,
    producer: Annotated[
        str, typer.Option(help="rep117, or graph or srtx for what Isaac Sim makes of a frame.")
    ] = "rep117",
    name: Annotated[str, typer.Option(help="The name of the lidar in the recording.")] = "lidar",
    frame_id: Annotated[str, typer.Option(help="The frame of the scans; NAME/laser without.")] = "",
    strategy: Annotated[
        str, typer.Option(help="The return of a beam: nearest, first, last, mean or strongest.")
    ] = "nearest",
    height: Annotated[
        tuple[float, float] | None,
        typer.Option(help="The heights of returns above the sensor to keep [m]."),
    ] = None,
    ring: Annotated[
        int | None, typer.Option(help="The one ring to keep, the lowest being 0.")
    ] = None,
    tilt: Annotated[
        tuple[float, float], typer.Option(help="Roll and pitch of the sensor [rad].")
    ] = (0.0, 0.0),
    own_body: Annotated[
        float | None, typer.Option(help="The radius within which returns are the robot [m].")
    ] = None,
    partial: Annotated[
        str, typer.Option(help="The scans that are not whole: drop or mark.")
    ] = "drop",
    finite: Annotated[
        bool, typer.Option("--finite", help="Write IR-SIM's form instead of that of REP 117.")
    ] = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print what was counted as JSON.")
    ] = False,
) -> None:
    """Turn recorded lidar frames into a recording of LaserScans."""
    from irsim_isaac.cli.progress import drawn_progress
    from irsim_isaac.errors import ScanError
    from irsim_isaac.files import writing
    from irsim_isaac.lidar import LidarProfile, Producer, ScanAssembler, check_scan, profile_beside
    from irsim_isaac.recording import record

    if producer not in get_args(Producer):
        raise ScanError(f"--producer is '{producer}', expected one of {get_args(Producer)}")
    wanted = cast(Producer, producer)
    lidar = profile_beside(frames) if profile is None else LidarProfile.load(profile)
    options: dict[str, Any] = {
        "partial": partial,
        "finite": finite,
        "strategy": strategy,
        "height": height,
        "ring": ring,
        "tilt": tilt,
        "own_body": own_body,
    }
    assembler = ScanAssembler(lidar, frame_id or f"{name}/laser", **options)
    counts: dict[str, Any] = {"frames": 0, "scans": 0, "scans_with_problems": 0}
    problems: dict[str, None] = {}
    with writing(output) as temporary, record(temporary, name=output) as recorder:
        with drawn_progress() as progress:
            for made in _scans(frames, wanted, lidar, assembler, counts, progress):
                found = check_scan(made)
                counts["scans_with_problems"] += bool(found)
                problems.update(dict.fromkeys(found[:1]))
                recorder.write(_state(made, name, counts["scans"], lidar))
                counts["scans"] += 1
        if not counts["scans"]:
            raise ScanError(
                f"{frames}: {counts['frames']} frames, {counts['empty_frames']} of them empty, "
                "make no whole scan; '--partial mark' keeps those that are not whole"
            )
    if json_output:
        typer.echo(json.dumps(counts))
        return
    for problem in list(problems)[:3]:
        typer.echo(f"a scan is wrong: {problem}", err=True)
    left_out = counts.pop("left_out")
    told = ", ".join(f"{count} {key.replace('_', ' ')}" for key, count in counts.items() if count)
    typer.echo(f"{output}: {told}")
    if left_out:
        reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
        typer.echo(f"elements that gave no distance: {reasons}")


def _scans(
    path: Path,
    producer: Producer,
    profile: LidarProfile,
    assembler: ScanAssembler,
    counts: dict[str, Any],
    progress: Progress,
) -> Iterator[LaserScan]:
    """Give the scans of recorded frames, and count what became of the frames."""
    from irsim_isaac.lidar import frame_files, read_frames, scan_from_gmo

    files = frame_files(path)
    empty = 0
    for index, file in enumerate(files):
        progress(index, len(files), "frames")
        for gmo in read_frames(file):
            counts["frames"] += 1
            if producer == "rep117":
                yield from assembler.push(gmo)
            elif gmo.numElements == 0:
                empty += 1
            else:
                yield scan_from_gmo(gmo, profile, producer=producer, frame_id=assembler.frame_id)
    progress(len(files), len(files), "frames")
    yield from assembler.flush()
    counts["empty_frames"] = empty or assembler.empty_frames
    for name in ("duplicate_frames", "late_frames", "partial_scans", "late_returns"):
        counts[name] = getattr(assembler, name)
    counts["left_out"] = dict(assembler.left_out)


def _state(scan: LaserScan, name: str, number: int, profile: LidarProfile) -> WorldState:
    """Return the state that a recording keeps a scan in."""
    from irsim_isaac.msg import Header, ObjectState, Odometry, WorldState

    header = Header(number, scan.header.stamp, "world")
    lidar = ObjectState(
        header=header,
        id=0,
        name=name,
        role="obstacle",
        kinematics=None,
        shape="lidar",
        odom=Odometry(header, name),
        scan=scan,
        goal=None,
        static=True,
        arrive=False,
        collision=False,
        scans=[scan],
    )
    return WorldState(header, "lidar frames", "recorded", profile.scan_time, [lidar])
