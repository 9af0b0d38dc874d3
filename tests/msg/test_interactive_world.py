"""The messages, services and actions of the interactive world, and their ROS text."""

from __future__ import annotations

import dataclasses
import re
import sys
import types
import typing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import InteractiveError
from irsim_isaac.msg import Header, Point, Pose, PoseStamped, Quaternion, ros
from irsim_isaac.msg import interactive_world as iw
from irsim_isaac.msg.interactive_world import interfaces

rosbags = pytest.importorskip("rosbags.typesys")

from tests.ros import rclpy_double  # noqa: E402  # needs rosbags

CLASSES = interfaces.wire_classes()
SCALARS = {
    "string": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint8": st.integers(0, 255),
    # Whole quarters of a second survive nanoseconds and floats alike.
    "builtin_interfaces/Time": st.integers(0, 2**32).map(lambda count: count / 4.0),
}


def value_of(kind: str, hint: object) -> st.SearchStrategy:
    base, is_list, _ = kind.partition("[]")
    if base == "uint8" and is_list:
        return st.binary(max_size=5).map(lambda data: np.frombuffer(data, np.uint8))
    if is_list:
        (inner,) = typing.get_args(hint)
        return st.lists(value_of(base, inner), max_size=2)
    if base in SCALARS:
        return SCALARS[base]
    if base == "std_msgs/Header":
        return st.builds(Header, st.just(0), SCALARS["builtin_interfaces/Time"], SCALARS["string"])
    return message_of(hint)


def message_of(cls) -> st.SearchStrategy:
    import dataclasses

    hints = typing.get_type_hints(cls)
    fields = {
        item.name: value_of(interfaces.ros_field_type(hints[item.name], item), hints[item.name])
        for item in dataclasses.fields(cls)
    }
    return st.builds(cls, **fields)


@pytest.mark.parametrize("name", list(CLASSES))
@settings(max_examples=4)
@given(data=st.data())
def test_every_message_survives_json_and_both_kinds_of_ros_bytes(name, data):
    cls = CLASSES[name]
    message = data.draw(message_of(cls))
    assert cls.from_json(message.to_json()) == message
    assert cls.from_dict(message.to_dict()) == message
    assert ros.from_cdr(cls, ros.to_cdr(message)) == message
    assert ros.from_ros1(cls, ros.to_ros1(message)) == message


def test_an_item_is_told_in_the_order_of_its_fields():
    item = iw.Item("name", 1.5, 3.0)
    assert item.to_json() == '{"name":"name","width":1.5,"height":3.0}'
    assert iw.Item.from_json("{}") == iw.Item("", 0.0, 0.0)
    assert iw.Item.from_dict(item.to_dict()) == item
    assert iw.Item("a") != iw.Item("b")


def test_credentials_show_neither_in_a_repr_nor_in_an_error():
    secret = "s3cr3t"
    request = iw.LearnModels.Request(secret, 3306, secret, secret, secret, 7)
    assert secret not in repr(request)
    assert "3306" not in repr(request)
    assert "condition_id=7" in repr(request)
    assert iw.LearnModels.Request.from_json(request.to_json()) == request
    for bad in ({"password": [secret]}, {"host": {"x": secret}}, {"user": 1, "password": secret}):
        with pytest.raises(TypeError, match="Request") as caught:
            iw.LearnModels.Request.from_dict(bad)
        assert secret not in repr(caught.value)
        assert caught.value.__context__ is None
    for text in (f'{{"password": "{secret}', f'{{"password": "{secret}", "x": }}'):
        with pytest.raises(ValueError, match="JSON") as caught:
            iw.LearnModels.Request.from_json(text)
        assert secret not in repr(caught.value)


def test_interface_texts_are_those_of_the_contract():
    def bare(text: str) -> list[str]:
        return [line.split("#")[0].strip() for line in text.splitlines()]

    assert bare(interfaces.interface_text(iw.DriveToSurface)) == [
        "string surface", "string poi", "geometry_msgs/Point point", "---", "bool success",
        "---", "string message",
    ]  # fmt: skip
    assert bare(interfaces.interface_text(iw.ObjectSearch))[0] == "uint32[] models"
    assert bare(interfaces.interface_text(iw.Parse)) == ["int32 study_id", "---"]
    assert bare(interfaces.message_text(iw.Model)) == [
        "interactive_world_msgs/Placement placement", "float64 decision_value", "float64 sigma_x",
        "float64 sigma_y", "float64 sigma_z", "float64 sigma_theta",
    ]  # fmt: skip
    found = bare(interfaces.interface_text(iw.FindObservations))
    assert "builtin_interfaces/Time[] times" in found
    assert found[0] == "string item"


def test_written_packages_are_whole(tmp_path):
    packages = interfaces.write_interfaces(tmp_path)
    assert [path.name for path in packages] == [
        "rail_manipulation_msgs", "interactive_world_msgs", "irsim_msgs",
    ]  # fmt: skip
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    for package in packages:
        files = sorted(
            str(path.relative_to(package))
            for path in package.rglob("*")
            if path.suffix in {".msg", ".srv", ".action"}
        )
        build = (package / "CMakeLists.txt").read_text()
        assert re.findall(r'"(\S+)"', build) == files
        manifest = (package / "package.xml").read_text()
        needs = re.findall(r"<depend>(\w+)</depend>", manifest)
        assert set(needs) <= set(re.findall(r"find_package\((\w+)", build))
        # Every type that a file names is one of ROS, of these packages, or built in.
        for name in files:
            text = (package / name).read_text()
            for part in text.split("---\n"):
                for line in part.splitlines():
                    kind = line.split()[0].removesuffix("[]")
                    if "/" not in kind:
                        continue
                    owner, leaf = kind.split("/")
                    assert owner in {*needs, package.name}
                    ours = tmp_path / owner / "msg" / f"{leaf}.msg"
                    assert ours.exists() or f"{owner}/msg/{leaf}" in store.types
    counts = {kind: len(list(packages[1].glob(f"{kind}/*"))) for kind in ("msg", "srv", "action")}
    assert counts == {"msg": 10, "srv": 9, "action": 3}


# ------------------------------------------------------------------ native


class Node:
    """A node of rclpy as far as services need one."""

    def __init__(self) -> None:
        self.services = {}
        self.errors = []

    def create_service(self, kind, name, callback):
        self.services[name] = kind, callback
        return name

    def get_logger(self):
        return types.SimpleNamespace(error=self.errors.append)


def install(monkeypatch, contract_alone: bool):
    """Put generated classes of all services where ``import`` finds them."""
    store = rosbags.get_typestore(rosbags.Stores.ROS2_HUMBLE)
    for name, whole in {**ros.DEFINITIONS, **interfaces.message_definitions()}.items():
        text = whole
        cls = CLASSES.get(name)
        if contract_alone and cls is not None:
            extra = {item.name for item in dataclasses.fields(cls) if item.metadata.get("extra")}
            text = "".join(
                f"{line}\n" for line in whole.splitlines() if line.split()[1] not in extra
            )
        store.register(rosbags.get_types_from_msg(text, name.replace("/", "/msg/")))
    names = [name.replace("/", "/msg/") for name in {**CLASSES, "geometry_msgs/PoseStamped": 0}]
    classes = rclpy_double.install(monkeypatch, store, names)
    module = types.ModuleType("interactive_world_msgs.srv")
    for service in interfaces.SERVICES:
        owner = type(service.__name__, (), {})
        for part in ("Request", "Response"):
            name = f"interactive_world_msgs/msg/{service.__name__}_{part}"
            setattr(owner, part, classes[name])
        setattr(module, service.__name__, owner)
    monkeypatch.setitem(sys.modules, "interactive_world_msgs.srv", module)
    return module


@pytest.mark.parametrize("contract_alone", [False, True])
def test_a_node_of_ros_answers_services(monkeypatch, contract_alone):
    module = install(monkeypatch, contract_alone)
    node = Node()
    asked = []

    def answer(request):
        asked.append(request)
        return iw.FindSurface.Response("Table", "table_frame", "table_frame", "top")

    ros.serve(node, iw.FindSurface, "find_surface", answer)
    kind, callback = node.services["find_surface"]
    assert kind is module.FindSurface
    request = ros.to_native(iw.FindSurface.Request(PoseStamped(Header(0, 1.5, "map"))))
    assert type(request) is module.FindSurface.Request
    response = callback(request, module.FindSurface.Response())
    assert asked == [iw.FindSurface.Request(PoseStamped(Header(0, 1.5, "map")))]
    assert (response.surface, response.frame_id) == ("Table", "table_frame")
    assert hasattr(response, "placement_surface_frame_id") is not contract_alone


def test_lists_and_times_go_over_a_node(monkeypatch):
    module = install(monkeypatch, False)
    node = Node()
    told = iw.FindObservations.Response(
        ["T"], ["p"], [0.5], [1.0], [2.0], [3.0], [4.0], [1.7e9 + 0.25], [7], ["f"], ["cup"], [0.0]
    )
    ros.serve(node, iw.FindObservations, "find", lambda request: told)
    _, callback = node.services["find"]
    response = callback(module.FindObservations.Request(item="cup"), None)
    assert (response.times[0].sec, response.times[0].nanosec) == (1_700_000_000, 250_000_000)
    assert list(response.ids) == [7]
    assert list(response.xs) == [1.0]


def test_an_error_is_logged_and_the_answer_blank(monkeypatch):
    module = install(monkeypatch, False)
    node = Node()

    def refuse(request):
        raise InteractiveError(f"no surface '{request.surface}'")

    ros.serve(node, iw.TransformToSurfaceFrame, "transform", refuse)
    _, callback = node.services["transform"]
    blank = module.TransformToSurfaceFrame.Response()
    assert callback(module.TransformToSurfaceFrame.Request(surface="x"), blank) is blank
    assert node.errors == ["transform: no surface 'x'"]


def test_without_the_interfaces_the_error_names_their_package():
    with pytest.raises(ros.MissingRosError, match="interactive_world_msgs"):
        ros.serve(Node(), iw.Parse, "parse", lambda request: request)


@settings(max_examples=50)
@given(st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: sum(v * v for v in q) > 1e-3))
def test_a_turn_survives_its_matrix(q):
    norm = sum(value * value for value in q) ** 0.5 * (-1 if q[3] < 0 else 1)
    pose = Pose(Point(1.0, -2.0, 3.0), Quaternion(*q))
    again = iw.from_matrix(iw.to_matrix(pose))
    assert again.position == pose.position
    turn = [again.orientation.x, again.orientation.y, again.orientation.z, again.orientation.w]
    if abs(q[3] / norm) > 1e-9:
        assert turn == pytest.approx([value / norm for value in q], abs=1e-12)
    assert np.allclose(iw.to_matrix(again), iw.to_matrix(pose), rtol=0, atol=1e-12)


def test_what_is_no_turn_is_refused():
    for turn in (Quaternion(0.0, 0.0, 0.0, 0.0), Quaternion(w=float("nan"))):
        with pytest.raises(ValueError, match="quaternion"):
            iw.to_matrix(Pose(Point(), turn))
