from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.language.temperature_sweep import EXPERIMENT as SWEEP
from mechlearn_zoo.experiments.language.temperature_sweep.measures import monotone
from mechlearn_zoo.experiments.language.temperature_sweep.recurrent_oracle import recurrent_oracle
from mechlearn_zoo.experiments.language.temperature_sweep.run import Config, Rewards, by_likelihood, nll

TINY = Config(
    vocabulary=6, length=5, sequences=60, units=4, epochs=2, rounds=4, samples=1, judge_epochs=1, judge_steps=1,
    temperatures=(0.5, 1.0, 2.0), points=50,
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return Rows([{"seed": 100, **row} for row in SWEEP.run(replace(TINY, arms=("mle", "seqgan", "pg-bleu")))])


def test_rows_repeat_and_are_complete(rows):
    again = [{"seed": 100, **row} for row in SWEEP.run(replace(TINY, arms=("mle",)))]
    assert list(rows)[: len(again)] == again
    assert len(rows.where(kind="point")) == 9
    assert [row["arm"] for row in rows.where(kind="end")] == ["mle", "seqgan", "pg-bleu"]
    assert len(rows.where(kind="round", arm="seqgan")) == 4


@pytest.mark.parametrize("preset", ["seqgan", "quick"])
def test_claims_and_figures(preset, rows):
    experiment = SWEEP.at(preset)
    for claim in experiment.claims:
        assert judge(claim, rows, preset).n == 1
    assert experiment.figures(rows)


def test_monotone_is_one_for_curves_in_order():
    points = [
        {"seed": 0, "kind": "point", "arm": "mle", "temperature": t, "oracle": t**2, "self_bleu": 1 / t, "test": 0.0}
        for t in (0.5, 1.0, 2.0)
    ]
    assert monotone(Rows(points)) == pytest.approx(1.0)
    assert monotone(Rows([{**row, "oracle": 5 - row["temperature"]} for row in points])) == pytest.approx(-1.0)


def test_likelihood_learns_and_rewards_are_shares():
    text = recurrent_oracle(0, 6, 5, 400, 400, 8)
    config = replace(TINY, epochs=30, units=8, sequences=400)
    untrained = by_likelihood(replace(config, epochs=1, mle_lr=1e-9), text)
    assert nll(by_likelihood(config, text), text.test) < nll(untrained, text.test) - 0.1
    reward = Rewards(torch.tensor([[0, 1, 2]]))
    assert reward(torch.tensor([[0, 1, 2], [2, 1, 0], [3, 3, 3]])).tolist() == [1.0, 0.0, 0.0]
