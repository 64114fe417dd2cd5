import numpy as np
import pytest

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.transport.evaluation import Trials, on_sites
from mechlearn.tables.transport.folds import of_rows
from mechlearn.tables.transport.intervals import Interval
from mechlearn.tables.transport.learners import simple_learners
from mechlearn.tables.transport.room import Room, room
from transport_oracles import room_by_loops


def sites(rng, count, rows, turned):
    """Linear tables; at some sites the first column's sign is another."""
    x = rng.normal(size=(count, rows, 3))
    slopes = np.where(rng.random(count) < turned, -1.0, 1.0)
    y = slopes[:, None] * x[..., 0] + x[..., 1] + 0.5 * rng.normal(size=(count, rows))
    return x.reshape(-1, 3), y.ravel(), np.repeat([f"s{place}" for place in range(count)], rows)


def asked(x, y, group, seed=0):
    table = prepare(x, y, group, "regression")
    linear = simple_learners(["linear"], "regression", 0)
    one = linear[0]._replace(settings=linear[0].settings[:1])
    trials = Trials(table, [one], [], np.random.default_rng(seed), lambda: None)
    outcome = on_sites(trials, [[place] for place in range(len(table.sites))])
    trials.generator = np.random.default_rng(seed)
    return table, one.settings[0], room(trials, outcome)


def test_the_room_is_the_literal_one():
    table, ridge, found = asked(*sites(np.random.default_rng(0), 5, 24, 0.5))
    again = np.random.default_rng(0)
    folds = {place: of_rows(table, np.flatnonzero(table.site == place), 3, again) for place in range(5)}
    literal = room_by_loops(table.x, table.labels, table.site, ridge, folds)
    assert list(found.gains.values()) == pytest.approx(literal)
    assert found.mean == pytest.approx(np.mean(literal))


def test_where_sites_are_alike_there_is_none_and_where_they_differ_there_is_some():
    assert asked(*sites(np.random.default_rng(1), 8, 60, 0.0))[2].word == "none"
    found = asked(*sites(np.random.default_rng(1), 8, 60, 0.5))[2]
    assert found.word == "some"
    assert min(found.weights.values()) > 0


@pytest.mark.parametrize(("low", "high", "word"), [(-1.0, 0.9, "none"), (0.1, 1.5, "some"), (-0.1, 1.5, "cannot tell")])
def test_words(low, high, word):
    assert Room({}, {}, 0.0, Interval(low, high, "Student t")).word == word
    assert Room({}, {}, 0.0, None).word == "cannot tell"
