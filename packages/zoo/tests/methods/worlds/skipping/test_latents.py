import math

import pytest
import torch

from mechlearn_zoo.methods.worlds.skipping import whitening


def latents(dtype=torch.float64):
    g = torch.Generator().manual_seed(0)
    z = torch.randn(500, 4, generator=g, dtype=torch.float64) * torch.tensor([3.0, 1.0, 0.2, 0.05])
    return (z @ torch.randn(4, 4, generator=g, dtype=torch.float64) + 2).to(dtype)


def test_whitened_latents_have_unit_covariance_and_go_back():
    z = latents()
    found = whitening(z, 1e-6)
    white = found.whiten(z)
    torch.testing.assert_close(white.mean(0), torch.zeros(4, dtype=torch.float64), rtol=0, atol=1e-10)
    torch.testing.assert_close(white.T @ white / len(z), torch.eye(4, dtype=torch.float64), rtol=0, atol=1e-10)
    torch.testing.assert_close(found.undo(white), z, rtol=0, atol=1e-10)
    assert found.whiten(z.view(5, 100, 4)).shape == (5, 100, 4)
    assert whitening(latents(torch.float32)).forward.dtype == torch.float32


def test_scale_does_not_matter_and_noise_is_not_blown_up():
    z = latents()
    first, second = (whitening(one, 1e-6).whiten(one) for one in (z, 100 * z))
    torch.testing.assert_close(first.abs(), second.abs(), rtol=0, atol=1e-8)
    flat = torch.cat((z, z[:, :1] * 0 + 1), 1)
    found = whitening(flat, 0.01)
    assert float(found.whiten(flat).std(0).min()) < 1e-6
    torch.testing.assert_close(found.undo(found.whiten(flat)), flat, rtol=0, atol=1e-10)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"`z` should have the shape \(n, l\)"):
        whitening(torch.zeros(2, 3, 4))
    with pytest.raises(ValueError, match="`z` should vary"):
        whitening(torch.ones(4, 2))
    with pytest.raises(ValueError, match="two finite latents"):
        whitening(torch.full((4, 2), math.nan))
    with pytest.raises(ValueError, match="`least` should be positive"):
        whitening(latents(), 0.0)


@pytest.mark.usefixtures("as_installed")
def test_other_widths_and_types_are_refused():
    z = latents()
    white = whitening(z)
    for way in (white.whiten, white.undo):
        with pytest.raises(ValueError, match=r"`z` should have the shape \(\.\.\., "):
            way(z[:, :1])
        with pytest.raises(TypeError, match=r"of the type torch\.float64"):
            way(z.float())
    with pytest.raises(TypeError, match="`z` should hold floating numbers"):
        whitening(z.long())
