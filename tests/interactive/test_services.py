"""What answers: surfaces under poses, poses on surfaces, observations and models."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import InteractiveError, StoreError
from irsim_isaac.interactive import Store, WorldServices
from irsim_isaac.msg import Header, Point, Pose, PoseStamped, Quaternion
from irsim_isaac.msg import interactive_world as iw
from tests.interactive.conftest import new_database
from tests.interactive.worlds import at, kitchen, poses, world_models


def stamped(pose: Pose, frame: str = "map") -> PoseStamped:
    return PoseStamped(Header(0, 5.0, frame), pose)


def found(services: WorldServices, pose: Pose, frame: str = "map") -> tuple[str, str, str, str]:
    answer = services.find_surface(iw.FindSurface.Request(stamped(pose, frame)))
    return (
        answer.surface,
        answer.frame_id,
        answer.surface_frame_id,
        answer.placement_surface_frame_id,
    )


sqlalchemy = pytest.importorskip("sqlalchemy")

TABLE = ("Kitchen Table", "table", "table", "table_top")
BLANK = ("", "", "", "")


@pytest.mark.parametrize("yaw", [0.0, 0.5, math.pi / 2.0, -3.0])
@pytest.mark.parametrize(
    ("x", "y", "z", "expected"),
    [
        (0.44, 0.45, 0.7, TABLE),
        (-0.44, -0.45, 0.7, TABLE),
        (0.4401, 0.0, 0.7, BLANK),
        (0.0, 0.4501, 0.7, BLANK),
        (0.0, 0.0, 0.8, TABLE),
        (0.0, 0.0, 0.6, TABLE),
        (0.0, 0.0, 0.8001, BLANK),
        (0.0, 0.0, 0.5999, BLANK),
    ],
)
def test_a_surface_ends_where_it_ends(yaw, x, y, z, expected):
    services = WorldServices(kitchen(yaw))
    c, s = math.cos(yaw), math.sin(yaw)
    assert found(services, at(c * x - s * y, s * x + c * y, z)) == expected
    # The same place in the frame of the surface, and turned any way.
    turned = Pose(Point(x, y, z), Quaternion(0.5, 0.5, 0.5, 0.5))
    assert found(services, turned, "table") == expected


def test_the_nearest_part_is_told_and_the_first_of_equals():
    services = WorldServices(kitchen())
    assert found(services, at(3.7, 0.1, 0.9))[3] == "counter_left"
    assert found(services, at(2.2, 0.1, 0.9))[3] == "counter_right"
    assert found(services, at(3.1, 0.1, 0.9))[3] == "counter_sink"
    assert found(services, at(2.6, 0.0, 0.9))[3] == "counter_right"


def test_a_later_surface_is_tried_unless_told_otherwise():
    model = kitchen()
    low = iw.SurfacePlace(
        "Rug", "rug", at(0, 0), 1.0, 1.0, (), (iw.PlacementSurface("rug_top", at(0, 0, 0.0)),)
    )
    kitchen_room = model.rooms[0]
    both = iw.WorldModel(
        (iw.RoomPlace("Kitchen", "kitchen", surfaces=(kitchen_room.surfaces[0], low)),)
    )
    assert found(WorldServices(both), at(0.0, 0.0, 0.05))[0] == "Rug"
    assert found(WorldServices(both, stop_at_first_box=True), at(0.0, 0.0, 0.05)) == BLANK


def test_frames_are_known_given_or_refused():
    services = WorldServices(kitchen(), frames={"camera": at(0.0, 0.0, 1.7)})
    assert found(services, at(0.0, 0.0, -1.0), "camera") == TABLE
    assert found(services, at(0.0, 0.0, 0.7), "world") == TABLE
    assert found(services, at(-10.0, 0.0, 0.7), "living") == TABLE
    for frame in ("nowhere", ""):
        with pytest.raises(InteractiveError, match=f"frame '{frame}' is unknown"):
            found(services, at(0.0, 0.0), frame)
    with pytest.raises(InteractiveError, match="finite"):
        found(services, at(math.nan, 0.0))


@settings(max_examples=40)
@given(model=world_models(), pose=poses(), data=st.data())
def test_a_pose_on_a_surface_is_the_pose_in_the_world(model, pose, data):
    surfaces = [surface for _, surface in model.surfaces()]
    if not surfaces:
        return
    services = WorldServices(model)
    name = data.draw(st.sampled_from(surfaces)).name
    request = iw.TransformToSurfaceFrame.Request(stamped(pose, model.fixed_frame), name)
    there = services.transform(request).pose
    frame = model.find(name)[0][1].frame_id
    assert there.header == Header(0, 0.0, frame)
    # Taken back from the surface's frame, it is what it was.
    again = services._in_world(there)
    assert np.allclose(again, iw.to_matrix(pose), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize(
    "name", ["Kitchen Table", "KITCHEN table", "dining table", "Dining Table with Chairs"]
)
def test_names_and_aliases_in_any_case(name):
    services = WorldServices(kitchen())
    request = iw.TransformToSurfaceFrame.Request(stamped(at(0.3, 0.2, 0.7)), name)
    assert services.transform(request).pose == PoseStamped(
        Header(0, 0.0, "table"), at(0.3, 0.2, 0.7)
    )


def test_the_first_room_wins_and_one_surface_of_each_is_found():
    model = kitchen()
    assert [surface.frame_id for _, surface in model.find("counter")] == ["counter", "coffee"]
    assert model.find("") == []
    with pytest.raises(InteractiveError, match="no surface 'Bed'; there are Kitchen Table"):
        WorldServices(model).transform(iw.TransformToSurfaceFrame.Request(stamped(at(0, 0)), "Bed"))


def test_all_surfaces_are_told_in_order():
    answer = WorldServices(kitchen()).get_surfaces(iw.GetSurfaces.Request())
    assert answer.surfaces == ["Kitchen Table", "Kitchen Counter", "Coffee Table"]


def test_services_are_called_by_name(url, clock):
    with Store(url, clock=clock) as store:
        registry = WorldServices(kitchen(), store).registry
        assert set(registry) == {
            "find_surface", "transform_to_surface_frame", "get_surfaces", "store_observation",
            "find_observations", "set_observations_removed", "load_models",
            "learn_hypotheses", "parse_and_store",
        }  # fmt: skip
        for item, conf in (("Cup", 0.5), ("Fork", 0.75)):
            registry.call(
                "store_observation",
                iw.StoreObservation.Request(
                    "Kitchen Table", "table_top", item, conf, 0.1, 0.2, 0.7, -1.5, "table"
                ),
            )
        seen = registry.call("find_observations", iw.FindObservations.Request("cup"))
        assert seen == iw.FindObservations.Response(
            ["Kitchen Table"], ["table_top"], [0.5], [0.1], [0.2], [0.7], [-1.5],
            [1_700_000_000.25], [1], ["table"], ["Cup"], [0.0],
        )  # fmt: skip
        every = registry.call("find_observations", iw.FindObservations.Request())
        assert every.items == ["Fork", "Cup"]
        registry.call("set_observations_removed", iw.SetObservationsRemoved.Request([1, 77]))
        assert registry.call("find_observations", iw.FindObservations.Request("cup")).ids == []
        gone = registry.call("find_observations", iw.FindObservations.Request("cup", removed=True))
        assert gone.removals == [1_700_000_002.25]
        with pytest.raises(StoreError, match="nothing is learned"):
            registry.call("load_models", iw.LoadModels.Request(3))


def test_wrong_requests_are_refused(tmp_path):
    with Store(str(tmp_path / "s.db")) as store:
        services = WorldServices(kitchen(), store, fail_when_empty=True)
        with pytest.raises(InteractiveError, match="no service 'drive'"):
            services.registry.call("drive", iw.GetSurfaces.Request())
        with pytest.raises(InteractiveError, match=r"expected a FindSurface\.Request"):
            services.registry.call("find_surface", iw.GetSurfaces.Request())
        with pytest.raises(InteractiveError, match="already"):
            services.registry.add("find_surface", iw.FindSurface, services.find_surface)
        with pytest.raises(InteractiveError, match="nothing was seen"):
            services.find_observations(iw.FindObservations.Request("cup"))
        with pytest.raises(InteractiveError, match="the item is blank"):
            services.store_observation(iw.StoreObservation.Request("Table", "top", " "))
        with pytest.raises(InteractiveError, match="x is nan"):
            services.store_observation(
                iw.StoreObservation.Request("Table", "top", "cup", x=math.nan)
            )
        assert store.observations(removed=None) == []
    with pytest.raises(InteractiveError, match="no store"):
        WorldServices(kitchen()).load_models(iw.LoadModels.Request(1))


def test_credentials_of_requests_are_ignored_unless_allowed(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    request = iw.LearnModels.Request("127.0.0.1", 1, "ros", "s3cr3t", "rms", 1)
    with Store(str(tmp_path / "s.db")) as store:
        assert WorldServices(kitchen(), store).store_for(request) is store
        assert "is ignored" in caplog.text
        caplog.clear()
        assert WorldServices(kitchen(), store).store_for(iw.LearnModels.Request()) is store
        assert caplog.text == ""
        with pytest.raises(StoreError) as caught:
            WorldServices(kitchen(), store, allow_request_credentials=True).store_for(request)
        assert "s3cr3t" not in str(caught.value)
    assert "s3cr3t" not in caplog.text


def test_allowed_credentials_reach_a_real_database(mariadb, tmp_path):
    url = new_database(mariadb, "mysql")
    with Store(url) as there:
        there.add_study("There")
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        port = connection.exec_driver_sql("SELECT @@port").scalar()
        connection.exec_driver_sql("CREATE USER IF NOT EXISTS ros@'127.0.0.1' IDENTIFIED BY 's3c'")
        connection.exec_driver_sql(f"GRANT ALL ON {engine.url.database}.* TO ros@'127.0.0.1'")
    engine.dispose()
    request = iw.LearnModels.Request("127.0.0.1", port, "ros", "s3c", engine.url.database, 1)
    with Store(str(tmp_path / "here.db")) as here:
        services = WorldServices(kitchen(), here, allow_request_credentials=True)
        with services.store_for(request) as opened:
            assert [study.name for study in opened.studies()] == ["There"]
            assert "s3c" not in repr(opened)
