"""Worlds to record."""

from __future__ import annotations

import numpy as np

from irsim_isaac import msg


def world_states(count, *, robots=2, beams=19, step_time=0.1, seed=0):
    """Return the states of a run: robots with scans, a contact, an obstacle."""
    rng = np.random.default_rng(seed)
    return [_state(rng, k, robots, beams, step_time) for k in range(count)]


def _state(rng, k, robots, beams, step_time):
    stamp = k * step_time
    objects = []
    for index in range(robots):
        name = f"r{index}"
        ranges = rng.random(beams).astype(np.float32) * 9
        ranges[rng.random(beams) < 0.2] = np.inf
        scan = msg.LaserScan(
            msg.Header(k, stamp, f"{name}/laser"), -1.5, 1.5, 3.0 / max(beams - 1, 1), 0.0,
            step_time, 0.1, 9.0, ranges, np.zeros(0, np.float32),
        )  # fmt: skip
        odom = msg.Odometry(
            msg.Header(k, stamp),
            f"{name}/base_link",
            msg.PoseWithCovariance(
                msg.Pose(msg.Point(*rng.random(2), 0.0), msg.Quaternion.from_yaw(rng.random()))
            ),
        )
        contacts = (
            [msg.ContactState(9, "wall", msg.Point(1.0, 2.0), force=3.0)] if not index else []
        )
        objects.append(
            msg.ObjectState(
                msg.Header(k, stamp),
                index,
                name,
                "robot",
                "diff",
                "circle",
                odom,
                scan,
                rng.random((3, 1)),
                False,
                False,
                bool(contacts),
                [9] if contacts else [],
                [scan],
                contacts=contacts,
            )
        )
    objects.append(
        msg.ObjectState(
            msg.Header(k, stamp),
            9,
            "wall",
            "obstacle",
            None,
            "linestring",
            msg.Odometry(msg.Header(k, stamp), "wall/base_link"),
            None,
            None,
            True,
            False,
            False,
        )
    )
    return msg.WorldState(msg.Header(k, stamp), "world", "Running", step_time, objects)
