import math

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from mechlearn_zoo.nn.autoencoders import ConvVAE, Encoded, sample_latent, vae_loss


@pytest.mark.parametrize("size", [4, 9, 10, 19, 20, 21, 32])
def test_mirrored_sizes_come_back(size):
    widths = (4, 6) if size > 9 else (4,)
    vae = ConvVAE(2, size, 3, torch.Generator().manual_seed(0), widths=widths)
    x = torch.rand(5, 2, size, size)
    encoded = vae.encode(x)
    assert encoded.mean.shape == encoded.log_var.shape == (5, 3)
    assert vae.decode(encoded.mean).shape == x.shape


def test_published_layers():
    vae = ConvVAE(3, 64, 32, torch.Generator().manual_seed(0), decoder="published")
    assert vae.mean.in_features == 2 * 2 * 256
    kernels = [layer.kernel_size[0] for layer in vae.decoder if isinstance(layer, torch.nn.ConvTranspose2d)]
    assert kernels == [5, 5, 6, 6]
    assert sum(p.numel() for p in vae.parameters()) == 4_348_547  # ctallec/world-models' VAE has as many
    assert vae.decode(torch.zeros(1, 32)).shape == (1, 3, 64, 64)


def test_the_loss_is_its_formula():
    generator = torch.Generator().manual_seed(0)
    x, x_hat = (torch.rand(3, 1, 4, 4, dtype=torch.float64, generator=generator) for _ in range(2))
    mean, log_var = (3 * torch.randn(3, 2, dtype=torch.float64, generator=generator) for _ in range(2))
    found = vae_loss(x, x_hat, Encoded(mean, log_var), free_nats=1.5, reconstruction=7.0)
    for b in range(3):
        squared = sum((float(p) - float(q)) ** 2 for p, q in zip(x[b].flatten(), x_hat[b].flatten(), strict=True))
        nats = sum(
            float(kl_divergence(Normal(m, math.exp(0.5 * v)), Normal(0.0, 1.0)))
            for m, v in zip(mean[b], log_var[b].tolist(), strict=True)
        )
        assert float(found[b]) == pytest.approx(7 * squared + max(nats, 3.0), abs=1e-12 * max(1.0, nats))


def test_free_nats_have_no_gradient():
    mean, log_var = torch.zeros(1, 4, requires_grad=True), torch.zeros(1, 4, requires_grad=True)
    x = torch.rand(1, 1, 4, 4)
    vae_loss(x, x, Encoded(mean, log_var)).sum().backward()
    assert not mean.grad.any()


def test_samples_have_mean_and_deviation():
    encoded = Encoded(torch.full((100_000, 1), 2.0), torch.full((100_000, 1), math.log(9.0)))
    z = sample_latent(encoded, torch.Generator().manual_seed(0))
    assert float(z.mean()) == pytest.approx(2, abs=0.04)
    assert float(z.std()) == pytest.approx(3, abs=0.04)


def test_what_is_refused():
    vae = ConvVAE(1, 10, 2, torch.Generator().manual_seed(0), widths=(4,))
    with pytest.raises(ValueError, match=r"`x` should have the shape \(b, 1, 10, 10\)"):
        vae.encode(torch.rand(2, 1, 12, 12))
    with pytest.raises(ValueError, match=r"Frames should lie in \[0, 1\]. Found 0 to 255. Divide bytes by 255"):
        vae.encode(torch.tensor([0.0, 255.0]).repeat(50).reshape(1, 1, 10, 10))
    with pytest.raises(ValueError, match=r"Frames should lie in"):
        vae.encode(torch.full((1, 1, 10, 10), math.nan))
    with pytest.raises(ValueError, match="from the layer `log_var`"):
        sample_latent(Encoded(torch.zeros(1, 2), torch.full((1, 2), 1e4)), torch.Generator())
    with pytest.raises(ValueError, match="should outlast the convolutions"):
        ConvVAE(1, 10, 2, torch.Generator(), widths=(4, 4, 4))
    with pytest.raises(ValueError, match="published decoder gives frames of 64"):
        ConvVAE(1, 96, 2, torch.Generator(), decoder="published")
    with pytest.raises(ValueError, match="`x_hat` should have the shape of `x`"):
        vae_loss(torch.rand(1, 1, 4, 4), torch.rand(1, 1, 5, 5), Encoded(torch.zeros(1, 2), torch.zeros(1, 2)))


def test_a_loss_that_is_not_finite_names_what_it_comes_of():
    x, z = torch.rand(2, 1, 4, 4), torch.zeros(2, 3)
    broken = x.clone()
    broken[1, 0, 2, 3] = math.nan
    with pytest.raises(ValueError, match=r"`x_hat` should be finite\. Found nan at \(1, 0, 2, 3\)"):
        vae_loss(x, broken, Encoded(z, z))
    with pytest.raises(TypeError, match="`x_hat` should hold data"):
        vae_loss(x, x.to("meta"), Encoded(z, z))
    with pytest.raises(ValueError, match="`mean` should be finite"):
        vae_loss(x, x, Encoded(z + math.inf, z))
    with pytest.raises(ValueError, match=r"Found 100 from the layer `log_var`\. Lower the learning rate"):
        vae_loss(x, x, Encoded(z, z + 100))
    with pytest.raises(ValueError, match=r"What comes of `x`, `x_hat`, `mean` should be finite\. Found inf"):
        vae_loss(x, x, Encoded(z + 1e30, z))
    assert vae_loss(x, x, Encoded(z, z + 80)).isfinite().all()


def test_nothing_is_drawn_where_a_sample_is_refused(as_installed):
    generator, z = torch.Generator().manual_seed(0), torch.zeros(2, 3)
    before = generator.get_state()
    for encoded, error, match in (
        (Encoded(z + math.nan, z), ValueError, "`mean` should be finite"),
        (Encoded(z, z + math.nan), ValueError, r"finite exponentials\. Found nan"),
        (Encoded(z, z[:, :2]), ValueError, r"`log_var` should have the shape \(2, 3\)"),
        (Encoded(z[:0], z[:0]), ValueError, r"`mean` should have the shape"),
        ((z, z), TypeError, r"`encoded` should be an Encoded\(mean, log_var\)"),
    ):
        with pytest.raises(error, match=match):
            sample_latent(encoded, generator)
    assert torch.equal(generator.get_state(), before)
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        sample_latent(Encoded(z, z), None)
    vae = ConvVAE(1, 10, 2, generator, (4, 4))
    with pytest.raises(TypeError, match=r"`x` should hold floating numbers\. Found torch\.uint8"):
        vae.encode(torch.zeros(2, 1, 10, 10, dtype=torch.uint8))
    with pytest.raises(TypeError, match=r"`x` should be of the type torch\.float32\. Found torch\.float64"):
        vae.encode(torch.zeros(2, 1, 10, 10, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"`z` should have the shape \(b, 2\)"):
        vae.decode(torch.zeros(0, 2))
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        ConvVAE(1, 10, 2, None, (4, 4))
