import numpy as np
import pytest
import torch

import exploration_oracles as oracles
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.methods.control import Curiosity, InverseFeatures, Pixels, RandomFeatures, RewardScale, VAEFeatures, scaled

ACTIONS = 3


class OneHot(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = relu_mlp((width + ACTIONS, 8, width), torch.Generator().manual_seed(1))

    def forward(self, features, actions):
        return self.net(torch.cat((features, torch.nn.functional.one_hot(actions, ACTIONS).float()), -1))


def net(*widths):
    return relu_mlp(widths, torch.Generator().manual_seed(0))


def kinds():
    return {
        "pixels": (Pixels(), 4),
        "random": (RandomFeatures(net(4, 8, 3).requires_grad_(False)), 3),
        "inverse": (InverseFeatures(net(4, 8, 3), net(6, 8, ACTIONS)), 3),
        "vae": (VAEFeatures(net(4, 8, 4), net(2, 8, 4), torch.Generator().manual_seed(2)), 2),
    }


def data(time=5, batch=6):
    generator = torch.Generator().manual_seed(3)
    observations = torch.randn(time + 1, batch, 4, generator=generator)
    return observations, torch.randint(ACTIONS, (time, batch), generator=generator)


@pytest.mark.parametrize("name", list(kinds()))
def test_the_bonus_is_the_mean_squared_error(name):
    features, width = kinds()[name]
    curiosity, (observations, actions) = Curiosity(features, OneHot(width)), data()
    found = curiosity.bonus(observations, actions)
    for t in range(5):
        for b in range(6):
            one = curiosity.forward_model(features(observations[t, b][None]), actions[t, b][None])
            error = (one - features(observations[t + 1, b][None])).square().mean()
            assert float(found[t, b]) == pytest.approx(float(error.detach()), rel=1e-5)
    assert not found.requires_grad


@pytest.mark.parametrize("name", list(kinds()))
def test_features_learn_from_their_own_losses_alone(name):
    features, width = kinds()[name]
    curiosity, (observations, actions) = Curiosity(features, OneHot(width)), data()
    curiosity.losses(observations, actions).sum().backward()
    assert all(parameter.grad is not None for parameter in curiosity.forward_model.parameters())
    learned = [parameter for parameter in features.parameters() if parameter.grad is not None]
    assert bool(learned) == (name in ("inverse", "vae"))
    before = [parameter.grad.clone() for parameter in learned]
    for parameter in curiosity.parameters():
        parameter.grad = None
    if name == "inverse":
        flat = observations[:-1].flatten(0, 1), actions.flatten(), observations[1:].flatten(0, 1)
        features.losses(*flat).sum().backward()
        assert all(torch.allclose(one, parameter.grad) for one, parameter in zip(before, learned, strict=True))


def test_the_vaes_divergence_in_closed_form():
    features, _ = kinds()["vae"]
    x = torch.zeros(3, 4)
    code = features.encoder(x).chunk(2, -1)
    normal = torch.distributions.Normal(code[0], (code[1] / 2).exp())
    wanted = torch.distributions.kl_divergence(normal, torch.distributions.Normal(0.0, 1.0)).sum(-1)
    noise = torch.randn(3, 2, generator=torch.Generator().manual_seed(2))
    decoded = features.decoder(code[0] + (code[1] / 2).exp() * noise)
    torch.testing.assert_close(features.losses(x, x, x), decoded.square().sum(-1) / 2 + wanted)


@pytest.mark.parametrize("name", list(kinds()))
def test_modules_of_half_types_have_losses_in_float32(name):
    features, width = kinds()[name]
    curiosity, (observations, actions) = Curiosity(features, OneHot(width)).bfloat16(), data()
    observations = observations.bfloat16()

    def forward(model, inputs):
        return torch.cat((inputs[0], torch.nn.functional.one_hot(inputs[1], ACTIONS).bfloat16()), -1)

    model = curiosity.forward_model.net
    curiosity.forward_model.forward = lambda *inputs: model(forward(model, (inputs[0].bfloat16(), inputs[1])))
    losses = curiosity.losses(observations, actions)
    assert losses.dtype == curiosity.bonus(observations, actions).dtype == torch.float32
    losses.sum().backward()
    assert losses.isfinite().all()


def test_pixels_keep_what_they_are():
    third = torch.full((2, 3, 1), 1 / 3, dtype=torch.float64)
    assert torch.equal(Pixels()(third), third.flatten(1))
    assert Pixels()(third.half()).dtype == Pixels()(torch.zeros(2, 3, dtype=torch.uint8)).dtype == torch.float32


def test_predictions_of_another_shape_are_refused():
    """A single number is no guess of four alike."""
    observations, actions = data()
    for width in (1, 3):
        forward = lambda features, _, width=width: features[:, :width]  # noqa: E731
        curiosity = Curiosity(Pixels(), torch.nn.Module())
        curiosity.forward_model.forward = forward
        for call in (curiosity.bonus, curiosity.losses):
            with pytest.raises(ValueError, match=rf"`forward_model.*should have the shape \(30, 4\). Found \(30, {width}\)"):
                call(observations, actions)


@pytest.mark.usefixtures("as_installed")
def test_actions_that_there_are_not_are_refused():
    """Minus a hundred is what cross-entropies leave out."""
    features, x = kinds()["inverse"][0], torch.zeros(2, 4)
    for wrong in (-100, 3):
        with pytest.raises(ValueError, match="`actions` should be numbers from 0 to 2"):
            features.losses(x, torch.tensor([1, wrong]), x)
    with pytest.raises(ValueError, match=r"`actions` should have the shape \(2,\). Found \(2, 1\)"):
        features.losses(x, torch.tensor([[1], [2]]), x)
    with pytest.raises(TypeError, match="`actions` should hold whole numbers"):
        features.losses(x, torch.zeros(2), x)
    whole = torch.tensor([1, 2])
    assert torch.equal(features.losses(x, whole.int(), x), features.losses(x, whole, x))
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        VAEFeatures(net(4, 4), net(2, 4), None)


@pytest.mark.parametrize("shape", [(0, 2), (3, 0)])
def test_no_bonuses_are_refused(shape):
    with pytest.raises(ValueError, match=rf"T and B at least 1. Found \({shape[0]}, {shape[1]}\)"):
        scaled(RewardScale(torch.zeros(shape[1])), torch.zeros(shape))


def test_the_running_deviation():
    generator = torch.Generator().manual_seed(0)
    parts = [torch.rand(time, 4, generator=generator, dtype=torch.float64) for time in (1, 7, 64)]
    state, expected = RewardScale(torch.zeros(4)), oracles.reward_scale([part.numpy() for part in parts], 0.99)
    for part, wanted in zip(parts, expected, strict=True):
        found, state = scaled(state, part)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_what_never_varies_gives_no_bonus():
    found, state = scaled(RewardScale(torch.zeros(3)), torch.zeros(5, 3))
    assert not found.any()
    assert state.seen == 15


def test_bad_input():
    observations, actions = data()
    curiosity = Curiosity(Pixels(), OneHot(4))
    with pytest.raises(ValueError, match=r"\(T \+ 1, B, ...\).*Found \(5, 6, 4\) and \(5, 6\). Use those of a Rollout"):
        curiosity.bonus(observations[:-1], actions)
    with pytest.raises(ValueError, match=r"shape \(T, 3\), time first.*Found \(5, 4\)"):
        scaled(RewardScale(torch.zeros(3)), torch.zeros(5, 4))
    with pytest.warns(UserWarning, match="random features stay fixed"):
        RandomFeatures(net(4, 3))


def test_a_bonus_that_is_no_number_is_refused_and_the_state_kept():
    bonuses = torch.rand(5, 2, generator=torch.Generator().manual_seed(0))
    _, state = scaled(RewardScale(torch.zeros(2)), bonuses)
    kept = state._replace(sums=state.sums.clone())
    for wrong in (torch.nan, torch.inf):
        broken = bonuses.clone()
        broken[3, 1] = wrong
        with pytest.raises(ValueError, match=rf"`bonuses` should be finite. Found {wrong} at \(3, 1\). The state is unchanged"):
            scaled(state, broken)
    assert torch.equal(state.sums, kept.sums)
    assert state[1:] == kept[1:]
    assert scaled(state, bonuses)[0].min() > 0


def test_a_variance_that_is_none_is_refused():
    bonuses = torch.tensor([[1e200], [0.0]], dtype=torch.float64)
    with pytest.raises(ValueError, match=r"variance of discounted sums should be finite. Found inf"):
        scaled(RewardScale(torch.zeros(1)), bonuses)
    with pytest.raises(ValueError, match=r"Found nan, from a state of mean nan.*begin with a new state"):
        scaled(RewardScale(torch.zeros(1), 10, torch.nan, torch.nan), torch.ones(2, 1))


def test_a_decoder_of_one_number_is_refused():
    features, (observations, actions) = VAEFeatures(net(4, 8, 4), net(2, 8, 1), torch.Generator().manual_seed(2)), data()
    with pytest.raises(ValueError, match=r"`decoder\(codes\)` should have the shape \(6, 4\). Found \(6, 1\)"):
        features.losses(observations[0], actions[0], observations[1])
