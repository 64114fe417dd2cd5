"""Members side by side follow trajectories as `mechlearn.skips` does, and learn what they would learn alone."""

from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge, where_stopped
from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, Fixed, Greedy, displacement, match
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.states import EXPERIMENT
from mechlearn_zoo.experiments.skips.states import run as states
from mechlearn_zoo.experiments.skips.states.measures import less, most, share_of_still
from mechlearn_zoo.experiments.skips.states.members import (
    Alone,
    Budget,
    Member,
    Models,
    Share,
    follow,
    last_errors,
    mean_skips,
    squares,
    train,
)
from mechlearn_zoo.experiments.skips.states.worlds import data

TINY = replace(
    EXPERIMENT.presets["quick"].config,
    worlds=("stops", "oscillator"), fixed=(1, 16), horizons=(4, 8), rates=(3e-3,), steps=3, pairs=16, rows=6, train=20,
    validation=6, test=5, hidden=8,
)  # fmt: skip
MEMBERS = (Member("asi", 5, 1e-3), Member("relative", 8, 1e-3, 1), Member("fixed", 4, 1e-3), Member("direct", 32, 1e-3))


@pytest.fixture(scope="module")
def found():
    return data("stops", 0, (12, 4, 4))


@pytest.mark.parametrize("forcing", [0.0, 1.0])
def test_skips_are_those_of_mechlearn(found, forcing):
    frames, models = found.train, Models(MEMBERS, 4, 8, seed=3)
    scale = squares(frames, 32)
    pairs = follow(models, frames.expand(4, *frames.shape), scale, Share(forcing, 0.0), torch.Generator().manual_seed(0))
    stored = Trajectories(frames, torch.full((len(frames),), frames.shape[1]))
    rules = (Greedy(5), Greedy(8, scale=displacement(stored, 8)), Fixed(4), Fixed(32))
    for at, rule in enumerate(rules):
        dynamics = Dynamics(Alone(models.net.member(at)), SquaredError(), feedback=torch.detach)
        with torch.no_grad():
            matched = match(dynamics, stored, rule, teacher_forcing=forcing, generator=torch.Generator().manual_seed(0))
        there = pairs.there[at].view(-1, len(frames))
        skips = pairs.skips[at].view(-1, len(frames))
        for row in range(len(frames)):
            wanted = [int(skip) for skip in matched.skips[row] if skip > 0]
            assert skips[there[:, row], row].tolist() == wanted
    torch.testing.assert_close(scale[:8].double(), displacement(stored, 8), rtol=1e-5, atol=0)


def test_pairs_are_states_and_their_frames(found):
    frames = found.train
    models = Models((Member("fixed", 4, 1e-3),), 4, 8, seed=3)
    pairs = follow(models, frames[None], squares(frames, 32), Share(1.0, 0.0), torch.Generator())
    inputs, targets = (part.view(8, len(frames), 4) for part in (pairs.inputs[0], pairs.targets[0]))
    torch.testing.assert_close(inputs.transpose(0, 1), frames[:, 0:32:4])
    torch.testing.assert_close(targets.transpose(0, 1), frames[:, 4:33:4])


def test_exploration_takes_every_frame_of_the_window(found):
    frames = found.train.expand(1, *found.train.shape)
    models = Models((Member("asi-exploration", 6, 1e-3),), 4, 8, seed=0)
    pairs = follow(models, frames, squares(found.train, 32), Share(1.0, 1.0), torch.Generator().manual_seed(0))
    counts = torch.bincount(pairs.skips[pairs.there], minlength=7)
    assert counts[0] == 0
    assert len(counts) == 7
    assert bool((counts[1:] > 0).all())


def test_members_learn_what_they_would_learn_alone(found, monkeypatch):
    budget = Budget(steps=8, pairs=16, rows=6, every=3, hidden=8)
    scale = squares(found.train, 32)

    def drawn(count):  # the same draws for one member as for several
        real = torch.randint, torch.multinomial

        def randint(most, size, generator):
            return real[0](most, (4, *size[1:]), generator=generator)[:count]

        def multinomial(weights, number, replacement, generator):
            full = torch.ones(4, weights.shape[1])
            full[:count] = weights
            return real[1](full, number, replacement, generator=generator)[:count]

        monkeypatch.setattr(torch, "randint", randint)
        monkeypatch.setattr(torch, "multinomial", multinomial)
        monkeypatch.setattr(torch, "rand", lambda shape, generator: torch.full(tuple(shape), 0.5))
        made = train(MEMBERS[:count], found.train, scale, budget, seed=1)
        monkeypatch.undo()
        return made

    many, one = drawn(4), drawn(1)
    for name, values in one.net.stacked().items():
        torch.testing.assert_close(many.net.stacked()[name][:1], values, rtol=1e-4, atol=1e-6)


def test_last_errors_are_of_roll_outs(found):
    models = Models(MEMBERS[:2], 4, 8, seed=3)
    errors = last_errors(models, found.validation, (1, 3))
    for at, evaluations in enumerate((1, 3)):
        model, state = Alone(models.net.member(at)), found.validation[:, 0]
        with torch.no_grad():
            for _ in range(evaluations):
                state = model(state)
        assert errors[at] == pytest.approx(float((state - found.validation[:, -1]).square().mean()), rel=1e-5)
    assert mean_skips(Models((Member("fixed", 8, 1e-3),), 4, 8, 0), found.train, squares(found.train, 32)) == [8.0]


def test_families_have_equally_many_trials():
    for preset in EXPERIMENT.presets.values():
        assert {len(states.trials(preset.config, family)) for family in states.FAMILIES} == {15}


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (100, 101) for row in states.run(replace(TINY, seed=seed)))


def test_looks_choose_a_trial_and_a_time(rows):
    for row in rows.where(kind="score"):
        assert row.keys() >= {f"stopped_{name}" for name in ("at", "reach", "rate", "skip", "final", "off_path", "evaluations")}
        assert row["stopped_validation"] <= row["validation"]
        if row["stopped_at"] == 1:
            assert row["stopped_final"] == row["final"]


def test_looks_change_nothing_of_the_training(rows, monkeypatch):
    state = torch.get_rng_state()
    monkeypatch.setattr(EarlyStopping, "due", lambda stopping, share: False)
    alone = list(states.run(replace(TINY, seed=100, worlds=("stops",))))
    looked = rows.where(seed=100, world="stops")
    assert [{name: row[name] for name in other} for row, other in zip(looked, alone, strict=True)] == alone
    assert torch.equal(torch.get_rng_state(), state)


def test_rows_claims_and_figure(rows):
    assert [row.get("family") for row in rows.where(seed=100, world="stops")] == [None, *states.FAMILIES]
    assert all(row["label"] is None for row in rows.where(kind="score", world="oscillator"))
    assert all(0 <= row["label"] <= 1 for row in rows.where(kind="score", world="stops"))
    missing = {claim.id for claim in EXPERIMENT.claims if judge(claim, rows, "quick").measured is None}
    assert missing == {"skips-states.direct"}
    assert list(EXPERIMENT.figures(rows)) == ["states"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1


def test_differences_are_of_the_best_family_on_average():
    scores = {"asi": (1.0, 3.0), "relative": (2.0, 1.0), "fixed": (5.0, 5.0)}
    rows = Rows(
        [{"kind": "score", "seed": seed, "world": "stops", "family": name, "final": values[seed]}
         for name, values in scores.items() for seed in (0, 1)]
        + [{"kind": "still", "seed": seed, "world": "stops", "final": 10.0} for seed in (0, 1)]
    )  # fmt: skip
    assert less(rows, "stops", ("asi", "relative"), "fixed") == [3.0, 4.0]
    gain = most(("stops", "hopper"), ("asi",), "fixed")
    assert gain(rows).value == 3.0
    assert share_of_still(("stops",))(rows).value == 0.5
    stopped = Rows({**row, "stopped_final": row["final"] - (row.get("family") == "fixed")} for row in rows)
    assert where_stopped(gain)(stopped).value == 2.0
