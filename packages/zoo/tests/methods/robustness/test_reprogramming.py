import numpy as np
import pytest
import torch
from torch import nn

import robustness_oracles as oracle
from mechlearn_zoo.methods.robustness.reprogramming import LabelMap, Program, best_matching, frozen, reprogramming_loss


def program(canvas=(2, 7, 6), patch=(3, 2), scale=1.0):
    return Program(canvas, patch, torch.Generator().manual_seed(0), scale).double()


def images(n=3, channels=1, size=(3, 2)):
    generator = torch.Generator().manual_seed(1)
    return 2 * torch.rand(n, channels, *size, generator=generator, dtype=torch.float64) - 1


def host(kind="mlp", pixels=84, labels=6):
    torch.manual_seed(0)
    if kind == "linear":
        return nn.Sequential(nn.Flatten(), nn.Linear(pixels, labels)).double().eval()
    return nn.Sequential(nn.Flatten(), nn.Linear(pixels, 12), nn.ReLU(), nn.Linear(12, labels)).double().eval()


@pytest.mark.parametrize("channels", [1, 2])
def test_what_the_host_is_shown_is_the_literal_equation(channels):
    one, x = program(), images(channels=channels)
    repeated = x.expand(-1, 2, -1, -1).numpy()
    np.testing.assert_allclose(
        one(x).detach().numpy(), oracle.program(one.weight.detach().numpy(), repeated, (2, 7, 6)), atol=1e-14
    )


def test_a_program_stays_in_its_range_and_off_the_image():
    one = program(scale=30.0)
    assert one.pattern().abs().max() <= 1
    x = images()
    assert torch.equal(one(x)[:, :, one.top : one.top + 3, one.left : one.left + 2], x.expand(-1, 2, -1, -1))


def test_labels_are_summed_as_the_literal_loop_does():
    logits = torch.randn(4, 6, dtype=torch.float64)
    for table in ([[0, 3], [5]], [[0], [1], [2]]):
        np.testing.assert_allclose(LabelMap(table)(logits).numpy(), oracle.mapped(logits.numpy(), table), atol=1e-12)
    assert torch.equal(LabelMap(3)(logits), LabelMap([[0], [1], [2]])(logits))


def test_to_a_linear_host_a_program_is_a_bias():
    """Theorem: logits(x + P) - logits(x' + P) does not depend on P."""
    model, x = host("linear"), images(2)
    shown = [model(program(scale=scale)(x)) for scale in (0.0, 1.0, 9.0)]
    differences = [z[0] - z[1] for z in shown]
    for other in differences[1:]:
        torch.testing.assert_close(other, differences[0], rtol=0, atol=1e-12)


def test_the_loss_is_minus_the_log_probability_plus_decay():
    model, one, x, y = host(), program(), images(), torch.tensor([0, 2, 1])
    found = reprogramming_loss(model, one, LabelMap(3), x, y, decay=0.1)
    wanted = -model(one(x)).log_softmax(1)[range(3), y] + 0.1 * (one.weight**2).sum()
    torch.testing.assert_close(found, wanted)


def test_only_the_program_learns():
    model, one, x, y = host(), program(), images(), torch.tensor([0, 2, 1])
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.Adam(one.parameters(), 0.05)
    first = last = None
    for _ in range(30):
        optimizer.zero_grad()
        losses = reprogramming_loss(model, one, LabelMap(3), x, y)
        losses.mean().backward()
        optimizer.step()
        last = float(losses.detach().mean())
        first = last if first is None else first
    assert last < first
    assert all(
        p.grad is None and p.requires_grad and torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True)
    )


def test_a_frozen_host_gives_its_logits():
    x = program()(images())
    torch.testing.assert_close(frozen(host(), x), host()(x))


def test_the_best_matching_is_the_best_of_all():
    import itertools

    logits, y = torch.randn(30, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3)), torch.arange(30) % 3
    means = torch.stack([logits.log_softmax(1)[y == k].mean(0) for k in range(3)])
    best = max(itertools.permutations(range(5), 3), key=lambda hosts: sum(float(means[k, h]) for k, h in enumerate(hosts)))
    assert best_matching(logits, y, 3).rows == [[h] for h in best]


def norm_host():
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(84), nn.Linear(84, 6)).double()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: program(patch=(8, 2)), "smaller than the canvas"),
        (lambda: program(patch=(7, 6)), "smaller than the canvas"),
        (lambda: program()(images(size=(4, 2))), "should hold images"),
        (lambda: program()(images(channels=3)), "should hold images"),
        (lambda: program()(images() * 3), r"lie in \[-1, 1\]"),
        (lambda: LabelMap(1), "`table`"),
        (lambda: LabelMap([[0], [0]]), "host labels of its own"),
        (lambda: LabelMap([[0], []]), "host labels of its own"),
        (lambda: LabelMap(7)(torch.zeros(1, 6)), "at least 7 labels"),
        (lambda: reprogramming_loss(norm_host(), program(), LabelMap(3), images(), torch.zeros(3).long()), "eval mode"),
        (lambda: reprogramming_loss(host(), program(), LabelMap(3), images(), torch.full((3,), 3)), "the map's 3"),
        (lambda: reprogramming_loss(lambda x: x, program(), LabelMap(3), images(), torch.zeros(3).long()), "a torch module"),
        (lambda: best_matching(torch.zeros(4, 2), torch.tensor([0, 1, 2, 0]), 3), "as many host labels"),
        (lambda: best_matching(torch.zeros(4, 5), torch.tensor([0, 1, 1, 0]), 3), "an image of each"),
    ],
)
def test_bad_input(make, sentence, as_installed):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()
