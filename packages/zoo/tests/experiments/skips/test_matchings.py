"""ASI's choices made otherwise, at a size that trains next to nothing."""

from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn.skips import Aligned, Greedy, SoftAligned, SoftGreedy, TimeAgnostic
from mechlearn_zoo.experiments.skips.matchings import EXPERIMENT
from mechlearn_zoo.experiments.skips.matchings import run as matchings
from mechlearn_zoo.experiments.skips.matchings.networks import Latents, Remembering, Shifting, learnt_reader
from mechlearn_zoo.tasks.frames.funnel_board import PRESETS
from mechlearn_zoo.tasks.frames.funnel_board.places import Places, Reader


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    tiny = {
        "steps": 1, "evaluations": 40, "episodes": 4, "test_episodes": 3, "horizon": 4, "hidden": 8, "memory": 4, "latents": 5,
    }  # fmt: skip
    cache = str(tmp_path_factory.mktemp("boards"))
    return replace(EXPERIMENT.presets["quick"].config, **tiny, reader_steps=2, cache=cache)


@pytest.fixture(scope="module")
def rows(config):
    return Rows([{**row, "seed": 100} for row in matchings.run(config)])


def test_every_method_is_trained_on_the_same_budget(rows, config):
    assert [row["method"] for row in rows] == list(matchings.METHODS)
    assert all(40 <= row["spent"] < 40 + 4 * 100 for row in rows)
    assert {row["method"] for row in rows if row["learnt"] is None} == {"untraced", "untraced-memory"}
    assert EXPERIMENT.progress(config, rows[-1])[0] == 1


def test_claims_are_measured_and_the_figure_is_drawn(rows):
    missing = {claim.id for claim in EXPERIMENT.claims if judge(claim, rows, "quick").measured is None}
    assert missing <= {"skips-matchings.soft-greedy"}  # where neither has learnt anything
    assert list(EXPERIMENT.figures(rows)) == ["matchings"]


def test_some_methods_alone_give_the_same_rows(rows, config):
    some = replace(config, methods=("latent", "untraced-memory"))
    again = [{**row, "seed": 100} for row in matchings.run(some)]
    assert again == [row for row in rows if row["method"] in some.methods]


def test_looks_change_nothing_of_a_training(rows, config, monkeypatch):
    assert all(0 < row["stopped_at"] <= 1 and 0 <= row["stopped_accuracy"] <= 1 for row in rows)
    some = replace(config, methods=("asi", "latent", "untraced-memory"), steps=2)
    looked = list(matchings.run(some))
    monkeypatch.setattr(matchings.EarlyStopping, "due", lambda *_: False)
    ends = [{name: value for name, value in row.items() if not name.startswith("stopped_")} for row in looked]
    assert list(matchings.run(some)) == ends != looked


def test_each_method_matches_as_it_says(config):
    kinds = {
        "asi": Greedy(4, 0.5),
        "gaussian": Greedy(4, 0.5),
        "aligned-frames": Aligned(4, "frames"),
        "aligned-predictions": Aligned(4, "predictions"),
        "soft-greedy": SoftGreedy(4, config.temperature, 0.5),
        "soft-aligned": SoftAligned(4, config.temperature, "frames"),
        "time-agnostic": TimeAgnostic(onward=True),
    }
    for method, matching in kinds.items():
        assert matchings.matching_of(config, method, 0.2) == matching


def test_latents_are_principal_components_and_decode_what_lies_in_their_span():
    draw = torch.Generator().manual_seed(0)
    flat = torch.randn(50, 3, generator=draw) @ torch.randn(3, 8, generator=draw) + 1
    space = Latents.of(flat, 3)
    torch.testing.assert_close(space.decode(space.encode(flat)), flat, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(space.axes.T @ space.axes, torch.eye(3), atol=1e-5, rtol=0)


def test_networks_give_what_their_losses_want():
    draw = torch.Generator().manual_seed(0)
    frames, beside = torch.rand(5, 6, generator=draw), torch.rand(5, 2, generator=draw)
    assert Shifting(6, 2, draw, 4)(frames, beside).shape == (5, 6)
    both = Shifting(6, 2, draw, 4, variances=True)(frames, beside)
    assert both.shape == (5, 2, 6)
    assert float(both[:, 1].detach().abs().max()) <= 6
    logits, state = Remembering(6, 2, draw, 4, 6.0, 3)(frames, beside, torch.zeros(5, 3))
    assert (logits.shape, state.shape) == ((5, 6), (5, 3))


def test_a_reader_learns_what_the_rules_say():
    board = PRESETS["small"]
    places = Places.of(board)
    floor = float(places.rows[0]) + 1.0
    rules = Reader(places, floor, board.geometry.platforms)
    draw = torch.Generator().manual_seed(0)
    half = board.geometry.half_width
    at = (torch.rand(400, 2, generator=draw) - 0.5) * torch.tensor([1.8 * half, 2 * float(places.rows[-1])])
    at[::2, 1] = float(places.rows[0]) + 0.3  # every other one lies on the floor
    frames = torch.cat([places.frames(one[None].numpy()) for one in at])
    outcomes = rules.platform(frames)
    learnt = learnt_reader(frames, outcomes, rules, 300, draw)
    assert float((learnt.landed(frames) == rules.landed(frames)).double().mean()) > 0.95
    on_floor = rules.landed(frames)
    assert float((learnt.platform(frames) == outcomes)[on_floor].double().mean()) > 0.9


def made_up(values, stopped=None):
    return Rows(
        {"seed": seed, "method": method, "accuracy": value, "learnt": value, "frequent": 0.3, "psi": 1.0}
        | {"stopped_accuracy": (stopped or values)[method]}
        for seed in range(6)
        for method, value in values.items()
    )


def _claim(name):
    return next(claim for claim in EXPERIMENT.claims if claim.id == f"skips-matchings.{name}")


def test_claims_can_hold_and_fail():
    base = dict.fromkeys(matchings.METHODS, 0.6)
    alike = {claim.id.partition(".")[2]: judge(claim, made_up(base), "quick").verdict for claim in EXPERIMENT.claims}
    fails = ("aligned-frames", "aligned-predictions", "soft-greedy", "horizon", "memory")
    assert {alike.pop(name) for name in fails} == {"does not hold"}
    assert set(alike.values()) == {"holds"}
    nothing = {
        claim.id.partition(".")[2]: judge(claim, made_up(dict.fromkeys(base, 0.0)), "quick") for claim in EXPERIMENT.claims
    }
    assert {nothing[name].verdict for name in ("learnt", "gaussian", "latent")} == {"does not hold"}
    assert nothing["soft-greedy"].verdict == "not measurable here"
    one = judge(_claim("soft-greedy"), made_up({**dict.fromkeys(base, 0.0), "soft-greedy": 0.4}), "quick")
    assert (one.measured, one.verdict) == (pytest.approx(0.4), "holds")
    better = [judge(claim, made_up({**base, "aligned-predictions": 0.8}), "quick") for claim in EXPERIMENT.claims]
    early = [judge(claim, made_up({**base, "aligned-predictions": 0.8}, base), "quick") for claim in EXPERIMENT.claims]
    gone = next(one for one in early if one.id == "skips-matchings.aligned-predictions")  # alike where validation stops both
    assert (gone.measured, gone.verdict, gone.parts[0].low > 0) == (0, "does not hold", True)
    asked = [claim.id for claim in better if claim.measured == pytest.approx(0.2)]
    assert asked == ["skips-matchings.aligned-predictions"]  # one number, one claim
