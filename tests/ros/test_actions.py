"""Actions over ROS 2, on a double of rclpy that takes and refuses what the real one does."""

from __future__ import annotations

import asyncio
import threading

import pytest

from irsim_isaac.errors import InteractiveError
from irsim_isaac.interactive import Action, ActionRegistry
from irsim_isaac.msg import Header, Point, ros
from irsim_isaac.msg.interactive_world import (
    DriveAndSearch,
    DriveToSurface,
    PointCloud2,
    SegmentedObject,
    SegmentedObjectList,
)

rosbags = pytest.importorskip("rosbags.typesys")

from tests.ros import rclpy_actions, rclpy_double  # noqa: E402  # needs rosbags


class Counting(Action[DriveToSurface.Goal, DriveToSurface.Result]):
    """Counts to what its surface says; ``for ever`` never ends, ``refuse`` fails."""

    kind = DriveToSurface

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0.0)
        self.threads = set()
        self.goals = []

    async def _execute(self, handle) -> None:
        self.goals.append(handle.goal)
        self.threads.add(threading.get_ident())
        surface = handle.goal.surface
        if surface == "refuse":
            raise InteractiveError("there is no floor")
        count = 0
        while surface == "for ever" or count < int(surface):
            handle.check()
            count += 1
            handle.tell(f"at {count}")
            await asyncio.sleep(0.001)
        handle.result.success = True


@pytest.fixture
def served(monkeypatch):
    module = rclpy_actions.install(monkeypatch, rosbags, rclpy_double)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    node, action, registry = rclpy_actions.Node(), Counting(), ActionRegistry()
    registry.add("drive_to_surface", action)
    (server,) = registry.serve(node, loop, prefix="/iw/")
    assert node.servers == {"/iw/drive_to_surface": server}
    assert server.action_type is module.DriveToSurface
    try:
        yield node, server, action, thread, module
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_a_goal_is_worked_on_in_the_loops_thread_and_succeeds(served):
    node, server, action, thread, module = served
    native = ros.to_native(DriveToSurface.Goal("5", "Chair", Point(1.0, 2.0, 3.0)))
    handle, result = server.send(native)
    node.spin_until_complete(result)
    assert handle.state == "SUCCEEDED"
    told = result._result
    assert type(told) is module.DriveToSurface.Result
    assert told.success is True
    assert [item.message for item in handle.feedback] == [f"at {count}" for count in range(1, 6)]
    assert action.goals == [DriveToSurface.Goal("5", "Chair", Point(1.0, 2.0, 3.0))]
    assert action.threads == {thread.ident}
    assert node.timers == []


def test_a_goal_is_called_off(served):
    node, server, _, _, _ = served
    handle, result = server.send(ros.to_native(DriveToSurface.Goal("for ever")))

    def cancel():
        if handle.feedback and handle.state == "EXECUTING":
            server.cancel(handle)

    node.spin_until_complete(result, each=cancel)
    assert (handle.state, result._result.success) == ("CANCELED", False)
    assert node.timers == []


def test_a_fault_aborts_and_is_logged(served):
    node, server, _, _, _ = served
    handle, result = server.send(ros.to_native(DriveToSurface.Goal("refuse")))
    node.spin_until_complete(result)
    assert (handle.state, result._result.success) == ("ABORTED", False)
    assert node.errors == ["/iw/drive_to_surface: there is no floor"]


def test_goals_are_worked_on_side_by_side(served):
    node, server, _, _, _ = served
    endless, ended = server.send(ros.to_native(DriveToSurface.Goal("for ever")))
    short, result = server.send(ros.to_native(DriveToSurface.Goal("3")))
    node.spin_until_complete(result)
    assert (short.state, endless.state) == ("SUCCEEDED", "EXECUTING")
    server.cancel(endless)
    node.spin_until_complete(ended)
    assert endless.state == "CANCELED"


def test_a_wish_to_cancel_that_comes_too_late_changes_nothing(served):
    node, server, _, _, _ = served
    handle, result = server.send(ros.to_native(DriveToSurface.Goal("0")))
    node.spin_until_complete(result)
    server.cancel(handle)
    assert handle.state == "SUCCEEDED"


def test_without_the_interfaces_the_error_names_their_package():
    with pytest.raises(ros.MissingRosError, match="interactive_world_msgs"):
        ros.serve_action(rclpy_actions.Node(), DriveToSurface, "drive", lambda goal, tell: None)


def test_the_double_refuses_what_rclpy_refuses(served):
    """Without this, the tests above would show less."""
    node, server, _, _, module = served
    with pytest.raises(TypeError):
        rclpy_actions.ActionServer(node, module.DriveToSurface, "x", print, timeout=3)
    handle, result = server.send(ros.to_native(DriveToSurface.Goal("0")))
    with pytest.raises(AssertionError):
        handle.canceled()
    with pytest.raises(AssertionError):
        handle.publish_feedback(module.DriveToSurface.Result())
    node.spin_until_complete(result)


def test_names_of_actions_are_unique():
    registry = ActionRegistry()
    registry.add("drive", Counting())
    with pytest.raises(InteractiveError, match="an action 'drive' already"):
        registry.add("drive", Counting())
    with pytest.raises(InteractiveError, match="no action 'fly'; there are drive"):
        registry["fly"]
    assert list(registry) == ["drive"]


def test_objects_that_were_found_go_over_a_node(served):
    """The largest of the results: a list of objects, each with a cloud of bytes."""
    _, _, _, _, module = served
    seen = SegmentedObject("cup", 0.75, True, PointCloud2(Header(0, 0.0, "map")),
                           Point(1.0, 2.0, 0.5), Point(1.0, 2.0, 0.5), 0.09, 0.09, 0.1)  # fmt: skip
    result = DriveAndSearch.Result(True, SegmentedObjectList(Header(0, 2.5, "map"), False, [seen]))
    native = ros.to_native(result)
    assert type(native) is module.DriveAndSearch.Result
    (cup,) = native.objects.objects
    assert (cup.name, cup.recognized, cup.confidence) == ("cup", True, 0.75)
    assert (native.objects.header.frame_id, native.objects.header.stamp.nanosec) == (
        "map", 500_000_000
    )  # fmt: skip
