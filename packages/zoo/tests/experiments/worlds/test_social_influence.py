import pytest
import torch

from claimlab import judge
from mechlearn_zoo.experiments.worlds import social_dilemmas
from mechlearn_zoo.experiments.worlds.social_dilemmas.influence import GAMES, Config, bonus, expected, influence, signalling
from tiny import check_measured_and_drawn, rows_of

EXPERIMENT = social_dilemmas.EXPERIMENT.at("influence")
SMALL = {"couplings": (0.0, 0.9), "episodes": 4, "model_steps": 2, "replicas": 3, "games": 4, "steps": 8}


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, config=Config(**SMALL))


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    check_measured_and_drawn(EXPERIMENT, rows, ("influence",))
    assert judge(EXPERIMENT.claims[0], rows, "influence").verdict == "does not hold so far"  # untrained, it finds nothing
    config = EXPERIMENT.presets["influence"].config
    assert all(0 <= EXPERIMENT.progress(config, row)[0] <= 1 for row in rows)


def test_expected_rewards():
    code = 50 * torch.eye(3)[None]
    assert float(expected(code, code, torch.ones(3))) == pytest.approx(1.0)
    assert float(expected(code, torch.zeros(1, 3, 3), torch.ones(3))) == pytest.approx(1 / 3)


def test_a_speaker_that_is_sure_is_paid_for_symbols_but_not_as_printed():
    listener = (5 * torch.eye(2))[None]
    policy = torch.tensor([[[0.0, -40.0], [-40.0, 0.0]]]).log_softmax(-1)  # two states, a symbol each
    said = torch.tensor([[0, 1]])
    assert float(influence(listener, policy, said, "printed").max()) < 1e-6
    assert float(influence(listener, policy, said, "played").min()) > 0.5


def test_surprise_is_paid_whoever_listens_and_influence_is_not():
    policy, said = torch.tensor([[[0.9, 0.1]]]).log(), torch.tensor([[1]])
    deaf = torch.zeros(1, 2, 2)
    assert float(bonus(deaf, policy, said, "none")) == 0.0
    assert float(bonus(deaf, policy, said, "surprise")) == pytest.approx(2.302585, abs=1e-5)
    assert float(bonus(deaf, policy, said, "printed")) == pytest.approx(0.0, abs=1e-6)
    assert float(bonus(deaf, policy, said, "alone")) == float(bonus(deaf, policy, said, "printed"))


def test_talk_is_paid_for_in_one_game_alone():
    config = Config(**SMALL)
    for game in GAMES:
        last = list(signalling(config, game, "none"))[-1]
        assert last["right"] - last["reward"] == pytest.approx(0.4 * last["talk"] if game == "costly" else 0.0, abs=1e-6)
        assert last["best"] == pytest.approx(1 - 0.4 * 0.8 if game == "costly" else 1.0)
