from dataclasses import replace

import numpy as np
import pytest
import torch

from craik.experiments.skips import outcomes as _outcomes
from craik.experiments.skips import training as _skips
from craik.experiments.skips.accuracy import run as skips_accuracy
from craik.experiments.skips.networks import frame_network
from craik.lab import judge
from craik.skips import Fixed, Greedy


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return replace(
        skips_accuracy.PRESETS["quick"],
        methods=("asi", "fixed-2"),
        episodes=6,
        validation_episodes=4,
        test_episodes=5,
        evaluations=160,
        checks=2,
        kernels=8,
        max_steps=3,
        cache=str(tmp_path_factory.mktemp("cache")),
    )


@pytest.fixture(scope="module")
def rows(tiny):
    return [{"seed": seed, **row} for seed in (0, 1) for row in skips_accuracy.run(replace(tiny, seed=seed))]


def test_every_method_spends_the_same_budget(tiny, rows):
    for method in tiny.methods:
        curve = [row for row in rows if row["method"] == method and row["kind"] == "curve" and row["seed"] == 0]
        assert len(curve) == 2
        assert tiny.evaluations <= curve[-1]["evaluations"] < tiny.evaluations + 2 * 92


def test_with_epochs_every_method_looks_at_the_same_episodes(tiny):
    rows = list(skips_accuracy.run(replace(tiny, epochs=2, checks=3)))
    for method in tiny.methods:
        curve = [row for row in rows if row["method"] == method and row["kind"] == "curve"]
        assert [row["epochs"] for row in curve] == pytest.approx([4 / 6, 8 / 6, 2])
    spent = {row["method"]: row["evaluations"] for row in rows if row["kind"] == "final"}
    assert spent["asi"] != spent["fixed-2"]


def test_the_same_seed_gives_the_same_rows(tiny, rows):
    assert [{"seed": 1, **row} for row in skips_accuracy.run(replace(tiny, seed=1))] == [
        row for row in rows if row["seed"] == 1
    ]


def test_methods_differ_in_their_matching_alone(tiny):
    assert _skips.matching_of(tiny, "fixed-2", 5) == Fixed(2)
    assert _skips.matching_of(tiny, "asi", 0) == Greedy(20, 1.0)
    assert _skips.matching_of(tiny, "asi", 300) == Greedy(20, 0.5)
    assert _skips.matching_of(tiny, "asi", 600) == Greedy(20, 0.0)
    assert _skips.matching_of(tiny, "asi-no-exploration", 0) == Greedy(20, 0.0)
    world = _skips.make_world(tiny, "train", 6)
    first, second = (_skips.make_model(tiny, world).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_splits_and_seeds_have_episodes_of_their_own(tiny):
    drawn = [
        _skips.make_world(replace(tiny, seed=seed), split, 4).episodes.layouts
        for seed in (0, 1)
        for split in ("train", "validation", "test")
    ]
    for one in range(6):
        for other in range(one):
            assert not np.array_equal(drawn[one], drawn[other])


@pytest.mark.parametrize("task", ["funnel-board", "room-runner"])
@pytest.mark.parametrize("view", ["moving", "pixels"])
def test_a_model_that_knows_the_last_frame_is_always_right(tiny, task, view):
    """Accuracy read from perfect predictions: a stand-in for f that returns each episode's last frame as logits."""
    world = _skips.make_world(replace(tiny, task=task, view=view), "test", 5)
    last = (world.frames.last().clamp(1e-4, 1 - 1e-4)).logit()
    first = world.frames.first()

    def oracle(frames, context=None):
        known, given = (first, frames) if context is None else (world.context, context)  # what moves may look the same
        same = [(known == one).flatten(1).all(dim=1).nonzero()[0, 0] for one in given]
        return last[torch.stack(same)]

    assert _outcomes.label_accuracy(oracle, world, 3) == (1.0, 0.0, 1.0)


def test_a_model_that_predicts_nothing_is_never_right_and_soon_stopped(tiny):
    world = _skips.make_world(tiny, "test", 5)
    assert _outcomes.label_accuracy(lambda frames, context: torch.full_like(frames, -9.0), world, 9) == (0.0, 1.0, 2.0)


def test_published_networks_take_rgb(tiny):
    for architecture in ("simple", "strided", "dilated"):
        config = replace(tiny, view="pixels", architecture=architecture)
        world = _skips.make_world(config, "test", 5)
        frames = world.frames.first()
        logits = _skips.make_model(config, world)(frames)
        assert logits.shape == frames.shape


def test_the_cheap_network_takes_sides_of_any_length():
    network = frame_network("half", 2, 8, 6.0, 0, torch.Generator().manual_seed(0))
    frames = torch.rand(1, 2, 7, 6)
    torch.testing.assert_close(network(frames), 6.0 * (frames - 0.5))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"checks": 13, "epochs": 2, "episodes": 6}, r"checks should be between 1 and 12.*Found 13"),
        ({"size": "published"}, r"max_steps should be at least 250: an episode of the published size"),
        ({"device": "abacus"}, r"device should be one that this PyTorch can use\. Found 'abacus'"),
    ],
)
def test_settings_that_cannot_work_are_refused(tiny, change, rule):
    with pytest.raises(ValueError, match=rule):
        replace(tiny, **change)


def test_with_gain_a_network_starts_as_the_identity(tiny):
    world = _skips.make_world(tiny, "test", 5)
    frames = world.frames.first()
    logits = _skips.make_model(tiny, world)(frames, world.context)
    torch.testing.assert_close(logits, 6.0 * (frames - 0.5))


def test_global_random_numbers_are_left_alone(tiny):
    before = torch.random.get_rng_state()
    next(skips_accuracy.run(tiny))
    assert torch.equal(torch.random.get_rng_state(), before)


def made_up(method, seed, accuracy, epochs, task="funnel-board"):
    curve = [
        {
            "kind": "curve",
            "task": task,
            "method": method,
            "seed": seed,
            "epochs": e,
            "validation_accuracy": accuracy,
            "evaluations": 10 * e,
        }
        for e in (1, epochs)
    ]
    return [*curve, {**curve[-1], "kind": "final", "test_accuracy": accuracy}]


def test_claims_compare_seed_by_seed():
    better = [made_up("asi", s, 0.9 + s / 100, 4) + made_up("fixed-1", s, 0.5 + s / 100, 2) for s in range(5)]
    flat = [row for group in better for row in group]
    assert skips_accuracy.advantage(flat, "asi", "fixed-1").value == pytest.approx(0.4)
    assert skips_accuracy.advantage_per_epoch(flat, "asi", "fixed-1").value == pytest.approx(0.4)
    verdicts = {claim.id: judge(claim, flat, "quick").verdict for claim in skips_accuracy.CLAIMS}
    assert verdicts["skips-accuracy.above-1"] == "holds"
    assert verdicts["skips-accuracy.above-2"] == "not measured"
    assert verdicts["skips-accuracy.level"] == "holds"
    assert verdicts["skips-accuracy.per-epoch"] == "not measured"
    assert {c.id: judge(c, flat, "paper").verdict for c in skips_accuracy.CLAIMS}["skips-accuracy.per-epoch"] == "holds"
    after_epochs = {claim.id: judge(claim, flat, "epochs").verdict for claim in skips_accuracy.CLAIMS}
    assert after_epochs["skips-accuracy.per-epoch"] == "holds"
    assert after_epochs["skips-accuracy.above-1"] == "not measured"  # evaluations differ there


def test_a_claim_about_every_method_fails_if_one_difference_is_uncertain():
    clear, uncertain = [0.1] * 5, [0.12, 0.12, 0.12, -0.15, -0.15]
    runs = [
        made_up(method, seed, 0.5 - behind[seed], 3, "room-runner")
        for method, behind in {"asi": [0.0] * 5, "fixed-1": clear, "fixed-2": uncertain}.items()
        for seed in range(5)
    ]
    judged = {claim.id: judge(claim, [row for run in runs for row in run], "quick") for claim in skips_accuracy.CLAIMS}
    found = judged["skips-accuracy.room-runner"]
    assert (found.verdict, found.low < 0) == ("does not hold", True)


def test_rows_of_equal_epochs_do_not_count_as_equal_evaluations():
    runs = [made_up(method, seed, accuracy, 3) for seed in range(5) for method, accuracy in (("asi", 0.9), ("fixed-1", 0.1))]
    flat = [{**row, "unit": "episodes"} for run in runs for row in run]
    judged = {claim.id: judge(claim, flat, "quick").verdict for claim in skips_accuracy.CLAIMS}
    assert judged["skips-accuracy.above-1"] == "not measured"
    assert judged["skips-accuracy.level"] == "holds"


def test_each_task_has_claims_of_its_own():
    accuracies = {"asi": 0.9, "asi-no-exploration": 0.6, "fixed-1": 0.2, "fixed-2": 0.7, "fixed-3": 0.3}
    runs = [made_up(method, s, value, 3, "room-runner") for s in range(5) for method, value in accuracies.items()]
    flat = [row for group in runs for row in group]
    judged = {claim.id: judge(claim, flat, "quick") for claim in skips_accuracy.CLAIMS}
    assert judged["skips-accuracy.above-1"].verdict == "not measured"
    assert judged["skips-accuracy.room-runner"].verdict == "holds"
    assert judged["skips-accuracy.room-runner"].measured == pytest.approx(0.2)  # over the best of the others


def test_the_learning_rate_falls_once_by_steps_or_by_evaluations(tiny):
    by_steps, by_evaluations = replace(tiny, decay_steps=7), replace(tiny, decay_steps=None, decay_evaluations=70)
    assert [_skips.learning_rate_of(by_steps, i, 10 * i) / tiny.learning_rate for i in (6, 7, 99)] == [1, 0.2, 0.2]
    assert [_skips.learning_rate_of(by_evaluations, i, 10 * i) / tiny.learning_rate for i in (6, 7, 99)] == [1, 0.2, 0.2]


def test_figures_and_progress(tiny, rows):
    assert list(skips_accuracy.figures(rows)) == ["learning-curves", "outcomes"]
    assert skips_accuracy.progress(tiny, rows[-1])[0] == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"methods": ()},
        {"checks": 0},
        {"batch": 7},
        {"horizon": 0},
        {"learning_rate": 0.0},
        {"exploration_steps": -1},
        {"decay_steps": 0},
    ],
)
def test_bad_settings_are_refused(tiny, changes):
    with pytest.raises(ValueError, match="should"):
        replace(tiny, **changes)
