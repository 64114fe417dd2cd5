import pytest
import torch
from torch import nn

from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, Greedy, encoded, match
from mechlearn.trajectories import Trajectories


def parts():
    g = torch.Generator().manual_seed(0)
    x = Trajectories.from_list([torch.rand(n, 6, generator=g, dtype=torch.float64) for n in (5, 3)])
    encoder, f = nn.Linear(6, 2, dtype=torch.float64), nn.Linear(2, 2, dtype=torch.float64)
    with torch.no_grad():
        for parameter in (*encoder.parameters(), *f.parameters()):
            parameter.copy_(torch.randn(parameter.shape, generator=g, dtype=torch.float64))
    return x, encoder, f


@pytest.mark.parametrize("chunk", [None, 1, 3])
def test_latents_are_those_of_each_frame(chunk):
    x, encoder, _ = parts()
    found = encoded(x, encoder, detach=True, chunk=chunk)
    assert found.frame_shape == (2,)
    assert found.lengths.tolist() == [5, 3]
    for latents, frames in zip(found, x, strict=True):
        torch.testing.assert_close(latents, encoder(frames).detach())
    assert not found.frames.requires_grad


def test_bytes_are_encoded_as_they_are_seen():
    stored = torch.tensor([[[0, 255], [51, 0]]], dtype=torch.uint8)
    found = encoded(Trajectories(stored, torch.tensor([2]), scale=1 / 255), lambda frames: frames.sum(1), detach=True)
    torch.testing.assert_close(found.frames, torch.tensor([[1.0, 0.2]]))


def test_a_detached_target_sends_no_gradient():
    x, encoder, f = parts()

    def gradient(detach):
        dynamics = Dynamics(f, SquaredError(), targets=encoded(x, encoder, detach=detach))
        found = match(dynamics, encoded(x, encoder, detach=False), Greedy(3))
        inputs = [encoder(x[b][[0, *found.matched[b, : found.steps[b] - 1].tolist()]]) for b in range(2)]
        targets = [encoder(x[b][found.matched[b, : found.steps[b]]]) for b in range(2)]
        losses = [((f(z) - (y.detach() if detach else y)) ** 2).mean() for z, y in zip(inputs, targets, strict=True)]
        expected = torch.autograd.grad(sum(losses) / 2, encoder.weight)[0]
        return torch.autograd.grad(found.loss, encoder.weight)[0], expected

    (detached, expected_detached), (attached, expected_attached) = gradient(True), gradient(False)
    torch.testing.assert_close(detached, expected_detached)
    torch.testing.assert_close(attached, expected_attached)
    assert not torch.allclose(detached, attached)


def test_a_model_of_frames_may_be_compared_in_latent_space():
    x, encoder, _ = parts()
    f = nn.Linear(6, 6, dtype=torch.float64)
    dynamics = Dynamics(f, SquaredError(), targets=encoded(x, encoder, detach=True), compare=encoder)
    found = match(dynamics, x, Greedy(3), teacher_forcing=0.0)
    z = f(x.first())
    first = ((encoder(z)[0] - encoder(x[0][1:4])) ** 2).mean(1)
    assert int(found.skips[0, 0]) == int(first.argmin()) + 1
    torch.testing.assert_close(found.step_losses[0, 0], first.min().detach().cpu())


def test_an_encoder_that_loses_frames_is_refused():
    x, _, _ = parts()
    with pytest.raises(ValueError, match=r"one latent for each frame, shape \(8, .*Found shape \(1"):
        encoded(x, lambda frames: frames.mean(0, keepdim=True), detach=True)


def test_an_encoder_may_return_the_same_memory_each_time():
    x, encoder, _ = parts()
    buffer = torch.zeros(3, 2, dtype=torch.float64)

    def same(frames):
        return torch.add(encoder(frames), 0, out=buffer[: len(frames)])

    found, wanted = (encoded(x, each, detach=True, chunk=3) for each in (same, encoder))
    assert torch.equal(found.frames, wanted.frames)
