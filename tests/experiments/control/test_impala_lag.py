from dataclasses import replace

import pytest
import torch

from craik.experiments.control.actors import ActorCritic
from craik.experiments.control.impala_lag import EXPERIMENT
from craik.experiments.control.impala_lag import run as lag
from craik.lab import Rows, judge
from craik.methods.control import collect

TINY = replace(EXPERIMENT.presets["quick"].config, lags=(0, 2), updates=4, envs=8, mdps=1)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in lag.run(replace(TINY, seed=seed)))


def test_fixed_points_are_exact(rows):
    verdicts = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts["impala-lag.fixed-point"] == verdicts["impala-lag.traces"] == "holds so far"
    assert "not measurable here" not in verdicts.values()


def test_at_no_lag_all_methods_are_one(rows):
    """But for the 1e-6 of the epsilon-correction and rounding, which a few updates do not magnify."""
    first = rows.where(kind="curve", lag=0, frames=8 * 9)
    for group in first.by("seed").values():
        assert len(set(group["score"])) == 1
    generator = torch.Generator().manual_seed(0)
    envs = lag.catch(TINY)
    model = ActorCritic(envs.observation_shape, 3, 1, 8, generator)
    rollout = collect(envs, model.act, 9, generator)
    found = [float(lag.loss(model, rollout, method).detach()) for method in lag.METHODS]
    assert found == pytest.approx([found[0]] * 4, abs=1e-5)


def test_the_actor_is_as_far_behind_as_it_is_said(monkeypatch):
    seen = []
    collect_ = lag.collect

    def spy(world, act, steps, generator, start):
        seen.append(float(act.__self__.policy.bias.detach().sum()))
        return collect_(world, act, steps, generator, start)

    monkeypatch.setattr(lag, "collect", spy)
    list(lag.train(TINY, 2, "vtrace", lag.catch(TINY), "catch"))
    assert seen[0] == seen[1] == seen[2] != seen[3]


def test_rows_repeat_and_draw(rows):
    short = replace(TINY, lags=(2,), updates=2, mdps=1)
    assert list(lag.run(short)) == list(lag.run(short)) != list(lag.run(replace(short, seed=1)))
    assert list(EXPERIMENT.figures(rows)) == ["lag", "curves"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1
    assert EXPERIMENT.progress(TINY, rows[0])[0] == 0


@pytest.mark.extra("rl", "ale_py")
def test_the_paper_preset_learns_from_games(monkeypatch):
    paper = replace(EXPERIMENT.presets["paper"].config, lags=(1,), updates=2, envs=8, steps=3, mdps=1)
    monkeypatch.setattr(lag, "GAMES", ("pong",))
    monkeypatch.setattr(lag, "METHODS", ("vtrace",))
    found = [row for row in lag.run(paper) if row["kind"] == "curve"]
    assert [row["frames"] for row in found] == [24, 48]
