"""Action servers, goal handles, timers and an executor shaped after those of rclpy.

They take the arguments that the real ones take, by the same names, and hold goals to the
transitions that the real ones allow.
"""

from __future__ import annotations

import enum
import sys
import time
import types

from irsim_isaac.msg import ros
from irsim_isaac.msg.interactive_world import interfaces


class GoalResponse(enum.Enum):
    REJECT = 1
    ACCEPT = 2


class CancelResponse(enum.Enum):
    REJECT = 1
    ACCEPT = 2


class Future:
    def __init__(self, *, executor=None):
        self._done, self._result = False, None

    def done(self):
        return self._done

    def set_result(self, result):
        self._done, self._result = True, result

    def __await__(self):
        while not self._done:
            yield self
        return self._result


class ClockType(enum.IntEnum):
    ROS_TIME = 1
    SYSTEM_TIME = 2
    STEADY_TIME = 3


class Clock:
    def __init__(self, *, clock_type=ClockType.SYSTEM_TIME):
        self.clock_type = clock_type


class Timer:
    def __init__(self, callback):
        self.callback = callback


class ServerGoalHandle:
    """A goal as the server sees it; a transition that rclpy refuses raises."""

    def __init__(self, server, request):
        self._server, self._request = server, request
        self.state = "EXECUTING"
        self.feedback = []

    @property
    def request(self):
        return self._request

    @property
    def is_cancel_requested(self):
        return self.state == "CANCELING"

    @property
    def is_active(self):
        return self.state in ("EXECUTING", "CANCELING")

    def publish_feedback(self, feedback):
        assert isinstance(feedback, self._server.action_type.Feedback)
        assert self.is_active
        self.feedback.append(feedback)

    def succeed(self, response=None):
        self._go("SUCCEEDED", "EXECUTING", "CANCELING")

    def abort(self, response=None):
        self._go("ABORTED", "EXECUTING", "CANCELING")

    def canceled(self, response=None):
        self._go("CANCELED", "CANCELING")

    def _go(self, state, *allowed):
        assert self.state in allowed, f"no transition from {self.state} to {state}"
        self.state = state


class ActionServer:
    def __init__(
        self,
        node,
        action_type,
        action_name,
        execute_callback,
        *,
        callback_group=None,
        goal_callback=lambda goal_request: GoalResponse.ACCEPT,
        handle_accepted_callback=lambda goal_handle: goal_handle.execute(),
        cancel_callback=lambda goal_handle: CancelResponse.REJECT,
        goal_service_qos_profile=None,
        result_service_qos_profile=None,
        cancel_service_qos_profile=None,
        feedback_pub_qos_profile=None,
        status_pub_qos_profile=None,
        result_timeout=900,
    ):
        assert callable(execute_callback)
        self.node, self.action_type, self.action_name = node, action_type, action_name
        self.execute_callback = execute_callback
        self.goal_callback, self.cancel_callback = goal_callback, cancel_callback
        node.servers[action_name] = self

    def send(self, request):
        """What a client's goal sets off; returns the handle and where its result will be."""
        assert isinstance(request, self.action_type.Goal)
        assert self.goal_callback(request) is GoalResponse.ACCEPT
        handle = ServerGoalHandle(self, request)
        result = Future()
        self.node.tasks.append((self.execute_callback(handle), result))
        return handle, result

    def cancel(self, handle):
        """What a client's wish to cancel sets off."""
        if self.cancel_callback(handle) is CancelResponse.ACCEPT and handle.is_active:
            handle.state = "CANCELING"


class Node:
    """A node with one thread that spins it."""

    def __init__(self):
        self.servers, self.tasks, self.timers, self.errors = {}, [], [], []

    def create_timer(
        self, timer_period_sec, callback, callback_group=None, clock=None, autostart=True
    ):
        assert timer_period_sec > 0.0
        assert clock.clock_type is ClockType.STEADY_TIME
        timer = Timer(callback)
        self.timers.append(timer)
        return timer

    def destroy_timer(self, timer):
        self.timers.remove(timer)
        return True

    def get_logger(self):
        return types.SimpleNamespace(error=self.errors.append)

    def spin_until_complete(self, result, timeout_sec=20.0, each=None):
        end = time.monotonic() + timeout_sec
        while not result.done():
            assert time.monotonic() < end, "the action did not end"
            for timer in list(self.timers):
                timer.callback()
            for task in list(self.tasks):
                coroutine, future = task
                try:
                    coroutine.send(None)
                except StopIteration as stop:
                    self.tasks.remove(task)
                    future.set_result(stop.value)
            if each is not None:
                each()
            time.sleep(0.001)


def install(monkeypatch, rosbags, rclpy_double):
    """Put rclpy's modules and the generated classes of all actions where imports find them."""
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    for name, text in {**ros.DEFINITIONS, **interfaces.message_definitions()}.items():
        store.register(rosbags.get_types_from_msg(text, name.replace("/", "/msg/")))
    names = [name.replace("/", "/msg/") for name in ros.INTERACTIVE_TYPES.values()]
    classes = rclpy_double.install(monkeypatch, store, [*names, "std_msgs/msg/Header"])
    module = types.ModuleType("interactive_world_msgs.action")
    for action in interfaces.ACTIONS:
        parts = {
            part: classes[f"interactive_world_msgs/msg/{action.__name__}_{part}"]
            for part in ("Goal", "Result", "Feedback")
        }
        setattr(module, action.__name__, type(action.__name__, (), parts))
    monkeypatch.setitem(sys.modules, "interactive_world_msgs.action", module)
    for name, content in (
        ("rclpy", {}),
        ("rclpy.action", {"ActionServer": ActionServer, "CancelResponse": CancelResponse}),
        ("rclpy.clock", {"Clock": Clock, "ClockType": ClockType}),
        ("rclpy.task", {"Future": Future}),
    ):
        made = types.ModuleType(name)
        for key, value in content.items():
            setattr(made, key, value)
        monkeypatch.setitem(sys.modules, name, made)
    return module
