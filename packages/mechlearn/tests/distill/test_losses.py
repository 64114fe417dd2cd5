import math

import pytest
import torch

import distill_models as models
import distill_oracles as oracles
from mechlearn.distill import GatedSquaredError, HiddenSquaredError, KullbackLeibler, Target

SHAPES = {"a": (5, 4), "b": (5, 2, 3)}
H = {name: models.randn(k, *shape) for k, (name, shape) in enumerate(SHAPES.items())}
T = {name: models.randn(10 + k, *shape) for k, (name, shape) in enumerate(SHAPES.items())}
M = {name: models.randn(20 + k, *shape) for k, (name, shape) in enumerate(SHAPES.items())}


def test_sums_are_the_texts_formulas():
    torch.testing.assert_close(HiddenSquaredError("sum")(H, {name: Target(t) for name, t in T.items()}), oracles.squared(H, T))
    signals = {name: (T[name], M[name]) for name in T}
    gated = GatedSquaredError(reduction="sum")(H, {name: Target(*pair) for name, pair in signals.items()})
    torch.testing.assert_close(gated, oracles.gated(H, signals))


def test_means_divide_by_the_number_of_units():
    targets = {name: Target(T[name], M[name]) for name in T}
    for loss in (HiddenSquaredError, GatedSquaredError):
        torch.testing.assert_close(loss(reduction="mean")(H, targets) * 10, loss(reduction="sum")(H, targets))


def test_divergence_has_its_direction_and_temperature():
    h, t = {"a": H["a"]}, {"a": T["a"]}
    targets = {"a": Target(T["a"])}
    torch.testing.assert_close(KullbackLeibler()(h, targets), oracles.kullback_leibler(h, t))
    other = KullbackLeibler(direction="student-teacher")(h, targets)
    torch.testing.assert_close(other, oracles.kullback_leibler(t, h))
    cool = KullbackLeibler(temperature=4.0)(h, targets)
    torch.testing.assert_close(cool, oracles.kullback_leibler({"a": h["a"] / 4}, {"a": t["a"] / 4}))
    torch.testing.assert_close(
        KullbackLeibler()({"a": H["b"]}, {"a": Target(T["b"])}), oracles.kullback_leibler({"a": H["b"]}, {"a": T["b"]})
    )


def test_classes_that_cannot_be_add_nothing_to_a_divergence():
    h = torch.tensor([[0.3, -1.0, 2.0], [0.5, 0.1, -0.4]], dtype=torch.float64, requires_grad=True)
    t = torch.tensor([[1.0, -math.inf, 0.5], [-math.inf, 0.0, -math.inf]], dtype=torch.float64, requires_grad=True)
    found = KullbackLeibler()({"a": h}, {"a": Target(t)})
    wanted = torch.stack(
        [
            oracles.kullback_leibler({"a": h[:1, [0, 2]]}, {"a": t[:1, [0, 2]]})[0]
            - h[0, [0, 2]].logsumexp(0)
            + h[0].logsumexp(0),
            h[1].logsumexp(0) - h[1, 1],
        ]
    )
    torch.testing.assert_close(found, wanted)
    for found_gradient, gradient in zip(
        torch.autograd.grad(found.sum(), (h, t)), torch.autograd.grad(wanted.sum(), (h, t)), strict=True
    ):
        torch.testing.assert_close(found_gradient, gradient)


def test_a_divergence_to_what_cannot_be_is_infinite():
    h, t = torch.tensor([[0.0, -math.inf], [0.0, -math.inf]]), torch.tensor([[0.0, 1.0], [1.0, -math.inf]])
    assert KullbackLeibler()({"a": h}, {"a": Target(t)}).tolist() == [math.inf, 0.0]
    assert KullbackLeibler(direction="student-teacher")({"a": h}, {"a": Target(t)}).isfinite().all()


def test_a_gated_loss_needs_gates():
    with pytest.raises(ValueError, match="Found none for 'a'"):
        GatedSquaredError()(H, {name: Target(t) for name, t in T.items()})


@pytest.mark.parametrize("loss", [HiddenSquaredError(), GatedSquaredError(), HiddenSquaredError("sum")])
def test_an_output_of_one_number_an_example_may_have_no_dimension(loss):
    h, t, m = (models.randn(k, 5) for k in range(3))
    flat = loss({"": h}, {"": Target(t, m)})
    torch.testing.assert_close(flat, loss({"": h[:, None]}, {"": Target(t[:, None], m[:, None])}), rtol=0, atol=0)


@pytest.mark.parametrize("loss", [HiddenSquaredError(), GatedSquaredError(scale=1.0, shift=50.0)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_the_mean_of_many_half_numbers_is_finite(loss, dtype):
    h = {"a": torch.full((2, 4096), 5.0, dtype=dtype, requires_grad=True), "b": torch.full((2,), 5.0, dtype=dtype)}
    found = loss(h, {name: Target(torch.zeros_like(one), torch.zeros_like(one)) for name, one in h.items()})
    assert found.tolist() == [25, 25]
    found.sum().backward()
    torch.testing.assert_close(h["a"].grad, torch.full((2, 4096), 10 / 4097, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_mean_of_other_numbers_is_bit_for_bit_their_sum_divided(dtype):
    h, targets = ({name: one.to(dtype) for name, one in part.items()} for part in (H, T))
    given = {name: Target(one) for name, one in targets.items()}
    found, total = (HiddenSquaredError(reduction)(h, given) for reduction in ("mean", "sum"))
    assert torch.equal(found, total / 10)
    assert found.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_half_numbers_are_squared_in_float32(dtype, reduction):
    """300 squared, and 200 squares of 25, are more than a float16 can say; steps of a half are lost in a bfloat16."""
    for value, units in ((300.5, 3), (25.0, 200)):
        h, zero = (torch.full((2, units), number, dtype=dtype) for number in (value, 0.0))
        wanted = oracles.squared({"a": h.float()}, {"a": zero.float()}) / (units if reduction == "mean" else 1)
        targets = {"a": Target(zero, torch.full_like(h, 1e3))}
        for loss in (HiddenSquaredError, GatedSquaredError):
            torch.testing.assert_close(loss(reduction=reduction)({"a": h}, targets), wanted)
    logits = torch.tensor([[60000.0, -60000.0]], dtype=dtype)
    found = KullbackLeibler()({"a": logits}, {"a": Target(-logits)})
    torch.testing.assert_close(found, KullbackLeibler()({"a": logits.float()}, {"a": Target(-logits.float())}))
    assert bool(found.isfinite().all())


@pytest.mark.parametrize("loss", [HiddenSquaredError(), HiddenSquaredError("sum"), GatedSquaredError(), KullbackLeibler()])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_empty_batches_are_refused(loss, shape):
    empty = torch.zeros(shape)
    with pytest.raises(ValueError, match=r"of an example and of a unit at least.*Found the shape \(\d, \d\) for 'a'"):
        loss({"a": empty}, {"a": Target(empty, empty)})
