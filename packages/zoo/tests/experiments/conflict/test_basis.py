"""Masks in two bases, and what each leaves in environments held out."""

from dataclasses import replace

import pytest
import torch

import conflict_oracles as oracle
from mechlearn_zoo.experiments.conflict.basis.masks import (
    Components,
    Directions,
    disagreement,
    left,
    moments,
    of_components,
    of_directions,
    of_eigenbasis,
    of_units,
)
from mechlearn_zoo.experiments.conflict.basis.run import PRESETS, Choosing, run
from mechlearn_zoo.experiments.conflict.rotated.subspaces import differing

E, N, INPUTS, OUTPUTS = 6, 9, 4, 3


def drawn(seed=0):
    """Inputs and output gradients of a layer of which the first input goes with the environment."""
    generator = torch.Generator().manual_seed(seed)
    a, d = (torch.randn(E, N, k, dtype=torch.float64, generator=generator) for k in (INPUTS, OUTPUTS))
    a[..., 0] += torch.tensor([3.0, -3.0, 3.0, -3.0, 2.0, -1.0])[:, None]
    return a, d + 1.0


def examples_of(a, d):
    return [[torch.outer(d[e, i], a[e, i]) for i in range(N)] for e in range(E)]


def test_moments_and_the_mask_of_components_are_literal():
    a, d = drawn()
    found = moments(a, d)
    keeps = of_components(found).mask
    for o in range(OUTPUTS):
        for i in range(INPUTS):
            q = [0.0, 0.0]
            for e, own in enumerate(examples_of(a, d)):
                values = [float(x[o, i]) for x in own]
                mean = sum(values) / N
                variance = sum((value - mean) ** 2 for value in values) / N / (N - 1)
                assert float(found.gradients[e, o, i]) == pytest.approx(mean)
                assert float(found.variances[e, o, i]) == pytest.approx(variance)
                q[mean < 0] += mean**2 / variance
            assert bool(keeps[o, i]) == (min(q) == 0 or oracle.tail(min(q), E) >= 0.2)
    assert not keeps[:, 0].any()


def test_the_mask_of_directions_is_that_of_the_rotated_boards():
    a, d = drawn(1)
    wanted = differing(a, d)
    found = of_directions(moments(a, d)).out
    assert found.shape == wanted.shape
    torch.testing.assert_close(found @ found.T, wanted @ wanted.T)


def test_the_mask_of_units_is_that_of_the_rule():
    a, d = drawn(4)
    found = moments(a, d)
    mean = found.gradients.mean(0)
    between = (found.gradients - mean).square().sum(0) / (E - 1)
    for o in range(OUTPUTS):
        b, w = float(between[o].sum()), float(found.variances.mean(0)[o].sum())
        s = max(float(mean[o].square().sum()) - b / E, 0.0)
        out = b > (1 + 1.64 * (2 / (E - 1)) ** 0.5) * w and b - w > s
        assert of_units(found).mask[o].tolist() == [not out] * INPUTS


def test_the_eigenbasis_is_the_second_moments_and_its_mask_that_of_components_there():
    a, d = drawn(5)
    found = of_eigenbasis(a, d)
    for axes, rows in ((found.inputs, a), (found.outputs, d)):
        flat = rows.flatten(0, 1)
        assert torch.allclose(axes.T @ axes, torch.eye(len(axes), dtype=axes.dtype))
        turned = axes.T @ (flat.T @ flat) @ axes
        assert torch.allclose(turned, torch.diag(turned.diagonal()), atol=1e-9)
    assert torch.equal(found.mask, of_components(moments(a @ found.inputs, d @ found.outputs)).mask)
    weights = torch.randn(OUTPUTS, INPUTS, dtype=a.dtype, generator=torch.Generator().manual_seed(0))
    kept = found.keeps(weights)
    torch.testing.assert_close(found.keeps(kept), kept)  # a projection
    turned = found.outputs.T @ kept @ found.inputs
    torch.testing.assert_close(turned[~found.mask], torch.zeros(int((~found.mask).sum()), dtype=a.dtype))
    assert not found.mask.all()


def test_what_is_left_is_literal_and_nothing_of_what_all_agree_on():
    a, d = drawn(2)
    found = moments(a, d)
    one = torch.eye(INPUTS, dtype=torch.float64)[:, :1]  # the first input's direction: the same mask in both bases
    components = torch.ones(OUTPUTS, INPUTS, dtype=torch.bool)
    components[:, 0] = False
    masks = (Components(components), Directions(one))
    own = [[x * components for x in some] for some in examples_of(a, d)]
    means = [sum(some) / N for some in own]
    mean = sum(means) / E
    between = float(sum((g - mean).square().sum() for g in means)) / (E - 1)
    noise = float(sum((x - g).square().sum() for g, some in zip(means, own, strict=True) for x in some)) / N / (N - 1) / E
    differs, common = max(between - noise, 0.0), max(float(mean.square().sum()) - between / E, 0.0)
    for mask in masks:
        assert left(mask, found) == pytest.approx(differs / (differs + common) if differs else 0.0)
    everything = Components(torch.ones(OUTPUTS, INPUTS, dtype=torch.bool))
    assert left(everything, found) > left(masks[0], found)
    assert left(Components(torch.zeros(OUTPUTS, INPUTS, dtype=torch.bool)), found) == 0


def test_held_out_environments_prefer_the_basis_of_the_shortcuts():
    """Eight shortcuts of an environment's own, each in one input or all rotated; eight environments."""
    marks = {}
    for rotated in (False, True):
        total = [0.0, 0.0]
        for seed in range(5):
            generator = torch.Generator().manual_seed(seed)
            label = torch.randn(16, 200, 1, generator=generator).sign()
            count = 2 if rotated else 8
            signs = torch.randn(16, 1, count, generator=generator).sign()
            a = torch.cat([label + torch.randn(16, 200, 1, generator=generator), label * signs], 2)
            a = a + 0.1 * torch.randn(a.shape, generator=generator)
            if rotated:
                a = a @ torch.linalg.qr(torch.randn(3, 3, generator=generator)).Q
            seen = disagreement(moments(a, label * (1 + 0.1 * torch.randn(16, 200, 1, generator=generator))), generator)
            total = [old + new for old, new in zip(total, seen, strict=True)]
        marks[rotated] = total
    assert marks[False][0] < marks[False][1]
    assert marks[True][1] < marks[True][0]


def test_a_layer_remembers_and_keeps_to_components_on_a_tie():
    layer = Choosing("chosen", 0.5)
    assert not layer.directions()
    layer.look((1.0, 0.5))
    assert layer.marks == (0.5, 0.25)
    assert layer.directions()
    layer.look((0.0, 1.0))
    assert layer.marks == (0.25, 0.625)
    assert not layer.directions()
    assert Choosing("directions", 0.5).directions()
    assert not Choosing("components", 0.5).directions()


def test_three_environments_cannot_be_halved():
    with pytest.raises(ValueError, match="environments should be at least 4"):
        replace(PRESETS["quick"].config, environments=3)


def test_rivals_are_compared_on_every_board():
    tiny = replace(PRESETS["rivals"].config, environments=4, examples=8, batch=8, hidden=4, steps=2, every=1)
    assert [row["method"] for row in run(tiny)] == ["units", "eigenbasis"] * 3
