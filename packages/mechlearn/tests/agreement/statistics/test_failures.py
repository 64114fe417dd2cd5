"""What cannot be answered is said in a sentence."""

import pytest
import torch
from torch import nn

from mechlearn.agreement.statistics import Noise, gradient_statistics, watch

X = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))


def losses_of(model, x=X):
    return model(x).square().sum(1)


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Linear(3, 2)


def test_one_environment(model):
    found = gradient_statistics(model, losses_of(model), ["a"] * 6, examples=True)
    assert found.norms.shape == (1,)
    assert found.example_norms.shape == (6,)
    assert found.critical_batch_size > 0
    for name in ("cosines", "noise"):
        with pytest.raises(ValueError, match=r"should be of two environments or more\. Found one, a\."):
            getattr(found, name)


def test_one_row(model):
    with pytest.raises(ValueError, match=r"two environments or more"):
        _ = gradient_statistics(model, losses_of(model, X[:1]), ["a"], examples=True).example_noise
    found = gradient_statistics(model, losses_of(model), ["a", "b", "a", "b", "b", "c"], examples=True)
    for name in ("noise_by_environment", "example_noise", "critical_batch_size"):
        with pytest.raises(ValueError, match=r"two rows or more\. Found one of environment c\. Draw more of it"):
            getattr(found, name)
    with pytest.raises(ValueError, match=r"two rows or more\. Found one of environment 0\. Read `noise`"):
        _ = gradient_statistics(model, losses_of(model), range(6)).noise_by_environment


def test_what_was_not_asked_for(model):
    found = gradient_statistics(model, losses_of(model), [0, 1] * 3, pairs=False)
    with pytest.raises(ValueError, match="pairs=False"):
        _ = found.cosines
    for name in ("example_norms", "example_noise", "noise_by_environment", "critical_batch_size"):
        with pytest.raises(ValueError, match="Pass examples=True"):
            getattr(found, name)
    with pytest.raises(ValueError, match=r"Found 'wight'\. There are 'weight', 'bias'"):
        found.part("wight")
    with pytest.raises(ValueError, match="at least one call"):
        Noise.averaged([])


@pytest.mark.parametrize("examples", [False, True])
def test_batch_norm_in_train_mode(examples):
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    with pytest.raises(ValueError, match="BatchNorm in train mode"):
        gradient_statistics(model, losses_of(model), [0, 1] * 3, examples=examples)
    with pytest.raises(ValueError, match="BatchNorm in train mode"):
        watch(model, lambda: losses_of(model), environments=[0, 1] * 3)
    assert int(model[1].num_batches_tracked) == 1  # of the first forward pass
    assert gradient_statistics(model.eval(), losses_of(model), [0, 1] * 3, examples=examples).norms.shape == (2,)


@pytest.mark.usefixtures("as_installed")
def test_losses_and_ids(model):
    with pytest.raises(ValueError, match="one unreduced loss for each example"):
        gradient_statistics(model, losses_of(model).mean(), [0] * 6)
    with pytest.raises(ValueError, match=r"one id for each of the 6 losses, shape \(6,\)\. Found shape \(5,\)"):
        gradient_statistics(model, losses_of(model), [0] * 5)
    with pytest.raises(ValueError, match="with gradients enabled"):
        gradient_statistics(model, losses_of(model).detach(), [0] * 6)
    with pytest.raises(ValueError, match="should depend on a parameter of"):
        gradient_statistics(nn.Linear(3, 2), losses_of(model), [0] * 6)
    with pytest.raises(TypeError, match="`model` should be a module"):
        gradient_statistics(losses_of, losses_of(model), [0] * 6)
    with pytest.raises(TypeError, match="`examples` should be True or False"):
        gradient_statistics(model, losses_of(model), [0] * 6, examples="yes")
    with pytest.raises(TypeError, match="`losses_of` should be a function"):
        watch(model, losses_of(model), environments=[0] * 6)
    losses = losses_of(model)
    losses.mean().backward()
    with pytest.raises(RuntimeError, match="used up"):
        gradient_statistics(nn.Sequential(model), losses, [0] * 6)
    with pytest.raises(TypeError, match="Found `example`"):
        gradient_statistics(model, losses_of(model), [0] * 6, example=True)


def test_a_reentrant_checkpoint(model):
    h = torch.utils.checkpoint.checkpoint(model, X.clone().requires_grad_(), use_reentrant=True)
    with pytest.raises(ValueError, match="reentrant"):
        gradient_statistics(model, h.square().sum(1), [0] * 6)
