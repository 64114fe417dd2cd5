import math

import pytest
import torch

from mechlearn_zoo.tasks.boards.spirals import HeldOut, Mechanism, Shortcuts, spiral_points, spirals

SMALL = {"environments": 3, "examples": 40, "shortcuts": Shortcuts(4), "held_out": HeldOut(5, test_examples=50)}


def test_shapes_and_environments():
    data = spirals(0, **SMALL)
    assert data.train.x.shape == (120, 6)
    assert data.train.environments.tolist() == [e for e in range(3) for _ in range(40)]
    assert data.validation.x.shape == (50, 6)
    assert data.test.x.shape == (50, 6)
    assert set(data.train.y.tolist()) == {0.0, 1.0}


def test_the_same_seed_gives_the_same_data_and_another_does_not():
    a, b, c = spirals(3, **SMALL), spirals(3, **SMALL), spirals(4, **SMALL)
    assert all(torch.equal(p, q) for p, q in zip(a.train + a.test, b.train + b.test, strict=True))
    assert not torch.equal(a.train.x, c.train.x)


def test_the_global_generator_is_left_alone():
    before = torch.random.get_rng_state()
    spirals(0, **SMALL)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_points_lie_on_the_spiral_of_their_label():
    points, labels = spiral_points(500, revolutions=3, noise=0.0, generator=torch.Generator().manual_seed(0))
    radius = points.norm(dim=1)
    assert float(radius.min()) >= 0.08
    assert float(radius.max()) <= 1
    expected = 2 * math.pi * 3 * radius + math.pi * labels
    torch.testing.assert_close(points, torch.stack([expected.cos(), expected.sin()], 1) * radius[:, None])


def test_noise_moves_the_radius_alone_and_no_further_than_it_says():
    exact, _ = spiral_points(500, 3, 0.0, torch.Generator().manual_seed(1))
    noisy, _ = spiral_points(500, 3, 0.02, torch.Generator().manual_seed(1))
    assert 0.01 < float((noisy.norm(dim=1) - exact.norm(dim=1)).abs().max()) <= 0.02


def test_the_mechanism_has_unit_variance_and_the_shortcuts_their_scale():
    data = spirals(0, environments=200, examples=20, shortcuts=Shortcuts(30, 0.1))
    torch.testing.assert_close(data.train.x[:, :2].std(0), torch.ones(2), rtol=1e-5, atol=0)
    assert float(data.train.x[:, 2:].std()) == pytest.approx(0.1, rel=0.02)
    assert float(data.test.x[:, 2:].std()) == pytest.approx(0.1, rel=0.02)


def test_raw_spirals_keep_their_printed_radii_and_differ_by_nothing_but_the_scale():
    scaled, raw = spirals(0, **SMALL), spirals(0, **SMALL, mechanism=Mechanism(unit_variance=False))
    for ours, theirs in zip(raw[:3], scaled[:3], strict=True):
        torch.testing.assert_close(ours.x[:, :2], theirs.x[:, :2] * scaled.plane_scale)
        assert torch.equal(ours.x[:, 2:], theirs.x[:, 2:])
        assert torch.equal(ours.y, theirs.y)
        radius = ours.x[:, :2].norm(dim=1)
        assert 0.06 <= float(radius.min()) < float(radius.max()) <= 1.02
    assert torch.equal(raw.plane_scale, torch.ones(2))


def test_a_shortcut_is_one_vector_an_environment_with_the_labels_sign():
    for split in (spirals(0, **SMALL).train, spirals(0, **SMALL).validation):
        for e in split.environments.unique():
            rows = split.environments == e
            unsigned = split.x[rows, 2:] * (2 * split.y[rows] - 1)[:, None]
            assert torch.equal(unsigned, unsigned[:1].expand_as(unsigned))


def test_validation_environments_are_new_and_test_shortcuts_say_nothing_of_the_label():
    data = spirals(0, environments=50, examples=20, shortcuts=Shortcuts(8), held_out=HeldOut(test_examples=20_000))
    seen = {tuple(row) for row in data.train.x[:, 2:].abs().tolist()}
    assert not seen & {tuple(row) for row in data.validation.x[:, 2:].abs().tolist()}
    correlation = (data.test.x[:, 2:] / 0.1 * (2 * data.test.y - 1)[:, None]).mean(0)
    assert float(correlation.abs().max()) < 0.03


@pytest.mark.parametrize("name", ["environments", "examples"])
def test_training_sizes_below_one_are_refused(name):
    with pytest.raises(ValueError, match=rf"`{name}` should be at least 1\. Found 0"):
        spirals(0, **{**SMALL, name: 0})


@pytest.mark.parametrize(
    ("bundle", "name"), [(Mechanism, "revolutions"), (HeldOut, "validation_environments"), (HeldOut, "test_examples")]
)
def test_sizes_below_one_are_refused(bundle, name):
    with pytest.raises(ValueError, match=rf"`{name}` should be at least 1\. Found 0"):
        bundle(**{name: 0})


@pytest.mark.parametrize(("bundle", "name"), [(Shortcuts, "dims"), (Shortcuts, "scale"), (Mechanism, "noise")])
def test_negative_scales_are_refused(bundle, name):
    with pytest.raises(ValueError, match=rf"`{name}` should not be negative\. Found -1"):
        bundle(**{name: -1 if name == "dims" else -1.0})


def test_one_example_has_no_variance():
    with pytest.raises(ValueError, match=r"two or more: .* Found 1\. .*unit_variance=False"):
        spirals(0, **{**SMALL, "environments": 1, "examples": 1})
    raw = spirals(0, **{**SMALL, "environments": 1, "examples": 1}, mechanism=Mechanism(unit_variance=False))
    assert raw.train.x.isfinite().all()
