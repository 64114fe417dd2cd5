import re

import pytest
import torch
from torch.distributions import Bernoulli, Normal

import skips_oracles as oracles
from mechlearn import losses

FRAME = (2, 3)


def example(kind, seed=0):
    g = torch.Generator().manual_seed(seed)
    shape = (4, 2, *FRAME) if kind is losses.GaussianNLL else (4, *FRAME)
    z, x = torch.randn(shape, generator=g, dtype=torch.float64), torch.rand(4, *FRAME, generator=g, dtype=torch.float64)
    return (z.sigmoid() if kind is losses.BinaryCrossEntropy else z), x


KINDS = {
    losses.BinaryCrossEntropyWithLogits: oracles.bce_with_logits,
    losses.BinaryCrossEntropy: oracles.bce,
    losses.SquaredError: oracles.squared_error,
    losses.GaussianNLL: oracles.gaussian,
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_values_are_the_literal_ones(kind):
    z, x = example(kind)
    expected = torch.stack([KINDS[kind](one, target) for one, target in zip(z, x, strict=True)])
    torch.testing.assert_close(kind()(z, x), expected)
    torch.testing.assert_close(kind(reduction="sum")(z, x), expected * 6)


@each_kind
@pytest.mark.parametrize("weight", [None, torch.tensor([0.0, 1.0, 4.0], dtype=torch.float64)])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_ranking_differs_from_the_loss_by_a_constant_and_a_factor(kind, weight, reduction):
    loss = kind(reduction=reduction, weight=weight)
    z, _ = example(kind)
    linear, quadratic, _ = loss.ranking(z)
    targets = [example(kind, seed)[1] for seed in range(3)]
    scores = [(linear * x + quadratic * x**2).flatten(1).sum(1) for x in targets]
    values = [loss(z, x) for x in targets]
    factor = (values[1] - values[0]) / (scores[1] - scores[0])
    torch.testing.assert_close(factor, torch.full((4,), 1 / 6 if reduction == "mean" else 1.0, dtype=torch.float64))
    torch.testing.assert_close(values[2] - values[0], factor * (scores[2] - scores[0]))


def test_weights_count_elements():
    weight = torch.tensor([1.0, 0.0, 2.0])
    loss = losses.SquaredError(weight=weight)
    assert loss(torch.zeros(1, 3), torch.tensor([[3.0, 5.0, 1.0]])).tolist() == pytest.approx([11 / 3])


def test_sums_are_log_likelihoods():
    z, x = example(losses.BinaryCrossEntropyWithLogits)
    coins = (x > 0.5).double()
    found = losses.BinaryCrossEntropyWithLogits(reduction="sum")(z, coins)
    torch.testing.assert_close(found, -Bernoulli(logits=z).log_prob(coins).flatten(1).sum(1))
    z, x = example(losses.GaussianNLL)
    found = losses.GaussianNLL(reduction="sum")(z, x)
    torch.testing.assert_close(found, -Normal(z[:, 0], (z[:, 1] / 2).exp()).log_prob(x).flatten(1).sum(1))


@each_kind
def test_a_prediction_stands_for_the_frame_that_fits_best_on_average(kind):
    loss, (z, _) = kind(), example(kind)
    frame = loss.frame(z)
    assert frame.shape == (4, *FRAME)
    assert loss.prediction_shape(FRAME) == tuple(z.shape[1:])
    if kind in (losses.SquaredError, losses.GaussianNLL):
        assert (loss(z, frame) <= loss(z, frame + 0.1)).all()
    else:
        assert ((frame > 0) & (frame < 1)).all()


def test_other_reductions_are_refused():
    loss = object.__new__(losses.SquaredError)
    object.__setattr__(loss, "reduction", "none")
    with pytest.raises(ValueError, match=r'`reduction` should be "mean" or "sum". Found .none'):
        loss.__post_init__()


def test_a_plain_function_has_its_own_frame_and_shape():
    assert losses.prediction_shape(oracles.bce, (2, 3)) == (2, 3)
    x = torch.ones(2)
    assert losses.frame_of(oracles.bce)(x) is x


@pytest.mark.parametrize(
    ("kind", "prediction", "target", "wanted"),
    [
        (losses.SquaredError, (3, 1), (3,), r"\(3,\)"),
        (losses.SquaredError, (3,), (3, 1), r"\(3, 1\)"),
        (losses.SquaredError, (1, 2), (3, 2), r"\(3, 2\)"),
        (losses.BinaryCrossEntropy, (3, 1), (3, 2), r"\(3, 2\)"),
        (losses.BinaryCrossEntropyWithLogits, (3, 1), (3, 2), r"\(3, 2\)"),
        (losses.GaussianNLL, (4, 2, 1), (4,), r"\(4, 2\)"),
        (losses.GaussianNLL, (4, 3, 5), (4, 5), r"\(4, 2, 5\)"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_nothing_is_broadcast(kind, prediction, target, wanted):
    sentence = (
        rf"of shape {re.escape(str(target))} should have the shape {wanted}\. Found {re.escape(str(prediction))}\. Reshape"
    )
    with pytest.raises(ValueError, match=sentence):
        kind()(torch.full(prediction, 0.5), torch.full(target, 0.5))


def test_a_loss_of_whole_numbers_is_refused():
    with pytest.raises(TypeError, match=r"`loss` should return floats\. Found torch.int64"):
        losses.evaluated(lambda z, x: (z > x).flatten(1).sum(1), torch.ones(3, 2), torch.zeros(3, 2))


@pytest.mark.parametrize(
    ("weight", "frame"), [((3, 1), (4,)), ((5,), (1,)), ((1, 1), (4,)), ((3,), (4,)), ((4, 1), (1, 2)), ((2,), ())]
)
def test_a_weight_is_of_a_frame_and_never_of_examples(weight, frame):
    loss = losses.SquaredError("sum", torch.ones(weight))
    sentence = (
        rf"`weight` should broadcast to a frame, {re.escape(str(frame))}\. Found the shape {re.escape(str(weight))}\. Give"
    )
    with pytest.raises(ValueError, match=sentence):
        loss(torch.ones(3, *frame), torch.zeros(3, *frame))
    with pytest.raises(ValueError, match=sentence):
        loss.ranking(torch.ones(3, *frame))


@pytest.mark.parametrize("weight", [(), (1,), (3,), (2, 1), (2, 3)])
def test_a_weight_of_fewer_axes_stands_for_the_whole_frame(weight):
    factors = torch.rand(weight, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    z, x = example(losses.SquaredError)
    whole = losses.SquaredError(weight=factors.expand(FRAME).clone())
    assert torch.equal(losses.SquaredError(weight=factors)(z, x), whole(z, x))


@pytest.mark.parametrize("shape", [(0, 4), (3, 0), (0,)])
@each_kind
def test_nothing_has_no_loss(kind, shape):
    z = torch.zeros(shape[0], 2, *shape[1:]) if kind is losses.GaussianNLL else torch.zeros(shape)
    with pytest.raises(ValueError, match=rf"of a number at least\. Found the shape {re.escape(str(shape))}\. Leave"):
        kind()(z, torch.zeros(shape))
    with pytest.raises(ValueError, match=r"Predictions should be of an example and of a number at least"):
        kind().ranking(z)


class Absolute(losses.SquaredError):
    def elements(self, prediction, target):
        return (prediction - target).abs()


class Twice(losses.SquaredError):
    def __call__(self, prediction, target):
        return 2 * super().__call__(prediction, target)


class Largest(losses.SquaredError):
    def _reduced(self, losses):
        return losses.flatten(1).amax(1)


class Narrow(losses.SquaredError):
    def frame(self, prediction):
        return prediction / 2


class Linear(Absolute):
    def elements(self, prediction, target):
        return -prediction * target

    def coefficients(self, prediction):
        return -prediction, 0.0, 0.0


class Module(torch.nn.Module):
    def forward(self, prediction, target):
        return -(prediction * target).sum(1)

    def ranking(self, prediction):
        return losses.Ranking(-prediction)


class OtherModule(Module):
    def forward(self, prediction, target):
        return (prediction * target).sum(1)


@pytest.mark.parametrize(
    ("loss", "trusted"),
    [
        *((kind(), True) for kind in KINDS),
        (Absolute(), False),
        (Twice(), False),
        (Largest(), False),
        (Narrow(), True),
        (Linear(), True),
        (Module(), True),
        (OtherModule(), False),
        (oracles.bce, False),
    ],
)
def test_a_ranking_is_trusted_where_it_is_as_near_to_a_class_as_the_values(loss, trusted):
    assert losses.rankable(loss) is (loss if trusted else None)


def test_an_instance_may_have_a_ranking_or_a_forward_of_its_own():
    def dot(prediction, target):
        return -(prediction * target).sum(1)

    dot.ranking = lambda prediction: losses.Ranking(-prediction)
    assert losses.rankable(dot) is dot
    module = Module()
    module.forward = lambda prediction, target: (prediction * target).sum(1)
    assert losses.rankable(module) is None


@each_kind
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64])
def test_targets_of_truths_and_integers_are_numbers(kind, dtype):
    """Of bytes -x is 256 - x, which a cross-entropy took for a target of 255."""
    z, x = example(kind)
    whole = (x > 0.5).to(dtype)
    torch.testing.assert_close(kind()(z, whole), kind()(z, whole.double()), rtol=0, atol=0)


@pytest.mark.usefixtures("as_installed")
def test_what_no_loss_takes():
    z = torch.zeros(2, 3)
    with pytest.raises(TypeError, match=r"`prediction` should hold floats\. Found torch\.int64\. Convert it with \.float\(\)"):
        losses.SquaredError()(z.long(), z)
    with pytest.raises(TypeError, match="`target` should be a tensor"):
        losses.SquaredError()(z, [[0.0]])
    with pytest.raises(ValueError, match=r"along their first axis\. Found a single number"):
        losses.SquaredError()(z[0, 0], z[0, 0])
