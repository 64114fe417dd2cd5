from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.impala_lag import EXPERIMENT
from mechlearn_zoo.experiments.control.impala_lag import run as lag
from mechlearn_zoo.learners.actor_critic import ActorCritic
from mechlearn_zoo.methods.control import collect

TINY = replace(EXPERIMENT.presets["quick"].config, lags=(0, 2), updates=4, envs=8, mdps=1)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in lag.run(replace(TINY, seed=seed)))


def test_fixed_points_are_exact(rows):
    verdicts = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts["impala-lag.fixed-point"] == verdicts["impala-lag.traces"] == "holds so far"
    assert {name for name, verdict in verdicts.items() if verdict == "not measurable here"} == {"impala-lag.actors-lag"}


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


@pytest.mark.extra("paper", "ale_py")
def test_the_paper_preset_learns_from_games(monkeypatch):
    paper = replace(EXPERIMENT.presets["paper"].config, lags=(1,), updates=2, envs=8, steps=3, mdps=1)
    monkeypatch.setattr(lag, "GAMES", ("pong",))
    monkeypatch.setattr(lag, "METHODS", ("vtrace",))
    found = [row for row in lag.run(paper) if row["kind"] == "curve"]
    assert [row["frames"] for row in found] == [24, 48]


def test_settings_that_ask_for_nothing_are_refused():
    with pytest.raises(ValueError, match="should have lags, actors or mdps"):
        replace(TINY, lags=(), mdps=0)
    with pytest.raises(ValueError, match="actors should play Catch"):
        replace(TINY, world="atari", actors=(1,))


def test_actors_are_shown_and_judged():
    made = [
        {
            "seed": seed,
            "kind": "actors",
            "actors": count,
            "method": method,
            "frames": 72 * part,
            "score": 0.1 * part,
            "lag": count - 0.5,
        }
        for seed in range(6)
        for count in (1, 2)
        for method in ("none", "vtrace")
        for part in (1, 2)
    ]
    verdicts = {claim.id: judge(claim, Rows(made), "actors") for claim in EXPERIMENT.claims}
    assert verdicts["impala-lag.actors-lag"].measured == pytest.approx(1)
    assert list(EXPERIMENT.figures(Rows(made))) == ["actors"]
    config = replace(TINY, lags=(), actors=(1, 2), updates=2)
    assert EXPERIMENT.progress(config, made[-1]) == (1.0, "2 actors, vtrace")


def test_the_order_s_interval_is_of_seeds_drawn_anew():
    """Medians are in order; on two seeds of six one-step importance sampling is far below no correction."""
    (claim,) = (one for one in EXPERIMENT.claims if one.id == "impala-lag.order")
    ends = {"vtrace": [0.9] * 6, "one-step": [0.5, 0.5, 0.5, 0.5, -0.5, -0.5], "none": [0.4] * 6, "epsilon": [0.4] * 6}
    made = [
        {"seed": seed, "kind": "curve", "lag": 16, "method": method, "world": "catch", "frames": 1, "score": score}
        for method, scores in ends.items()
        for seed, score in enumerate(scores)
    ]
    judged = judge(claim, Rows(made), "quick")
    assert judged.measured == pytest.approx(0.1)
    assert judged.low < 0 < judged.high == pytest.approx(0.1)
    assert judged.verdict == "does not hold"
    few = judge(claim, Rows(made).where(lambda row: row["seed"] in (3, 4)), "quick")
    assert (few.low, few.high, few.n) == (pytest.approx(-0.9), pytest.approx(0.1), 2)


@pytest.mark.extra("cluster", "ray")
def test_a_learner_and_its_actors():
    config = replace(TINY, lags=(), actors=(1, 2), mdps=0, updates=6)
    rows = Rows({"seed": 0, **row} for row in lag.run(config))
    assert {(row["actors"], row["method"]) for row in rows} == {(1, "none"), (1, "vtrace"), (2, "none"), (2, "vtrace")}
    alone = rows.where(actors=1)["lag"]
    assert set(alone) == {0.0, 1.0}  # asked before the learner's step: an update behind from the second on
    assert 1 <= max(rows.where(actors=2)["lag"]) <= 6
