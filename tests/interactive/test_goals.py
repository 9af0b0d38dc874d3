"""Goals: every way to end, deadlines by two clocks, and children that end with their parents."""

from __future__ import annotations

import asyncio
import math

import pytest

from irsim_isaac.errors import InteractiveError, StoreError
from irsim_isaac.interactive import Action, GoalCancelled
from irsim_isaac.msg.interactive_world import DriveToSurface, ObjectSearch


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Waiting(Action[DriveToSurface.Goal, DriveToSurface.Result]):
    """Takes ten steps of a second, or does what its surface says."""

    kind = DriveToSurface

    def __init__(self, clock, wall, inner=None, wall_step=0.0, **limits) -> None:
        super().__init__(clock=clock, wall_clock=wall, **limits)
        self.clock, self.wall, self.inner, self.wall_step = clock, wall, inner, wall_step

    async def _execute(self, handle) -> None:
        handle.enter("working")
        if handle.goal.surface == "refuse":
            raise StoreError("the store is gone")
        if self.inner is not None:
            child = self.inner.send(DriveToSurface.Goal(), parent=handle)
            await child.finished()
            handle.check()
            handle.text = f"child {child.status}"
            return
        for step in range(10):
            handle.check()
            handle.tell(f"step {step}")
            self.clock.now += 1.0
            self.wall.now += self.wall_step
            await asyncio.sleep(0)
        handle.check()
        handle.result.success = True
        handle.text = "done"


def run(make, act=None, goal=None):
    """Send a goal, act on it after its first step, and return it when it has ended."""

    async def main():
        handle = make.send(goal or DriveToSurface.Goal())
        if act is not None:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            act(handle)
        return await asyncio.wait_for(handle.finished(), 10.0)

    return asyncio.run(main())


def test_a_goal_that_gets_to_its_end_succeeds():
    told = []
    clock, wall = Clock(), Clock()

    async def main():
        handle = Waiting(clock, wall).send(DriveToSurface.Goal(), on_feedback=told.append)
        assert (handle.status, handle.state, handle.done) == ("executing", "accepted", False)
        return await handle.finished()

    handle = asyncio.run(main())
    assert (handle.status, handle.text, handle.result.success) == ("succeeded", "done", True)
    assert told == [f"step {step}" for step in range(10)]
    assert handle.feedback == [(float(step), f"step {step}") for step in range(10)]
    assert handle.states == [(0.0, "working"), (10.0, "succeeded")]
    assert not handle.cancel()
    assert handle.status == "succeeded"


def test_a_fault_aborts_with_its_message():
    handle = run(Waiting(Clock(), Clock()), goal=DriveToSurface.Goal("refuse"))
    assert (handle.status, handle.text) == ("aborted", "the store is gone")
    assert not handle.result.success
    assert not handle.out_of_time


def test_cancelling_ends_at_the_next_step():
    clock = Clock()
    handle = run(Waiting(clock, Clock()), lambda handle: handle.cancel())
    assert handle.status == "canceled"
    assert not handle.result.success
    assert clock.now <= 2.0


def test_cancelling_before_the_first_step_does_nothing_at_all():
    clock = Clock()

    async def main():
        handle = Waiting(clock, Clock()).send(DriveToSurface.Goal())
        assert handle.cancel()
        return await handle.finished()

    handle = asyncio.run(main())
    assert (handle.status, clock.now) == ("canceled", 0.0)


@pytest.mark.parametrize("limit", [0.5, 3.0, 9.5])
def test_the_simulated_deadline_aborts_within_one_step(limit):
    clock = Clock()
    handle = run(Waiting(clock, Clock(), time_limit=limit))
    assert handle.status == "aborted"
    assert handle.out_of_time
    assert limit < clock.now <= limit + 1.0
    assert handle.text == f"DriveToSurface: its {limit:g} s of simulated time are up"


def test_a_goal_that_ends_on_its_deadline_is_in_time():
    assert run(Waiting(Clock(), Clock(), time_limit=10.0)).status == "succeeded"


def test_the_wall_guards_a_simulation_that_hardly_goes_on():
    clock, wall = Clock(), Clock()
    handle = run(Waiting(clock, wall, wall_step=100.0, wall_limit=250.0))
    assert (handle.status, wall.now, clock.now) == ("aborted", 300.0, 3.0)
    assert "real time" in handle.text


def test_a_goal_may_have_a_limit_of_its_own():
    clock = Clock()
    action = Waiting(clock, Clock(), time_limit=1.0)

    async def main():
        return await action.send(DriveToSurface.Goal(), time_limit=math.inf).finished()

    assert asyncio.run(main()).status == "succeeded"


def test_cancelling_a_parent_ends_its_children_first():
    clock, wall = Clock(), Clock()
    order = []

    class Noted(Waiting):
        async def _execute(self, handle) -> None:
            try:
                await super()._execute(handle)
            finally:
                order.append("child")

    inner = Noted(clock, wall)
    handle = run(Waiting(clock, wall, inner), lambda handle: handle.cancel())
    order.append("parent")
    (child,) = handle.children
    assert (handle.status, child.status, order) == ("canceled", "canceled", ["child", "parent"])


def test_a_child_counts_on_its_parents_time():
    clock, wall = Clock(), Clock()
    handle = run(Waiting(clock, wall, Waiting(clock, wall), time_limit=4.0))
    (child,) = handle.children
    assert (handle.status, child.status) == ("aborted", "aborted")
    assert handle.out_of_time
    assert clock.now == 5.0


def test_a_child_out_of_its_own_time_leaves_its_parent_going():
    clock, wall = Clock(), Clock()
    handle = run(Waiting(clock, wall, Waiting(clock, wall, time_limit=4.0)))
    assert (handle.status, handle.text) == ("succeeded", "child aborted")
    assert handle.children[0].out_of_time


def test_a_goal_that_fails_calls_its_children_off():
    clock, wall = Clock(), Clock()
    inner = Waiting(clock, wall)

    class Failing(Waiting):
        async def _execute(self, handle) -> None:
            inner.send(DriveToSurface.Goal(), parent=handle)
            await asyncio.sleep(0)
            raise InteractiveError("no")

    handle = run(Failing(clock, wall))
    assert (handle.status, handle.children[0].status) == ("aborted", "canceled")


def test_a_loop_that_ends_leaves_no_goal_unended():
    async def main():
        handle = Waiting(Clock(), Clock()).send(DriveToSurface.Goal())
        await asyncio.sleep(0)
        return handle

    handle = asyncio.run(main())
    assert (handle.done, handle.status) == (True, "aborted")
    assert handle.text == "the event loop ended"


def test_an_error_of_the_program_ends_the_goal_too():
    class Broken(Waiting):
        async def _execute(self, handle) -> None:
            raise ZeroDivisionError

    async def main():
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        return await Broken(Clock(), Clock()).send(DriveToSurface.Goal()).finished()

    handle = asyncio.run(main())
    assert (handle.status, handle.text) == (
        "aborted", "DriveToSurface: it ended by an error of the program"
    )  # fmt: skip


def test_a_goal_of_another_action_is_refused():
    async def main():
        Waiting(Clock(), Clock()).send(ObjectSearch.Goal())

    with pytest.raises(InteractiveError, match=r"found a ObjectSearch\.Goal, expected a Drive"):
        asyncio.run(main())


def test_the_errors_of_goals_are_of_this_room():
    assert issubclass(GoalCancelled, InteractiveError)
