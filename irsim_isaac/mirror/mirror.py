"""Two simulators kept in step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from irsim_isaac.clock import exact_seconds
from irsim_isaac.errors import MirrorError, SimulatorError
from irsim_isaac.mirror.bindings import Binding, Direction, PlanarPose, bind_by_name
from irsim_isaac.mirror.monitor import DivergenceMonitor
from irsim_isaac.mirror.resumption import RESUMED, Resumption, Side, same_state
from irsim_isaac.msg import (
    ObjectState,
    Odometry,
    Point,
    Pose,
    PoseWithCovariance,
    Quaternion,
    Twist,
    WorldState,
)
from irsim_isaac.simulators import Resumable, Simulator

__all__ = ["Commands", "Counts", "Mirror", "Policy"]

Commands: TypeAlias = Callable[[WorldState], Mapping[str, Twist]]
"""What to command next, by left names, from the leader's state."""


_PARKING_STEP = 2.0
"""Between two parked objects [m]."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What the mirror does with what is not as it should be.

    Attributes:
        new: An object that was not there at the start is counted and ignored, or an error.
        vanished: An object that is not there any more is parked, or an error.
        parking: Where objects are parked: x, y [m] in the left world, one beside the other; None to
            leave them standing where they were last.
        tilted: A body beyond its tilt limit leaves its other self where it is, or is an error.
        drift: A standing object that stands elsewhere on the other side is noted, or an error.
        drift_tolerance: How far standing objects may be apart [m].
        lost: A simulator that is lost, as when its process is killed, ends the mirror with both
            sides at their last whole states, or is taken up again from its own.
        resumptions: How often that is tried at most, all in all.
    """

    new: Literal["ignore", "error"] = "ignore"
    vanished: Literal["park", "error"] = "park"
    parking: tuple[float, float] | None = None
    tilted: Literal["hold", "error"] = "hold"
    drift: Literal["note", "error"] = "note"
    drift_tolerance: float = 1e-3
    lost: Literal["stop", "resume"] = "stop"
    resumptions: int = 10


@dataclass(slots=True)
class Counts:
    """What has happened so far.

    Attributes:
        steps: States of the leader that were taken in.
        writes: Objects that were moved.
        repeated: States that came again with the time of the last one.
        skipped: Steps of the leader that never came.
        backwards: Times that the leader's time went back.
        late: Calls that had to leave steps of the follower for later.
        new: Names of objects that came after the start.
        vanished: Names of objects that are gone.
        held: Times that a tilted body held its other self.
        drifted: How far each standing object is from its other self [m], beyond the tolerance.
    """

    steps: int = 0
    writes: int = 0
    repeated: int = 0
    skipped: int = 0
    backwards: int = 0
    late: int = 0
    new: set[str] = field(default_factory=set)
    vanished: set[str] = field(default_factory=set)
    held: int = 0
    drifted: dict[str, float] = field(default_factory=dict)


class Mirror:
    """Keeps two simulators in step.

    ``"follow"`` moves the right objects to where the left ones are, ``"lead"`` the left ones to
    where the right ones are, ``"beside"`` gives both sides the same commands and moves nothing.
    A binding may go another way than the rest. The leader is the left simulator but for
    ``"lead"``; the follower is stepped until its time is the leader's, then what is to be moved
    is written, on each side all or nothing.

    One step length must be a whole multiple of the other. Times are whole counts of steps, so
    that nothing drifts.

    Args:
        left: One simulator.
        right: The other; the follower must be one that is stepped.
        bindings: Which object is which; None to bind by name.
        direction: Who moves whom.
        policy: What to do with what is not as it should be.
        monitor: Told of every pair of poses; None to leave that out.
        commands: What to command next; None for nothing.

    Attributes:
        resumptions: Each time that a simulator was lost and taken up again.

    Raises:
        MirrorError: The steps do not fit, or a bound object is not there.
    """

    def __init__(
        self,
        left: Simulator,
        right: Simulator,
        *,
        bindings: Sequence[Binding] | None = None,
        direction: Direction = "beside",
        policy: Policy | None = None,
        monitor: DivergenceMonitor | None = None,
        commands: Commands | None = None,
    ) -> None:
        if direction not in ("follow", "lead", "beside"):
            raise MirrorError(
                f"direction is {direction!r}; 'follow', 'lead' or 'beside' was expected"
            )
        self.left, self.right = left, right
        self.direction = direction
        self.policy = policy or Policy()
        self.monitor = monitor
        self.commands = commands
        self.counts = Counts()
        self._leader, self._follower = (right, left) if direction == "lead" else (left, right)
        if self._follower.drive != "step":
            raise MirrorError(
                f"the follower '{self._follower.name}' runs by itself; one that is stepped was "
                f"expected (direction '{direction}')"
            )
        self._ratio = _step_ratio(self._leader, self._follower)
        self._given = None if bindings is None else tuple(bindings)
        self._bound: tuple[Binding, ...] = ()
        self._moved: tuple[tuple[Binding, Direction], ...] = ()
        self._by_left: dict[str, Binding] = {}
        self._known: frozenset[str] = frozenset()
        self._standing: frozenset[str] = frozenset()
        self._issued: Mapping[str, Twist] = {}
        self._count = 0
        self._follower_count = 0
        self._parked: dict[str, int] = {}
        self._states: dict[str, WorldState] = {}
        self.resumptions: list[Resumption] = []
        # What each simulator said last, and what was written to it since.
        self._last: dict[Side, WorldState] = {}
        self._since: dict[Side, dict[str, Odometry]] = {"left": {}, "right": {}}
        self._marked: set[Side] = set()
        self._attempts = 0
        # The leader's state whose taking in was broken off.
        self._unfinished: WorldState | None = None

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The bindings in use; empty before the start."""
        return self._bound

    @property
    def left_state(self) -> WorldState:
        """The last state of the left simulator."""
        return self._state("left")

    @property
    def right_state(self) -> WorldState:
        """The last state of the right simulator; before the last write, where that moved it."""
        return self._state("right")

    def _state(self, side: str) -> WorldState:
        if side not in self._states:
            raise MirrorError("the mirror has not been started")
        return self._states[side]

    def start(self, seed: int | None = None) -> None:
        """Put both simulators to their start, bind their objects and move what is to be moved.

        Args:
            seed: The seed of both resets; None for their own.

        Raises:
            MirrorError: A bound object is not there, or a standing one stands elsewhere and
                the policy calls that an error.
        """
        self.counts = Counts()
        self.resumptions = []
        self._attempts = 0
        self._last.clear()
        self._marked.clear()
        self._unfinished = None
        self._begin(self._call("left", "reset", seed), self._call("right", "reset", seed))

    def _begin(self, left: WorldState, right: WorldState) -> None:
        self._states = {"left": left, "right": right}
        self._count = self._follower_count = 0
        self._parked.clear()
        if self.monitor is not None:
            self.monitor.reset()
        self._bind(left, right)
        self._check_standing(left, right)
        self._move(left, right)
        self._watch()

    def run(self, steps: int) -> None:
        """Step a leader and bring the follower along.

        A step that was broken off by the loss of a simulator is finished first, as one of them.

        Args:
            steps: How many steps of the leader.

        Raises:
            MirrorError: The mirror has not been started, or the leader runs by itself.
        """
        if self._leader.drive != "step":
            raise MirrorError(
                f"the leader '{self._leader.name}' runs by itself; connect() to it, it is not run"
            )
        state = self._state(self._leader_side)
        for _ in range(steps):
            if self._unfinished is not None:
                state = self._unfinished
                self.advance(state)
                continue
            self._issued = {} if self.commands is None else self.commands(state)
            side = self._leader_side
            state = self._call(side, "step", self._side_commands(side))
            self.advance(state)

    def connect(self) -> None:
        """Let a leader that runs by itself call the mirror after each of its steps.

        Each call takes the follower one step at most; what is left is counted and made up for
        when there is time.
        """
        self._leader.on_step = self._live

    def _live(self, state: WorldState) -> None:
        if self.commands is not None:
            self._issued = self.commands(state)
        self.advance(state, most=1)

    @property
    def _leader_side(self) -> Side:
        return "right" if self.direction == "lead" else "left"

    @property
    def _follower_side(self) -> Side:
        return "left" if self.direction == "lead" else "right"

    def resume(self) -> None:
        """Take up each simulator that is lost from its own last whole state.

        It is for a mirror whose policy is to stop then, and moves nothing: ``run`` goes on by
        itself, and a leader that runs by itself is gone on with by giving ``advance`` the state
        again in which the loss was noticed. Only the lost simulator is used, so that this may
        run beside the thread of the other one.

        Raises:
            SimulatorError: One cannot be taken up.
        """
        sides: tuple[tuple[Side, Simulator], ...] = (("left", self.left), ("right", self.right))
        for side, simulator in sides:
            if isinstance(simulator, Resumable) and simulator.fault is not None:
                self._take_up(side, simulator, simulator.fault)

    def advance(self, state: WorldState, *, most: int | None = None) -> None:
        """Bring the follower to a state of the leader. This is the one step of a mirror.

        A state that comes again is counted and left, unless taking it in was broken off: then
        it is finished. Where the time went back, the follower starts again; where the leader
        skipped steps, the follower makes up for them.

        Args:
            state: The leader's new state.
            most: How many steps of the follower to take at most; None for all that are due.

        Raises:
            MirrorError: What the policy calls an error. Nothing has been moved then.
        """
        again, self._unfinished = self._unfinished is not None, state
        self._take_in(state, most, again=again)
        self._unfinished = None

    def _take_in(self, state: WorldState, most: int | None, *, again: bool) -> None:
        numerator, denominator, leader_step = self._ratio
        count = round(state.header.stamp / leader_step)
        if count == self._count and self._count:
            if again:
                self._move(self._states["left"], self._states["right"])
                self._watch()
            else:
                self.counts.repeated += 1
            return
        if count < self._count:
            self.counts.backwards += 1
            follower = self._call(self._follower_side, "reset")
            pair = (state, follower) if self._leader_side == "left" else (follower, state)
            self._begin(*pair)
            self._count = count
            # From here on both count from where the leader now is.
            self._follower_count = count * numerator // denominator
            return
        due = count * numerator // denominator - self._follower_count
        taken = due if most is None else min(due, most)
        side = self._follower_side
        follower = self._states[side]
        if taken:
            commands = self._side_commands(side)
            for _ in range(taken):
                follower = self._call(side, "step", commands)
                self._follower_count += 1
        self.counts.late += taken < due
        self.counts.skipped += count - self._count - 1
        self.counts.steps += 1
        self._count = count
        self._states[self._leader_side] = state
        self._states[side] = follower
        self._move(self._states["left"], self._states["right"])
        self._watch()

    def _call(self, side: Side, action: str, *arguments: Any) -> Any:
        """Have a simulator do something, taking it up again where it was lost."""
        simulator = self.left if side == "left" else self.right
        while True:
            try:
                answer = getattr(simulator, action)(*arguments)
            except SimulatorError as error:
                self._resume(side, simulator, error)
            else:
                break
        if action == "write":
            self._since[side].update(*arguments)
            return answer
        self._last[side] = answer
        self._since[side] = {}
        if side in self._marked:
            self._marked.discard(side)
            answer.status = RESUMED
        return answer

    def _resume(self, side: Side, simulator: Simulator, error: SimulatorError) -> None:
        """Take a lost simulator up again from its last state, or raise the error."""
        last = self._last.get(side)
        if self.policy.lost != "resume" or last is None or not isinstance(simulator, Resumable):
            raise error
        reason = simulator.fault
        while simulator.fault is not None and self._attempts < self.policy.resumptions:
            self._attempts += 1
            try:
                self._take_up(side, simulator, str(reason))
            except SimulatorError as again:
                if simulator.fault is None:
                    raise
                error = again
        if reason is None or simulator.fault is not None:
            raise error

    def _take_up(self, side: Side, simulator: Resumable, reason: str) -> None:
        """Have a lost simulator begin anew where it was, and tell of it."""
        last = self._last.get(side)
        if last is None:
            raise MirrorError("the mirror has not been started")
        found = simulator.resume(last)
        if self._since[side]:
            (self.left if side == "left" else self.right).write(self._since[side])
        moved = self._moved_on(side)
        exact = side == self._follower_side and same_state(last, found, moved=moved)
        if not exact:
            self._marked.add(side)
        self.resumptions.append(Resumption(side, last.header.stamp, reason, exact))

    def _moved_on(self, side: Side) -> frozenset[str]:
        """Return the objects of a side that are written after each step."""
        way: Direction = "lead" if side == "left" else "follow"
        return frozenset(
            item.left if side == "left" else item.right
            for item, direction in self._moved
            if direction == way
        )

    def _side_commands(self, side: Side) -> Mapping[str, Twist]:
        """Return the commands for the robots that are a side's own."""
        if not self._issued:
            return {}
        mine: dict[str, Twist] = {}
        for name, twist in self._issued.items():
            binding = self._by_left.get(name)
            if binding is None:
                raise MirrorError(
                    f"a command for '{name}', which is bound to nothing; bound are: "
                    f"{', '.join(self._by_left) or 'none'}"
                )
            way = binding.direction or self.direction
            if side == "left" and way in ("follow", "beside"):
                mine[name] = twist
            elif side == "right" and way in ("lead", "beside"):
                mine[binding.right] = binding.twist_to_right(twist)
        return mine

    def _bind(self, left: WorldState, right: WorldState) -> None:
        bound = self._given if self._given is not None else bind_by_name(left, right)
        for side, state, names in (
            ("left", left, [item.left for item in bound]),
            ("right", right, [item.right for item in bound]),
        ):
            present = {item.name for item in state.objects}
            missing = [name for name in names if name not in present]
            if missing:
                raise MirrorError(
                    f"the {side} simulator has no object '{missing[0]}', which is bound; it has: "
                    f"{', '.join(sorted(present)) or 'none'}"
                )
        self._bound = bound
        self._by_left = {item.left: item for item in bound}
        source = right if self.direction == "lead" else left
        self._known = frozenset(item.name for item in source.objects)
        here = {item.name: item for item in left.objects}
        there = {item.name: item for item in right.objects}
        self._standing = frozenset(
            item.left for item in bound if here[item.left].static and there[item.right].static
        )
        self._moved = tuple(
            (item, way)
            for item in bound
            if item.left not in self._standing
            and (way := item.direction or self.direction) != "beside"
        )

    def _check_standing(self, left: WorldState, right: WorldState) -> None:
        """Compare what stands on both sides, once."""
        here = {item.name: item for item in left.objects}
        there = {item.name: item for item in right.objects}
        self.counts.drifted = {}
        for binding in self._bound:
            if binding.left not in self._standing:
                continue
            a = here[binding.left].odom.pose.pose.position
            b = binding.left_pose(there[binding.right].odom)
            distance = math.hypot(b[0] - a.x, b[1] - a.y)
            if distance > self.policy.drift_tolerance:
                self.counts.drifted[binding.left] = distance
        if self.counts.drifted and self.policy.drift == "error":
            name, distance = max(self.counts.drifted.items(), key=lambda item: item[1])
            raise MirrorError(
                f"'{name}' stands {distance:.4g} m from its other self, at most "
                f"{self.policy.drift_tolerance:g} m was expected"
            )

    def _move(self, left: WorldState, right: WorldState) -> None:
        """Work out all updates, then write each side's at once."""
        here = {item.name: item for item in left.objects}
        there = {item.name: item for item in right.objects}
        self._notice_new(here if self.direction != "lead" else there)
        if not self._moved:
            return
        to_left: dict[str, Odometry] = {}
        to_right: dict[str, Odometry] = {}
        for binding, way in self._moved:
            a, b = here.get(binding.left), there.get(binding.right)
            if a is None or b is None:
                self._vanish(binding, way, a, b, to_left, to_right)
            elif way == "follow":
                to_right[binding.right] = binding.to_right(a.odom, b.odom)
            elif binding.tilt(b.odom) <= binding.tilt_limit:
                to_left[binding.left] = binding.to_left(b.odom)
            else:
                self._hold(binding, b)
        if to_right:
            self._call("right", "write", to_right)
        if to_left:
            try:
                self._call("left", "write", to_left)
            except BaseException:
                # All or nothing: the right side goes back to where it was.
                if to_right:
                    back = {name: there[name].odom for name in to_right}
                    self._call("right", "write", back)
                raise
        self.counts.writes += len(to_left) + len(to_right)

    def _notice_new(self, present: Mapping[str, ObjectState]) -> None:
        if present.keys() <= self._known:
            return
        new = present.keys() - self._known - self.counts.new
        if new and self.policy.new == "error":
            raise MirrorError(f"'{min(new)}' was not there at the start and is bound to nothing")
        self.counts.new |= new

    def _vanish(
        self,
        binding: Binding,
        way: Direction,
        left: ObjectState | None,
        right: ObjectState | None,
        to_left: dict[str, Odometry],
        to_right: dict[str, Odometry],
    ) -> None:
        """Park the object that nothing moves any more, once."""
        if self.policy.vanished == "error":
            side, name = ("left", binding.left) if left is None else ("right", binding.right)
            raise MirrorError(f"the {side} simulator has no object '{name}' any more")
        self.counts.vanished.add(binding.left)
        orphan = right if way == "follow" else left
        if binding.left in self._parked or orphan is None:
            return
        place = self._parked[binding.left] = len(self._parked)
        pose = orphan.odom.pose.pose
        if way == "follow":
            x, y, yaw = binding.left_pose(orphan.odom)
        else:
            x, y, yaw = pose.position.x, pose.position.y, pose.orientation.to_yaw()
        if self.policy.parking is not None:
            x, y = self.policy.parking[0], self.policy.parking[1] + _PARKING_STEP * place
        parked = Odometry(
            header=orphan.odom.header,
            pose=PoseWithCovariance(Pose(Point(x, y, 0.0), Quaternion.from_yaw(yaw))),
        )
        if way == "follow":
            to_right[binding.right] = binding.to_right(parked, orphan.odom)
        else:
            to_left[binding.left] = parked

    def _hold(self, binding: Binding, state: ObjectState) -> None:
        if self.policy.tilted == "error":
            raise MirrorError(
                f"'{binding.right}' leans {math.degrees(binding.tilt(state.odom)):.1f} degrees, at "
                f"most {math.degrees(binding.tilt_limit):.1f} gives it a heading"
            )
        self.counts.held += 1

    def _watch(self) -> None:
        if self.monitor is None:
            return
        for side in (self._follower_side, self._leader_side):
            if self._moved_on(side):
                self._states[side] = self._call(side, "read")
        here = {item.name: item for item in self._states["left"].objects}
        there = {item.name: item for item in self._states["right"].objects}
        pairs: dict[str, tuple[PlanarPose, PlanarPose]] = {}
        for binding in self._bound:
            a, b = here.get(binding.left), there.get(binding.right)
            if a is None or b is None or binding.left in self._standing:
                continue
            pose = a.odom.pose.pose
            left = (pose.position.x, pose.position.y, pose.orientation.to_yaw())
            pairs[binding.left] = (left, binding.left_pose(b.odom))
        self.monitor.observe(self._states[self._leader_side].header.stamp, pairs)


def _step_ratio(leader: Simulator, follower: Simulator) -> tuple[int, int, float]:
    """Return follower steps over leader steps as a fraction, and the leader's step [s].

    Raises:
        MirrorError: Neither step is a whole multiple of the other.
    """
    a, b = exact_seconds(leader.step_time), exact_seconds(follower.step_time)
    ratio = a / b
    if 1 not in (ratio.numerator, ratio.denominator):
        raise MirrorError(
            f"the steps of '{leader.name}' ({float(a):g} s) and '{follower.name}' ({float(b):g} s) "
            "do not fit; one must be a whole multiple of the other"
        )
    return ratio.numerator, ratio.denominator, leader.step_time
