import math

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from mechlearn.losses import Rankable
from mechlearn.skips import Dynamics, Greedy, Sampled, match, rollout
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.methods.worlds.skipping import MixtureNLL

F64 = torch.float64


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_mixtures_likelihood_is_torchs_with_a_floor():
    loss = MixtureNLL(3, -1.0)
    prediction = torch.randn(5, 3, 4, 3, generator=generator(), dtype=F64)
    x = torch.randn(5, 4, generator=generator(1), dtype=F64)
    law = MixtureSameFamily(
        Categorical(logits=prediction[:, 0]), Normal(prediction[:, 1], prediction[:, 2].clamp(min=-1).exp())
    )
    torch.testing.assert_close(loss(prediction, x), -law.log_prob(x).mean(1), rtol=0, atol=1e-12)
    torch.testing.assert_close(loss.frame(prediction), law.mean, rtol=0, atol=1e-12)
    assert loss.prediction_shape((4,)) == (3, 4, 3)
    many = loss.sample(prediction[:1].expand(20_000, -1, -1, -1), torch.rand(20_000, 2, 4, generator=generator(2), dtype=F64))
    torch.testing.assert_close(many.mean(0), law.mean[0], rtol=0, atol=0.1)
    torch.testing.assert_close(many.var(0), law.variance[0], rtol=0.15, atol=0.05)


def test_a_model_without_memory_is_matched_by_likelihood():
    loss = MixtureNLL(1)
    z = Trajectories(torch.randn(2, 9, 3, generator=generator(), dtype=F64), torch.tensor([9, 6]))

    def model(x):
        return torch.stack((torch.zeros_like(x), x + 0.1, torch.zeros_like(x)), 1).unsqueeze(-1)

    dynamics = Dynamics(model, loss, feedback=Sampled(loss.sample, "uniform", (2, 3)))
    found = match(dynamics, z, Greedy(4), teacher_forcing=0.5, generator=generator())
    assert found.loss.isfinite()
    plain = match(Dynamics(model, loss), z, Greedy(4))
    squared = ((z.frames[0, 1:5] - z.frames[0, 0] - 0.1) ** 2).mean(1)
    assert int(plain.skips[0, 0]) == int(squared.argmin()) + 1
    assert rollout(dynamics, z.first(), max_steps=3, generator=generator()).trajectories.frame_shape == (3,)


def test_extreme_scales_are_finite_and_there_is_no_ranking():
    loss = MixtureNLL(2)
    prediction = torch.zeros(2, 3, 4, 2)
    prediction[0, 2], prediction[1, 2] = -50.0, 40.0
    found = loss(prediction.requires_grad_(), torch.ones(2, 4))
    found.sum().backward()
    assert found.isfinite().all()
    assert prediction.grad.isfinite().all()
    assert float(found[0].detach()) == pytest.approx(0.5 * math.exp(6) - 3 + 0.5 * math.log(2 * math.pi), rel=1e-5)
    assert not isinstance(loss, Rankable)


def test_what_is_refused():
    with pytest.raises(ValueError, match="`mixtures` should be at least 1"):
        MixtureNLL(0)
    with pytest.raises(ValueError, match="`least_log_scale` should be finite"):
        MixtureNLL(2, -math.inf)


@pytest.mark.usefixtures("as_installed")
def test_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"`prediction` should have the shape \(n, 3, \*frame, 4\)\. Found \(2, 2, 3, 4\)"):
        MixtureNLL(4)(torch.zeros(2, 2, 3, 4), torch.zeros(2, 3))
    with pytest.raises(ValueError, match=r"`target` should have the shape \(2, 3\)\. Found \(2, 2\)"):
        MixtureNLL(4)(torch.zeros(2, 3, 3, 4), torch.zeros(2, 2))
