import pytest

from claimlab import judge
from mechlearn_zoo.experiments.worlds import social_dilemmas
from mechlearn_zoo.experiments.worlds.social_dilemmas.influence import Config
from tiny import check_measured_and_drawn, rows_of

EXPERIMENT = social_dilemmas.EXPERIMENT.at("influence")
SMALL = {"couplings": (0.0, 0.9), "episodes": 4, "model_steps": 2}


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, config=Config(**SMALL))


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    check_measured_and_drawn(EXPERIMENT, rows, ("influence",))
    assert judge(EXPERIMENT.claims[0], rows, "influence").verdict == "does not hold so far"  # untrained, it finds nothing
