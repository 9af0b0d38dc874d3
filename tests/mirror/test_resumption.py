"""A mirror outlives the simulators that it keeps in step."""

from __future__ import annotations

import contextlib
import json

import pytest

from irsim_isaac.errors import SimulatorError
from irsim_isaac.mirror import RESUMED, Mirror, Policy
from irsim_isaac.msg import Twist, Vector3
from irsim_isaac.simulators import RecordedSimulator
from tests.simulators import faulty


class Mortal(faulty.Faulty):
    """Is lost when it has been asked so many times, and again after as many."""

    def __init__(self, *, lives: tuple[int, ...], **options):
        self.options = options
        self.lives = list(lives)
        self.asked = self.resumed = 0
        self.ahead = 0
        self.fault = None
        super().__init__(**options)

    def _die(self):
        if self.fault is not None:
            raise SimulatorError(f"lost: {self.fault}")
        self.asked += 1
        if self.asked in self.lives:
            self.fault = "its process was ended"
            raise SimulatorError(f"lost: {self.fault}")

    def step(self, commands):
        self._die()
        return self._later(super().step(commands))

    def read(self):
        self._die()
        return self._later(super().read())

    def write(self, updates):
        self._die()
        super().write(updates)

    def resume(self, state):
        self.resumed += 1
        self.fault = None
        self.ahead = 0
        super().reset()
        super().write({item.name: item.odom for item in state.objects})
        self.ahead = state.header.seq
        return self._later(super().read())

    def _later(self, state):
        if self.ahead:
            headers = [state.header]
            for item in state.objects:
                headers += [item.header, item.odom.header, *(scan.header for scan in item.scans)]
            for header in headers:
                header.seq += self.ahead
                header.stamp = header.seq * 1 / 10
        return state


def curve(state):
    return {"robot": Twist(linear=Vector3(x=0.5), angular=Vector3(z=0.3))}


def run(left, right, *, direction="follow", steps=20, **policy):
    """Return everything that both sides said, as text, and the mirror."""
    mirror = Mirror(left, right, direction=direction, policy=Policy(**policy), commands=curve)
    mirror.start()
    said = []
    for _ in range(steps):
        mirror.run(1)
        said.append([mirror.left_state.to_dict(), mirror.right_state.to_dict()])
    return said, mirror


@pytest.mark.parametrize("direction", ["follow", "lead"])
@pytest.mark.parametrize("lives", [(1,), (2, 3, 4), (7, 8, 20, 21), (5, 40)])
def test_a_lost_follower_goes_on_as_if_nothing_had_happened(direction, lives):
    """Whatever it was doing when it was lost: stepping, or being written to."""
    expected, _ = run(faulty.Faulty(), faulty.Faulty(), direction=direction)
    sides = [faulty.Faulty(), Mortal(lives=lives)]
    found, mirror = run(
        *(sides if direction == "follow" else sides[::-1]), direction=direction, lost="resume"
    )
    assert json.dumps(found) == json.dumps(expected)
    assert 1 <= len(mirror.resumptions) <= len(lives)
    assert all(item.exact for item in mirror.resumptions)
    assert {item.side for item in mirror.resumptions} == {
        "right" if direction == "follow" else "left"
    }


@pytest.mark.parametrize("case", ["leader", "noise", "beside"])
def test_what_cannot_go_on_exactly_is_marked(case):
    noise = case == "noise"
    sides = [faulty.Faulty(noise=noise), Mortal(lives=(14,), noise=noise)]
    if case == "leader":
        sides = sides[::-1]
    direction = "beside" if case == "beside" else "follow"
    said, mirror = run(*sides, direction=direction, lost="resume")
    (resumption,) = mirror.resumptions
    assert not resumption.exact
    assert resumption.reason == "its process was ended"
    side = 0 if case == "leader" else 1
    marks = [pair[side]["header"]["stamp"] for pair in said if pair[side]["status"] == RESUMED]
    assert len(marks) == 1
    assert resumption.time <= marks[0] <= resumption.time + 0.1 + 1e-9
    stamps = [pair[side]["header"]["seq"] for pair in said]
    assert stamps == list(range(1, 21))


def test_without_the_policy_both_stay_at_their_last_whole_state():
    left, right = faulty.Faulty(), Mortal(lives=(9,))
    mirror = Mirror(left, right, direction="follow", commands=curve)
    mirror.start()
    with pytest.raises(SimulatorError, match="its process was ended"):
        mirror.run(20)
    assert mirror.left_state.header.seq == mirror.right_state.header.seq == mirror.counts.steps
    assert mirror.resumptions == []
    with pytest.raises(SimulatorError, match="its process was ended"):
        mirror.run(1)


@pytest.mark.parametrize("direction", ["follow", "lead", "beside"])
@pytest.mark.parametrize("lost", ["left", "right"])
@pytest.mark.parametrize("lives", [(1,), (2, 4), (3, 7, 8), (5,), (6, 20)])
def test_who_stopped_is_taken_up_by_hand_and_finishes_its_step(direction, lost, lives):
    """The run is that of an unbroken one, whatever was being done when it was broken off."""
    expected, unbroken = run(faulty.Faulty(), faulty.Faulty(), direction=direction)
    mortal = Mortal(lives=lives)
    sides = [mortal, faulty.Faulty()] if lost == "left" else [faulty.Faulty(), mortal]
    mirror = Mirror(*sides, direction=direction, commands=curve)
    while True:
        try:
            mirror.start()
            break
        except SimulatorError:
            mortal.fault = None
    found, tried = [], 0
    while len(found) < 20:
        tried += 1
        try:
            mirror.run(1)
        except SimulatorError as error:
            assert str(error) == "lost: its process was ended"
            while mortal.fault is not None:
                # It may be lost again while it is taken up.
                with contextlib.suppress(SimulatorError):
                    mirror.resume()
        else:
            found.append(said(mirror))
    assert tried == 20 + len(mirror.resumptions)
    assert found == expected_poses(expected)
    assert mirror.counts == unbroken.counts
    assert all(item.side == lost for item in mirror.resumptions)


def poses(state):
    return [
        (item["name"], item["odom"]["pose"], item["odom"]["twist"]) for item in state["objects"]
    ]


def said(mirror):
    return [poses(mirror.left_state.to_dict()), poses(mirror.right_state.to_dict())]


def expected_poses(recording):
    return [[poses(left), poses(right)] for left, right in recording]


def test_resuming_what_is_not_lost_changes_nothing():
    mirror = Mirror(faulty.Faulty(), Mortal(lives=()), direction="follow", commands=curve)
    mirror.resume()
    mirror.start()
    mirror.run(3)
    mirror.resume()
    assert mirror.resumptions == []
    assert mirror.counts.steps == 3


def test_a_state_that_was_broken_off_is_no_repeated_one():
    """As a leader that runs by itself gives it: once when it is lost, once when it is not."""
    left, right = Mortal(lives=()), faulty.Faulty()
    mirror = Mirror(left, right, direction="lead")
    mirror.start()
    for count in range(1, 6):
        state = right.step({})
        if count == 3:
            left.lives = [left.asked + 1]
            with pytest.raises(SimulatorError):
                mirror.advance(state)
            assert mirror.counts.steps == 2
            mirror.resume()
        mirror.advance(state)
        assert mirror.counts.steps == count
    assert (mirror.counts.repeated, mirror.counts.skipped) == (0, 0)
    mirror.advance(state)
    assert mirror.counts.repeated == 1


def test_it_is_not_taken_up_without_end():
    left, right = faulty.Faulty(), Mortal(lives=tuple(range(5, 100)))
    mirror = Mirror(left, right, direction="follow", policy=Policy(lost="resume", resumptions=3))
    mirror.start()
    with pytest.raises(SimulatorError, match="its process was ended"):
        mirror.run(20)
    assert right.resumed == 3


def test_what_is_refused_is_no_loss():
    """A simulator that lives and says no is asked once, and a recording cannot be lost."""
    states = [faulty.Faulty().read()]
    mirror = Mirror(
        faulty.Faulty(),
        RecordedSimulator(recording=states),
        direction="beside",
        policy=Policy(lost="resume"),
    )
    mirror.start()
    with pytest.raises(SimulatorError, match="ends after 0 s"):
        mirror.run(1)
    assert mirror.resumptions == []
