import torch

from mechlearn_zoo.experiments.agreement.linear.linear_units import linear_units


def test_noise_moves_the_environments_own_inputs_alone():
    clean, noisy = linear_units(0.0, torch.Generator()), linear_units(0.001, torch.Generator().manual_seed(0))
    assert 0 < float((clean - noisy)[:, :4].abs().max()) <= 0.001
    assert torch.equal(clean[:, 4], noisy[:, 4])


def test_the_shared_input_solves_every_environment():
    x = linear_units(0.0, torch.Generator())
    torch.testing.assert_close(
        x @ torch.tensor([0.0, 0, 0, 0, 10 / 3], dtype=torch.float64), torch.ones(4, dtype=torch.float64)
    )
    torch.testing.assert_close(x[:, :4], 3 * torch.eye(4, dtype=torch.float64))
