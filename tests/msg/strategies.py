"""Messages of every class, as hypothesis makes them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from irsim_isaac import msg

floats = st.floats(width=64)
finite = st.floats(-1e6, 1e6)
counts = st.integers(0, 2**31 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def build(cls, *strategies):
    return st.builds(cls, *strategies)


def float32_arrays(max_size=12):
    return hnp.arrays(np.float32, st.integers(0, max_size), elements=st.floats(width=32))


def headers(stamps=floats, seqs=counts):
    return build(msg.Header, seqs, stamps, texts)


def family(number=floats, stamps=floats, covariance=None):
    """Return a strategy for each class, its numbers and stamps drawn as told."""
    covariances = covariance or hnp.arrays(np.float64, 36, elements=number)
    header = headers(stamps)
    point = build(msg.Point, number, number, number)
    vector = build(msg.Vector3, number, number, number)
    quaternion = build(msg.Quaternion, number, number, number, number)
    pose = build(msg.Pose, point, quaternion)
    twist = build(msg.Twist, vector, vector)
    pose_covariance = build(msg.PoseWithCovariance, pose, covariances)
    twist_covariance = build(msg.TwistWithCovariance, twist, covariances)
    odometry = build(msg.Odometry, header, texts, pose_covariance, twist_covariance)
    scan = build(msg.LaserScan, header, *[number] * 7, float32_arrays(), float32_arrays(3))
    transform = build(msg.Transform, vector, quaternion)
    stamped = build(msg.TransformStamped, header, texts, transform)
    info = build(msg.MapMetaData, stamps, number, counts, counts, pose)
    ids = st.integers(-(2**31), 2**31 - 1)
    contact = build(msg.ContactState, ids, texts, point, vector, number, number)
    goals = st.none() | hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=0, max_dims=2, min_side=1, max_side=3),
        elements=number,
    )

    @st.composite
    def objects(draw):
        scans = draw(st.lists(scan, max_size=2))
        first = draw(st.sampled_from(["first", "none", "own"]))
        chosen = {"first": scans[0] if scans else None, "none": None}.get(first)
        if first == "own":
            chosen = draw(scan)
        return msg.ObjectState(
            draw(header),
            draw(ids),
            draw(texts),
            draw(st.sampled_from(["robot", "obstacle"])),
            draw(st.none() | texts),
            draw(texts),
            draw(odometry),
            chosen,
            draw(goals),
            draw(st.booleans()),
            draw(st.booleans()),
            draw(st.booleans()),
            draw(st.lists(ids, max_size=3)),
            scans,
            draw(vector),
            draw(number),
            draw(number),
            draw(st.lists(contact, max_size=2)),
        )

    objects_ = objects()
    return {
        msg.Header: header,
        msg.Clock: build(msg.Clock, stamps),
        msg.Point: point,
        msg.Vector3: vector,
        msg.Quaternion: quaternion,
        msg.Pose: pose,
        msg.PoseStamped: build(msg.PoseStamped, header, pose),
        msg.PoseWithCovariance: pose_covariance,
        msg.Twist: twist,
        msg.TwistWithCovariance: twist_covariance,
        msg.Transform: transform,
        msg.TransformStamped: stamped,
        msg.TFMessage: build(msg.TFMessage, st.lists(stamped, max_size=3)),
        msg.Odometry: odometry,
        msg.LaserScan: scan,
        msg.MapMetaData: info,
        msg.OccupancyGrid: build(
            msg.OccupancyGrid, header, info, hnp.arrays(np.int8, st.integers(0, 9))
        ),
        msg.ContactState: contact,
        msg.ObjectState: objects_,
        msg.WorldState: build(
            msg.WorldState, header, texts, texts, number, st.lists(objects_, max_size=2)
        ),
    }
