from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from claimlab import Rows, judge
from mechlearn.agreement import AndMask, Mean
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.spirals.gradient_correlation import EXPERIMENT, measures
from mechlearn_zoo.experiments.spirals.gradient_correlation import run as correlations
from mechlearn_zoo.tasks.boards.spirals import Mechanism, Shortcuts, spirals

TINY = replace(
    EXPERIMENT.presets["quick"].config, seed=0, environments=4, batch=64, shortcut_dims=4, hidden=16, layers=2, steps=4
)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in correlations.run(replace(TINY, seed=seed)))


def test_correlation_is_pearsons_over_what_is_left():
    a, b = torch.tensor([1.0, 0.0, 2.0, -1.0, 0.5]), torch.tensor([0.3, 9.0, 0.1, -2.0, 0.4])
    kept = [0, 2, 3, 4]
    assert correlations.correlation(a, b) == pytest.approx(np.corrcoef(a[kept], b[kept])[0, 1])
    assert correlations.correlation(torch.zeros(5), b) is None
    assert correlations.correlation(torch.ones(5), b) is None


@pytest.mark.parametrize("part", ["mechanism", "shortcuts"])
def test_shuffling_permutes_one_part_and_leaves_the_other(part):
    data = spirals(0, 3, 50, Shortcuts(4)).train
    after = correlations.shuffled(data, part, torch.Generator().manual_seed(0))
    moved, kept = (slice(0, 2), slice(2, 6)) if part == "mechanism" else (slice(2, 6), slice(0, 2))
    assert torch.equal(after.x[:, kept], data.x[:, kept])
    assert not torch.equal(after.x[:, moved], data.x[:, moved])
    assert sorted(after.x[:, moved].tolist()) == sorted(data.x[:, moved].tolist())
    assert torch.equal(after.y, data.y)


def test_threshold_0_is_the_ordinary_gradient():
    data, model = spirals(0, 3, 50, Shortcuts(4)).train, mlp(6, 1, torch.Generator().manual_seed(0), 8, 1)
    found = correlations.statistics(model, data, AndMask.needs)
    cross_entropy(model(data.x)[:, 0], data.y).backward()
    expected = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    for rule in (Mean(), AndMask(0.0)):
        torch.testing.assert_close(correlations.flat(rule, found), expected, atol=1e-6, rtol=1e-4)


def test_the_masks_divide_the_components(rows):
    """At every threshold above 0 the XOR-mask keeps what the AND-mask drops (dead components have no sign in either)."""
    shares = {(row["seed"], row["method"], row["threshold"]): row["survivors"] for row in rows}
    for seed, threshold in ((0, 0.5), (1, 1.0)):
        both = shares[seed, "and-mask", threshold] + shares[seed, "xor-mask", threshold]
        assert both == pytest.approx(shares[seed, "and-mask", 0.0], abs=0.01)


def test_claims_and_figure(rows):
    elsewhere = {claim.id.split(".")[1] for claim in EXPERIMENT.claims if judge(claim, rows, "quick").measured is None}
    assert elsewhere == {"global", "local"}
    assert list(EXPERIMENT.figures(rows)) == ["correlations"]


def test_the_caption_names_the_reading(rows):
    caption = EXPERIMENT.figures(rows)["correlations"].get_label()
    assert "initial weights PyTorch's default" in caption
    assert "spirals not scaled, as printed" in caption
    assert "standard deviation of 0.1" in caption
    assert "init kaiming" in caption
    assert "unit_variance true" in caption


def test_rows_repeat(rows):
    assert [{"seed": 1, **row} for row in correlations.run(replace(TINY, seed=1))] == [row for row in rows if row["seed"] == 1]
    assert correlations.progress(TINY, rows[-1])[0] == 1


def test_masks_that_leave_few_components_say_nothing():
    def row(method, threshold, left, mechanism, shortcut):
        return {
            "seed": 0, "method": method, "threshold": threshold, "left": left, "mechanism": mechanism, "shortcut": shortcut,
            "first_left": left // 2, "first_mechanism": mechanism, "first_shortcut": shortcut,
        }  # fmt: skip

    few = round(measures.ENOUGH * 9001)
    rows = Rows(
        [
            row("and-mask", 0.0, 9000, 0.4, 0.9),
            row("and-mask", 0.5, few + 1, 0.8, 0.6),
            row("and-mask", 1.0, few - 1, 0.1, 1.0),
            row("xor-mask", 0.0, 0, None, None),
            row("xor-mask", 0.5, 8000, 0.1, 0.8),
        ]
    )
    assert measures.strictest(rows, "and-mask")["threshold"] == 0.5
    assert measures.lead_of_strictest(rows) == pytest.approx(0.2)
    assert measures.change("and-mask", "shortcut")(rows).value == pytest.approx(-0.3)
    assert measures.change("xor-mask", "mechanism")(rows).value == pytest.approx(-0.3)
    assert measures.sharper(rows) == pytest.approx(-0.2)
    assert measures.strictest(rows, "and-mask", "first_")["threshold"] == 0.5
    assert measures.change("xor-mask", "mechanism")(rows[:3]) is None


def test_a_handful_of_components_does_not_decide():
    """Five components may say what a hundredth of them denies; then the claim fails."""
    rows = Rows(
        {"seed": seed, "method": "and-mask", "threshold": at, "left": left, "mechanism": 0.5, "shortcut": shortcut}
        for seed in range(6)
        for at, left, shortcut in ((0.0, 9000, 0.8), (0.5, 100, 0.9), (0.875, 60, 0.7), (1.0, 5, 0.1))
    )
    found = judge({claim.id: claim for claim in EXPERIMENT.claims}["gradient-correlation.and-keeps"], rows, "paper")
    assert (found.measured, found.verdict) == (pytest.approx(-0.4), "does not hold")


def test_the_first_layer_is_measured_by_itself():
    tiny = replace(TINY, steps=1)
    row = next(correlations.run(tiny))
    data = spirals(0, 4, 64, Shortcuts(4), Mechanism(unit_variance=False)).train
    generator = torch.Generator().manual_seed(0)
    model = mlp(6, 1, generator, 16, 2, init="default")
    alone = correlations.statistics(model, correlations.shuffled(data, "mechanism", generator), Mean.needs)
    found = correlations.statistics(model, data, Mean.needs)
    a, b = (Mean()(next(iter(some.values()))).gradient.flatten() for some in (found, alone))
    assert row["first_shortcut"] == pytest.approx(correlations.correlation(a, b))
    assert row["first_left"] == int((a != 0).sum()) <= 6 * 16


def test_rows_count_what_is_left(rows):
    total = sum(parameter.numel() for parameter in mlp(6, 1, torch.Generator(), 16, 2).parameters())
    assert all(row["survivors"] == row["left"] / total for row in rows)


def test_the_published_codes_scaling_and_initial_weights_are_a_flag_away():
    """What the first version of the experiment had: spirals of unit variance, He-normal weights."""
    row = next(correlations.run(replace(TINY, steps=1, unit_variance=True, init="kaiming")))
    data = spirals(0, 4, 64, Shortcuts(4)).train
    generator = torch.Generator().manual_seed(0)
    model = mlp(6, 1, generator, 16, 2)
    alone = correlations.flat(
        Mean(), correlations.statistics(model, correlations.shuffled(data, "mechanism", generator), Mean.needs)
    )
    together = correlations.flat(Mean(), correlations.statistics(model, data, Mean.needs))
    assert row["shortcut"] == pytest.approx(correlations.correlation(together, alone))
    assert row["shortcut"] != next(correlations.run(replace(TINY, steps=1)))["shortcut"]


def test_cosines_of_whole_gradients():
    tiny = replace(TINY, cosines=True, steps=1)
    rows = Rows({"seed": 0, **row} for row in correlations.run(tiny))
    assert rows.values("method") == [*("and-mask", "xor-mask") * 2, "pcgrad"]
    assert [row for row in rows if row["method"] != "pcgrad"] == [
        {"seed": 0, **row} for row in correlations.run(replace(tiny, cosines=False))
    ]
    found = rows[-1]
    data = spirals(0, 4, 64, Shortcuts(4), Mechanism(unit_variance=False)).train
    generator = torch.Generator().manual_seed(0)
    model = mlp(6, 1, generator, 16, 2, init="default")
    each = []
    for e in range(4):
        own = data.environments == e
        model.zero_grad()
        cross_entropy(model(data.x[own])[:, 0], data.y[own]).backward()
        each.append(torch.cat([parameter.grad.flatten() for parameter in model.parameters()]))
    cosines = [float(torch.cosine_similarity(each[i], each[j], dim=0)) for i in range(4) for j in range(i)]
    assert found["least_cosine"] == pytest.approx(min(cosines), abs=1e-5)
    assert found["conflicting"] == sum(cosine < 0 for cosine in cosines) / 6
    if not found["conflicting"]:  # then PCGrad is the mean
        assert found["shortcut"] == pytest.approx(rows[0]["shortcut"], abs=1e-4)
    assert correlations.progress(tiny, found) == (1, "PCGrad")
    assert list(EXPERIMENT.figures(rows)) == ["correlations"]


def test_claims_of_cosines_can_hold_and_fail():
    def judged(pcgrad, masked):
        shared = {"mechanism": 0.5, "left": 900}
        rows = Rows(
            {"seed": seed, "method": method, "threshold": threshold, "shortcut": shortcut, **shared}
            for seed in range(6)
            for method, threshold, shortcut in (("and-mask", 0.0, 0.9), ("and-mask", 1.0, masked), ("pcgrad", None, pcgrad))
        )
        claims = {claim.id.split(".")[1]: claim for claim in EXPERIMENT.claims}
        return [judge(claims[name], rows, "cosines").verdict for name in ("global", "local")]

    assert judged(0.88, 0.5) == ["holds", "holds"]
    assert judged(0.7, 0.9) == ["does not hold", "does not hold"]
