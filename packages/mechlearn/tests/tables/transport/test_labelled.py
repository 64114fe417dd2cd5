import json

import numpy as np
import pytest

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.transport.evaluation import Trials, on_sites
from mechlearn.tables.transport.labelled import labelled_rows
from mechlearn.tables.transport.learners import simple_learners
from mechlearn.tables.transport.room import room


def planted(seed, level=0.0, slopes=0.0, classes=False, count=12, rows=80):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, rows, 4))
    b = np.array([0.8, -0.6, 0.4, 0.0]) + np.concatenate([slopes * rng.normal(size=(count, 1, 2)), np.zeros((count, 1, 2))], 2)
    z = (x * b).sum(-1) + level * rng.normal(size=(count, 1))
    y = (rng.random((count, rows)) < 1 / (1 + np.exp(-z))).astype(int) if classes else z + rng.normal(size=z.shape)
    return x.reshape(-1, 4), y.ravel(), np.repeat(np.arange(count), rows)


def asked(columns, seed=0):
    table = prepare(*columns)
    trials = Trials(table, simple_learners(("linear",), table.task, 0), [], np.random.default_rng(seed), lambda: None)
    outcome = on_sites(trials, [[place] for place in range(len(table.sites))])
    return labelled_rows(table, outcome, np.random.default_rng(seed)), trials, outcome


@pytest.mark.parametrize("how", [{"level": 0.6}, {"slopes": 0.35}, {"slopes": 1.1, "classes": True}])
def test_twenty_rows_close_half_of_a_planted_room(how):
    curve, trials, outcome = asked(planted(7, **how))
    hoped = room(trials, outcome).mean
    assert 3 <= hoped <= 25
    assert curve.at(20).gain >= hoped / 2
    gains = [one.gain for one in curve.points["chosen"]]
    assert [one.rows for one in curve.points["chosen"]] == [5, 10, 20, 50]
    assert gains[0] < gains[2] < gains[3]


@pytest.mark.parametrize("classes", [True, False])
def test_where_sites_are_alike_rows_cost_next_to_nothing(classes):
    curve, *_ = asked(planted(8, classes=classes))
    assert abs(curve.at(20).gain) <= 0.5  # of one table; over forty the mean is -0.03


def test_a_level_of_classes_moves_the_log_loss_only():
    curve, *_ = asked(planted(9, level=1.5, classes=True))
    point = next(one for one in curve.points["level"] if one.rows == 20)
    assert point.gain == pytest.approx(0, abs=1e-9)
    assert point.relief > 0.05
    assert curve.picked["level"] > 0


def test_sites_of_few_rows_have_the_points_that_they_can():
    curve, *_ = asked(planted(10, level=1.0, count=6, rows=32))
    assert [one.rows for one in curve.points["chosen"]] == [5, 10, 20]
    assert curve.at(20).sites == 6
    assert asked(planted(10, count=4, rows=32))[0].at(4) is None
    json.dumps(curve.as_dict(), allow_nan=False)


def test_three_classes():
    x, y, group = planted(11, level=1.5)
    curve, *_ = asked((x, np.digitize(y, [-0.7, 0.7]), group))
    assert next(one for one in curve.points["level"] if one.rows == 20).relief > 0.02


def test_two_sites_have_a_curve_of_nothing_gained():
    assert asked(planted(12, count=2))[0] is None
