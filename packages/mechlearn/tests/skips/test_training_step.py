import inspect

import pytest
import torch
from torch import nn

from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, Fixed, Greedy, match, training_step
from mechlearn.trajectories import Trajectories


def world():
    """A point that turns in the plane; lengths differ."""
    angle = torch.arange(12) * 0.3
    circle = torch.stack([angle.cos(), angle.sin()], dim=1)
    return Trajectories.from_list([circle[:n] for n in (12, 9, 6)])


def linear():
    model = nn.Linear(2, 2)
    with torch.no_grad():
        model.weight.copy_(0.5 * torch.eye(2))
        model.bias.zero_()
    return model


def test_it_is_the_four_lines():
    ours, theirs = linear(), linear()
    optimizers = [torch.optim.Adam(model.parameters(), lr=0.1) for model in (ours, theirs)]
    for step in range(3):
        settings = {"teacher_forcing": 0.5, "average": "steps"}
        generators = [torch.Generator().manual_seed(step) for _ in range(2)]
        matched = training_step(
            Dynamics(ours, SquaredError()), world(), Greedy(3, 0.5), optimizers[0], generator=generators[0], **settings
        )
        expected = match(Dynamics(theirs, SquaredError()), world(), Greedy(3, 0.5), generator=generators[1], **settings)
        optimizers[1].zero_grad()
        expected.loss.backward()
        optimizers[1].step()
        assert torch.equal(matched.loss, expected.loss)
    assert torch.equal(ours.weight, theirs.weight)
    assert not torch.equal(ours.weight, linear().weight)


def test_training_learns_a_transition():
    model = linear()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    before = match(Dynamics(model, SquaredError()), world(), Fixed(1)).loss.item()
    for _ in range(60):
        training_step(Dynamics(model, SquaredError()), world(), Greedy(4), optimizer)
    found = match(Dynamics(model, SquaredError()), world(), Greedy(4))
    assert found.loss.item() < before / 20


def test_a_loss_that_is_not_finite_changes_nothing():
    model = linear()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    model.weight.grad = torch.ones(2, 2)
    with torch.no_grad():
        model.bias.fill_(1e38)
    before = [parameter.clone() for parameter in model.parameters()]
    with pytest.raises(FloatingPointError, match=r"The loss should be finite. Found inf, from trajectory 0"):
        training_step(Dynamics(model, SquaredError()), world(), Fixed(1), optimizer)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert torch.equal(model.weight.grad, torch.ones(2, 2))
    assert optimizer.state == {}


def test_the_step_takes_what_match_takes_and_an_optimiser():
    own, passed = (inspect.signature(function).parameters.values() for function in (training_step, match))
    kept = [(parameter.name, parameter.kind, parameter.default) for parameter in own if parameter.name != "optimizer"]
    assert kept == [(parameter.name, parameter.kind, parameter.default) for parameter in passed]


def test_an_optimiser_of_another_model_is_refused():
    model, other = nn.Linear(2, 2), nn.Linear(2, 2)
    frames = Trajectories(torch.randn(2, 5, 2, generator=torch.Generator().manual_seed(0)), torch.tensor([5, 4]))
    optimizer = torch.optim.SGD(other.parameters(), 0.1)
    with pytest.raises(ValueError, match=r"should hold parameters of the dynamics' model. Found none of its 2"):
        training_step(Dynamics(model, SquaredError()), frames, Greedy(2), optimizer)
    assert model.weight.grad is None


def test_predictions_that_are_kept_and_not_finite_change_nothing():
    model = linear()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with torch.no_grad():
        model.bias[0] = torch.inf
    before = [parameter.clone() for parameter in model.parameters()]
    sentence = r"prediction that is kept should be finite\. Found one that is not in trajectory 0 of the batch, step 0\. Lower"
    with pytest.raises(FloatingPointError, match=sentence):
        training_step(Dynamics(model, SquaredError()), world(), Fixed(1), optimizer, keep_predictions=True)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_a_step_that_would_train_nothing_is_refused():
    model = linear()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with torch.no_grad(), pytest.raises(ValueError, match=r"Found torch\.no_grad\(\) around the step"):
        training_step(Dynamics(model, SquaredError()), world(), Fixed(1), optimizer)
    model.requires_grad_(False)
    with pytest.raises(ValueError, match=r"Found a model without trainable parameters.*requires_grad_\(\) on what is"):
        training_step(Dynamics(model, SquaredError()), world(), Fixed(1), optimizer)


@pytest.mark.parametrize("matching", [Fixed(1), Greedy(3)])
def test_a_transform_around_match_is_refused(matching):
    def loss(factor):
        return match(Dynamics(lambda frames: factor * frames, SquaredError()), world(), matching).loss

    with pytest.raises(TypeError, match=r"Found a transform of torch\.func .* Differentiate the loss with backward\(\)"):
        torch.func.grad(loss)(torch.tensor(0.5))


def test_an_optimiser_that_evaluates_again_is_refused_before_anything_changes():
    model = linear()
    model.weight.grad = torch.ones_like(model.weight)
    with pytest.raises(TypeError, match=r"Found LBFGS.*in the closure"):
        training_step(Dynamics(model, SquaredError()), world(), Greedy(3), torch.optim.LBFGS(model.parameters()))
    assert bool((model.weight.grad == 1).all())


class Rooted(nn.Module):
    """A finite prediction whose derivative is not: the root of a number that is 0 at the first frame."""

    def __init__(self):
        super().__init__()
        self.weight, self.beside = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.ones(2))

    def forward(self, frames):
        return frames * self.beside + (frames * self.weight).abs().sqrt()


@pytest.mark.parametrize("kept", [True, False])
def test_a_gradient_that_is_not_finite_changes_nothing(kept):
    model = Rooted()
    optimizer = torch.optim.Adam([model.weight] if kept else model.parameters(), lr=0.05)
    model.weight.grad, model.beside.grad = torch.ones(2), torch.full((2,), 2.0)
    gradients = [model.weight.grad, model.beside.grad]
    with pytest.raises(FloatingPointError, match=r"Every gradient should be finite.*of a loss that is finite.*nothing was"):
        training_step(Dynamics(model, SquaredError()), world(), Fixed(1), optimizer)
    assert torch.equal(model.weight, torch.zeros(2))
    assert torch.equal(model.weight.grad, torch.ones(2))
    assert torch.equal(model.beside.grad, torch.full((2,), 2.0))
    assert model.weight.grad is gradients[0]
    assert optimizer.state == {}


def test_large_finite_gradients_pass():
    """Their sum overflows, and each of them is a number."""
    model = nn.Linear(2, 2)
    model.weight.register_hook(lambda gradient: torch.full_like(gradient, 3e38))
    training_step(Dynamics(model, SquaredError()), world(), Fixed(1), torch.optim.SGD(model.parameters(), lr=0.0))


def test_sparse_gradients_are_looked_at():
    class Table(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows = nn.Embedding(3, 2, sparse=True)

        def forward(self, frames):
            return frames + self.rows(torch.zeros(len(frames), dtype=torch.int64)).sqrt()

    model = Table()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for value, fine in ((1.0, True), (0.0, False)):
        with torch.no_grad():
            model.rows.weight.fill_(value)
        if fine:
            training_step(Dynamics(model, SquaredError()), world(), Fixed(1), optimizer)
        else:
            with pytest.raises(FloatingPointError, match="Every gradient"):
                training_step(Dynamics(model, SquaredError()), world(), Fixed(1), optimizer)
