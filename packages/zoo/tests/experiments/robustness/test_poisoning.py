"""Poison, at sizes of seconds."""

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.robustness import poisoning
from mechlearn_zoo.experiments.robustness.poisoning.run import Config, board

CONFIG = Config(train=30, shares=(0.1,), steps=2, high=0.05, low=1.0)


@pytest.fixture(scope="module")
def rows():
    return [{**row, "seed": 100} for row in poisoning.run.run(CONFIG)]


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    for claim in poisoning.EXPERIMENT.claims:
        assert judge(claim, rows, claim.condition.presets[0]).measured is not None, claim.id
    assert poisoning.EXPERIMENT.figures(Rows(rows))


def test_every_learner_and_every_pair_is_there(rows):
    found = Rows(rows)
    assert len(found.where(kind="own")) == 6
    assert len(found.where(kind="pair")) == 36
    assert max(found.where(kind="own", family="logistic")["foretold"]) < 1e-3


def test_errors_are_read_where_the_attacker_did_not_look(rows):
    for claim in poisoning.EXPERIMENT.claims[:3]:
        family = claim.id.removeprefix("poisoning.regularised-")
        found = Rows(rows).where(kind="own", family=family)
        weak, strong = (found.where(complexity=one)[0] for one in "HL")
        judged = judge(claim, Rows(rows), "small-steps")
        assert judged.measured == pytest.approx(weak["poisoned"] - weak["clean"] - strong["poisoned"] + strong["clean"])


def test_a_tenth_of_all_is_poison():
    assert Config().count(0.1) == 11
    data = board(Config(), "8-9")
    assert len(data.train.y) == len(data.surrogate.y) == 100
    assert abs(len(data.validation.y) - len(data.test.y)) <= 1


def test_shares_that_are_no_minority_are_refused():
    with pytest.raises(ValueError, match="shares should lie between"):
        Config(shares=(0.7,))
