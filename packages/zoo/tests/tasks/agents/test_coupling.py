import math

import pytest
import torch

from mechlearn_zoo.tasks.agents.coupling import coupled_play, true_influence


def test_b_follows_as_often_as_said():
    play = coupled_play(0, 400, 30, 0.6)
    same = (play[:, 1:, 1] == play[:, :-1, 0]).double().mean()
    assert float(same) == pytest.approx(0.6 + 0.4 / 3, abs=0.015)
    assert torch.equal(play, coupled_play(0, 400, 30, 0.6))


def test_the_influence_is_the_enumeration():
    assert true_influence(0.0) == pytest.approx(0.0)
    assert true_influence(1.0, 4) == pytest.approx(math.log(4))
    joint = torch.full((3, 3), 0.1 / 9) + 0.9 / 3 * torch.eye(3)
    wanted = float((joint * (joint * 9).log()).sum())
    assert true_influence(0.9) == pytest.approx(wanted, abs=1e-6)


def test_a_coupling_that_is_no_probability_is_refused():
    with pytest.raises(ValueError, match=r"`coupling` should lie in \[0, 1\]"):
        coupled_play(0, 1, 1, 1.5)
