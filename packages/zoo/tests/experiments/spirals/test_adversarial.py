import torch

from mechlearn_zoo.experiments.spirals.baselines.adversarial import Adversarial, Reverse


def test_the_discriminator_learns_and_the_embedding_is_trained_against_it():
    model = Adversarial(4, 3, 8, torch.Generator().manual_seed(0))
    x, environments = torch.randn(9, 4, generator=torch.Generator().manual_seed(1)), torch.arange(3).repeat(3)
    model.domain_loss(x, environments).backward()
    reversed_gradients = [p.grad.clone() for p in model.embedding.parameters()]
    own = [p.grad.clone() for p in model.discriminator.parameters()]
    model.zero_grad()
    torch.nn.functional.cross_entropy(model.discriminator(model.embedding(x)), environments).backward()
    for reversed_one, parameter in zip(reversed_gradients, model.embedding.parameters(), strict=True):
        torch.testing.assert_close(reversed_one, -parameter.grad)
    for gradient, parameter in zip(own, model.discriminator.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad)
    assert all(p.grad is None or not p.grad.any() for p in model.classifier.parameters())


def test_the_reversal_goes_through_functional_transforms():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    found = torch.func.vmap(torch.func.grad(lambda row: Reverse.apply(row).square().sum()))(x)
    assert torch.equal(found, -2 * x)
