"""Learning from placements: which clusters there are, and which is the best."""

from __future__ import annotations

import logging
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irsim_isaac.errors import InteractiveError, StoreError
from irsim_isaac.interactive import Store, WorldServices, learn_models
from irsim_isaac.interactive.mixture import cross_validated_count, fit
from irsim_isaac.msg import Point
from irsim_isaac.msg import interactive_world as iw
from tests.interactive.studies import (
    TABLE,
    configuration,
    crowd,
    new_condition,
    placement,
    session,
)
from tests.interactive.test_import import run

HALF, QUARTER = math.pi, math.pi / 2
LOOSE = [(1.0, 1.0, HALF), (0.5, 0.5, QUARTER), (0.5, 1.5, HALF), (1.5, 0.5, QUARTER),
         (1.5, 1.5, HALF)]  # fmt: skip
DENSE = [(-5.0, -5.0, HALF), (-4.875, -4.875, QUARTER), (-4.875, -5.125, HALF),
         (-5.125, -4.875, QUARTER), (-5.125, -5.125, HALF)]  # fmt: skip


def one_set(points, item="Cup", frame="test") -> iw.PlacementSet:
    surface, room = iw.Surface("Table", 2.0, 1.0), iw.Room("Kitchen")
    return iw.PlacementSet(
        iw.Item(item, 0.1, 0.2), room, surface, frame,
        [iw.Placement(position=Point(x, y, 7.0), rotation=turn) for x, y, turn in points],
    )  # fmt: skip


def training(*sets) -> iw.TaskTrainingData:
    return iw.TaskTrainingData([one_set(points) for points in sets])


def learned(points, **options):
    (one,) = learn_models(training(points), **options).sets
    return one


class TestPublishedNumbers:
    @pytest.mark.parametrize("seed", range(5))
    def test_the_denser_of_two_clusters_wins(self, seed):
        one = learned(LOOSE + DENSE, seed=seed)
        (model,) = one.models
        assert model.decision_value == 2.0832594791428165
        assert model.placement.position == Point(-5.0, -5.0, 0.0)
        assert model.placement.rotation == 2.5132741228718345
        assert f"{model.sigma_x:.10f}" == f"{model.sigma_y:.10f}" == "0.1118033989"
        assert model.sigma_x == pytest.approx(math.sqrt(0.0125), rel=1e-15)
        assert model.sigma_theta == pytest.approx(0.7695298980971187, rel=1e-15)
        assert model.sigma_z == 0.0
        assert (model.placement.reference_frame_id, model.placement.item.name) == ("test", "Cup")
        assert (model.placement.room.name, model.placement.surface.width) == ("Kitchen", 2.0)

    def test_all_clusters_are_kept_and_told_on_request(self):
        best, other = learned(LOOSE + DENSE).clusters
        assert (best.members, other.members) == ((5, 6, 7, 8, 9), (0, 1, 2, 3, 4))
        assert other.decision_value == pytest.approx(2.9621760100339327, rel=1e-15)
        assert (other.x, other.y) == (1.0, 1.0)
        assert f"{other.sigma_x:.10f}" == "0.4472135955"
        assert other.sigma_theta == pytest.approx(0.7695298980971187, rel=1e-15)
        two = learned(LOOSE + DENSE, most=5).models
        assert [model.decision_value for model in two] == [
            best.decision_value, other.decision_value]  # fmt: skip

    def test_left_out_points_are_as_likely_with_three_clusters_as_with_two(self):
        # The third cluster splits the one that holds no point left out: rounding must not win.
        points = np.array(LOOSE + DENSE)
        members = ~np.eye(10, dtype=bool)
        told = []
        for k in (1, 2, 3):
            joint = fit(points, members, k, np.random.default_rng(0)).log_joint(points)
            told.append(np.log(np.exp(joint).sum(axis=-1))[~members].mean())
        assert [f"{value:.3f}" for value in told] == ["-6.582", "-2.914", "-2.914"]
        assert told[2] == pytest.approx(told[1], rel=1e-9)
        assert cross_validated_count(points, seed=0) == 2

    def test_two_points_are_one_cluster(self):
        (model,) = learned([(0.0, 0.0, 0.0), (3.0, 4.0, 0.0)]).models
        assert model.decision_value == 5.0
        assert (model.placement.position, model.placement.rotation) == (Point(1.5, 2.0, 0.0), 0.0)
        assert (model.sigma_x, model.sigma_y, model.sigma_z, model.sigma_theta) == (
            1.5, 2.0, 0.0, 1e-6)  # fmt: skip

    @pytest.mark.parametrize("count", [2, 9, 10, 25])
    def test_one_point_many_times_is_perfect(self, count):
        (model,) = learned([(0.25, -0.5, 1.0)] * count).models
        assert model.decision_value == 0.0
        assert (model.placement.position, model.placement.rotation) == (Point(0.25, -0.5, 0.0), 1.0)
        assert model.sigma_x == model.sigma_y == model.sigma_theta == 1e-6


class TestCounting:
    @pytest.mark.parametrize(("count", "clusters"), [(9, 1), (10, 2)])
    def test_less_than_ten_placements_are_one_cluster(self, count, clusters):
        assert len(learned((LOOSE + DENSE)[10 - count :]).clusters) == clusters

    @pytest.mark.parametrize("seed", range(3))
    def test_one_impossible_placement_does_not_drown_the_others(self, seed):
        # Nobody else turned the cup, so a turned one that is left out is 1e11 nats unlikely.
        random = np.random.default_rng(seed)
        near, far = random.normal(0.0, 0.02, (20, 2)), random.normal(1.0, 0.02, (20, 2))
        points = [(x, y, 0.0) for x, y in np.concatenate([near, far])]
        points[0] = (*points[0][:2], QUARTER)
        clusters = learned(points, seed=seed).clusters
        assert len(clusters) >= 2
        for cluster in clusters:
            assert max(cluster.members) < 20 or min(cluster.members) >= 20

    def test_a_number_of_clusters_is_kept_as_far_as_points_differ(self):
        assert len(learned(LOOSE + DENSE, clusters=1).clusters) == 1
        assert len(learned(LOOSE + DENSE, clusters=2).clusters) == 2
        assert len(learned([(0.0, 0.0, 0.0)] * 6 + [(1.0, 0.0, 0.0)] * 3, clusters=7).clusters) == 2

    def test_the_bayesian_criterion_finds_what_is_far_apart(self):
        pytest.importorskip("sklearn")
        random = np.random.default_rng(5)
        near, far = random.normal(0.0, 0.02, (40, 3)), random.normal(1.0, 0.3, (20, 3))
        points = [tuple(row) for row in np.concatenate([near, far])]
        best, *others = learned(points, clusters="bic").clusters
        assert set(best.members) == set(range(40))
        assert others
        assert math.hypot(best.x, best.y) < 0.01
        # scikit-learn adds 1e-6 to each variance.
        expected = np.sqrt(near.var(axis=0) + 1e-6)
        assert (best.sigma_x, best.sigma_y, best.sigma_theta) == pytest.approx(expected, rel=1e-4)

    def test_the_bayesian_criterion_needs_as_many_placements_as_parameters(self):
        pytest.importorskip("sklearn")
        assert len(learned(LOOSE + DENSE, clusters="bic").clusters) == 1

    def test_a_missing_package_is_named_with_its_extra(self):
        out = run(
            "from irsim_isaac.errors import MissingPackageError\n"
            "from irsim_isaac.interactive import learn_models\n"
            "from irsim_isaac.msg import interactive_world as iw\n"
            "data = iw.TaskTrainingData([iw.PlacementSet(placements=[iw.Placement()] * 3)])\n"
            "print(len(learn_models(data).sets))\n"
            "try:\n"
            "    learn_models(data, clusters='bic')\n"
            "except MissingPackageError as error:\n"
            "    print(error.package, error.extra)\n",
            "sklearn",
        )
        assert out == "1\nscikit-learn store\n"


class TestRanking:
    def test_single_placements_are_no_cluster(self):
        points = [(0.0, 0.0, 0.0), (0.01, 0.0, 0.0), (9.0, 9.0, 0.0)]
        best, lone = learned(points, clusters=2).clusters
        assert (best.members, lone.members, lone.decision_value) == ((0, 1), (2,), math.inf)
        assert best.decision_value == pytest.approx(0.01 * 3 / 2)
        assert len(learned(points, clusters=2, most=2).models) == 1

    def test_the_first_of_equals_wins(self):
        points = [(0.0, 0.0, 0.0), (0.5, 0.0, 0.0), (8.0, 0.0, 0.0), (8.5, 0.0, 0.0)]
        first, second = learned(points, clusters=2).clusters
        assert first.decision_value == second.decision_value == 1.0

    def test_a_rotation_weighs_what_it_is_told_to(self):
        points = [(0.0, 0.0, 0.0), (3.0, 0.0, 2.0)]
        assert learned(points, theta_weight=0.0).models[0].decision_value == 3.0
        assert learned(points, theta_weight=2.0).models[0].decision_value == 5.0

    def test_what_faces_backwards_stays_together(self):
        random = np.random.default_rng(1)
        turns = math.pi + random.normal(0.0, 0.05, 40)
        signed = np.where(turns > math.pi, turns - math.tau, turns)
        assert (signed < 0).any()
        assert (signed > 0).any()
        points = [
            (x, y, t) for (x, y), t in zip(random.normal(0, 0.02, (40, 2)), signed, strict=True)
        ]
        (model,) = learned(points).models
        middle = turns.mean() - (math.tau if turns.mean() > math.pi else 0.0)
        assert model.placement.rotation == pytest.approx(middle)
        assert model.sigma_theta == pytest.approx(turns.std())
        assert model.decision_value < 0.2


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.sampled_from([0.0, QUARTER, HALF])),
        min_size=2, max_size=30,
    ),
    st.integers(0, 3),
)  # fmt: skip
def test_clusters_part_the_set_and_their_numbers_hold(points, seed):
    one = learned(points, seed=seed)
    members = sorted(index for cluster in one.clusters for index in cluster.members)
    assert members == list(range(len(points)))
    values = [cluster.decision_value for cluster in one.clusters]
    assert values == sorted(values)
    assert one.models[0].decision_value == min(values)
    for cluster in one.clusters:
        own = np.array([points[index] for index in cluster.members])
        n = len(own)
        if n > 1:
            pairs = [math.dist(a, b) for k, a in enumerate(own) for b in own[:k]]
            mean = math.fsum(pairs) / len(pairs)
            assert cluster.decision_value == pytest.approx(mean * len(points) / n, abs=1e-12)
        assert min(cluster.sigma_x, cluster.sigma_y, cluster.sigma_theta) > 0.0
        assert abs(cluster.theta) <= math.pi
    assert learned(points, seed=seed) == one


def test_a_far_away_pair_of_rotations_counts_the_short_way():
    value = learned([(0.0, 0.0, 3.0), (0.0, 0.0, -3.0)]).models[0].decision_value
    assert value == pytest.approx(math.tau - 6.0)


def test_what_is_skipped_is_told():
    result = learn_models(
        iw.TaskTrainingData(
            [one_set([]), one_set([(0.0, 0.0, 0.0)]), one_set(DENSE, "Fork"),
             iw.PlacementSet(iw.Item("Plate"), reference_frame_id="Cup",
                             placements=[iw.Placement(position=Point(k, 0.0, 0.0))
                                         for k in range(2)])]
        ),
        clusters=2,
    )  # fmt: skip
    assert [one.data.item.name for one in result.sets] == ["Fork"]
    assert len(result.models.models) == 1
    assert [(left.where, left.reason) for left in result.skipped] == [
        ("set 'Cup' by 'test' on 'Table' in 'Kitchen'", "it has 0 placements, at least two "
                                                        "are needed"),
        ("set 'Cup' by 'test' on 'Table' in 'Kitchen'", "it has 1 placements, at least two "
                                                        "are needed"),
        ("set 'Plate' by 'Cup'", "none of its 2 clusters has two placements"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"clusters": "three"}, "clusters is 'three'"),
        ({"clusters": 0}, "clusters is 0"),
        ({"clusters": True}, "clusters is True"),
        ({"most": 0}, "most is 0"),
        ({"seed": -1}, "seed -1"),
        ({"theta_weight": math.nan}, "weight of rotations is nan"),
    ],
)
def test_wrong_options_are_refused(options, told):
    with pytest.raises(InteractiveError, match=told):
        learn_models(training(DENSE), **options)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_placements_that_are_not_finite_are_refused(bad):
    with pytest.raises(InteractiveError, match=r"set .Cup. by .test. .* not finite"):
        learn_models(training([(0.0, bad, 0.0), (0.0, 0.0, 0.0)]))


class TestServices:
    def test_a_study_is_parsed_learned_and_kept_at_once(self, url, caplog):
        caplog.set_level(logging.INFO)
        with Store(url) as store:
            study, first = new_condition(store)
            poor = store.add_condition(study, "Interactive World Task 1")
            with store.transaction():
                crowd(store, first, np.random.default_rng(0), noise=0.1, sessions=6)
                session(store, poor, ("config", configuration()),
                        ("place", placement("Cup", 0.1, 0.0)))  # fmt: skip
            registry = WorldServices(iw.WorldModel(), store).registry
            answer = registry.call("parse_and_store", iw.Parse.Request(study))
            assert answer == iw.Parse.Response()
            loaded = registry.call("load_models", iw.LoadModels.Request(first)).models
            frames = {(m.placement.item.name, m.placement.reference_frame_id)
                      for m in loaded.models}  # fmt: skip
            assert {("Vase", TABLE), ("Plate", "chair"), ("Cup", "Plate")} <= frames
            with pytest.raises(StoreError, match="nothing is learned"):
                store.load_models(poor)
        assert "at least two are needed" in caplog.text
        assert f"condition {poor} has no placements that can be learned from" in caplog.text

    def test_learning_replaces_what_was_kept(self, url):
        with Store(url) as store:
            _, condition = new_condition(store)
            services = WorldServices(iw.WorldModel(), store)
            for points, value in ((DENSE * 2, None), (LOOSE + DENSE, 2.0832594791428165)):
                request = iw.LearnModels.Request(condition_id=condition, data=training(points))
                services.registry.call("learn_hypotheses", request)
                (model,) = store.load_models(condition).models
                assert value is None or model.decision_value == value
            with pytest.raises(StoreError, match="no condition 4711"):
                services.learn(iw.LearnModels.Request(condition_id=4711, data=training(DENSE)))
            with pytest.raises(InteractiveError, match=r"from; set 'Cup'.*it has 0 placements"):
                services.learn(iw.LearnModels.Request(condition_id=condition, data=training([])))
            with pytest.raises(InteractiveError, match=r"no placements that can be learned from$"):
                services.learn(iw.LearnModels.Request(condition_id=condition))
            assert store.load_models(condition).models == [model]

    def test_a_study_without_placements_is_refused(self, tmp_path):
        with Store(str(tmp_path / "s.db")) as store:
            study, condition = new_condition(store)
            services = WorldServices(iw.WorldModel(), store)
            with pytest.raises(InteractiveError, match=f"condition {condition} has no placements"):
                services.parse(iw.Parse.Request(study))
            with pytest.raises(InteractiveError, match="study 2 has no placements"):
                services.parse(iw.Parse.Request(store.add_study("Empty")))
            with pytest.raises(StoreError, match="no study 99"):
                services.parse(iw.Parse.Request(99))

    def test_how_to_learn_can_be_told(self, tmp_path):
        with Store(str(tmp_path / "s.db")) as store:
            _, condition = new_condition(store)
            services = WorldServices(iw.WorldModel(), store,
                                     learn=lambda data: learn_models(data, most=2))  # fmt: skip
            services.learn(
                iw.LearnModels.Request(condition_id=condition, data=training(LOOSE + DENSE))
            )
            assert len(store.load_models(condition).models) == 2

    def test_the_password_of_a_request_is_nowhere(self, tmp_path, caplog):
        caplog.set_level(logging.DEBUG)
        path = tmp_path / "s.db"
        with Store(str(path)) as store:
            _, condition = new_condition(store)
            request = iw.LearnModels.Request(
                "db.example.org", 3306, "ros", "s3cr3t", "rms", condition, training(DENSE)
            )
            WorldServices(iw.WorldModel(), store).learn(request)
            (model,) = store.load_models(condition).models
            assert model.decision_value > 0.0
            request.data = training([])
            with pytest.raises(InteractiveError) as caught:
                WorldServices(iw.WorldModel(), store).learn(request)
        for text in (caplog.text, repr(request), str(caught.value)):
            assert "s3cr3t" not in text
            assert "db.example.org" not in text
        assert b"s3cr3t" not in path.read_bytes()
