"""The workloads, each at its full size and at a size for tests. A name's function is its row in `WORKLOADS`."""

from collections.abc import Callable
from dataclasses import replace

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own habit
from mechlearn_zoo_benchmarks.entrants.masks.models import MODELS
from mechlearn_zoo_benchmarks.entrants.masks.networks import fastresnet, initialise, relu_mlp, resnet
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem, single_examples
from torch import Generator, Tensor, nn

from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.tasks.boards.spirals import HeldOut, spirals

THRESHOLD = 0.2
"""The threshold of the papers' CIFAR experiments; the spirals ask for full agreement."""


def mlp_34(quick: bool, seed: int) -> Problem:
    """Return the thesis' spirals: 34-256x3-1, LeakyReLU, 32 environments of 128 examples."""
    environments, examples, hidden, layers = (4, 8, 32, 2) if quick else (32, 128, 256, 3)
    data = spirals(seed, environments, examples, held_out=HeldOut(1, test_examples=1)).train
    model = mlp(34, 1, Generator().manual_seed(seed), hidden, layers)
    return Problem(model, _binary_cross_entropy, data.x, data.y, data.environments, 1.0)


def mlp_3072(quick: bool, seed: int) -> Problem:
    """Return a wide network on vectors: 3072-512x3-10, ReLU, 80 environments of one example."""
    examples, widths = (8, (48, 16, 16, 16, 10)) if quick else (80, (3072, 512, 512, 512, 10))
    return _classes(relu_mlp(widths), (widths[0],), examples, seed)


def resnet20(quick: bool, seed: int) -> Problem:
    """Return the CIFAR ResNet-20 with GroupNorm, 80 environments of one example of 3x32x32."""
    if quick:
        return _classes(resnet(blocks=1, width=8), (3, 8, 8), 6, seed)
    return _classes(resnet(), (3, 32, 32), 80, seed)


def fast(quick: bool, seed: int) -> Problem:
    """Return the 6.6-million-parameter FastResNet with GroupNorm, 80 environments of one example of 3x32x32."""
    if quick:
        return _classes(fastresnet(width=8), (3, 8, 8), 6, seed)
    return _classes(fastresnet(), (3, 32, 32), 80, seed)


def table(widths: tuple[int, ...], environments: int, examples: int) -> Callable[[bool, int], Problem]:
    """Return a small network on a table's rows, where what a call costs of itself counts: square loss."""

    def problem(quick: bool, seed: int) -> Problem:
        each = 4 if quick else examples
        generator = Generator().manual_seed(seed)
        x = torch.randn(environments * each, widths[0], generator=generator)
        y = torch.randn(len(x), generator=generator)
        model = initialise(relu_mlp(widths), generator)
        return Problem(model, _square, x, y, torch.arange(environments).repeat_interleave(each), 0.6)

    return problem


WORKLOADS: dict[str, Callable[[bool, int], Problem]] = {
    "mlp-34": mlp_34,
    "mlp-3072": mlp_3072,
    "resnet20": resnet20,
    "fastresnet": fast,
    "linear-10 3x30": table((10, 1), 3, 30),
    "linear-10 3x10000": table((10, 1), 3, 10_000),
    "mlp-17 9x32": table((17, 64, 64, 1), 9, 32),
    "mlp-17 9x256": table((17, 64, 64, 1), 9, 256),
    **{name: MODELS[name] for name in ("rms-lm", "encoder", "llama", "vit-tiny", "gru", "lstm")},
    "rms-lm bfloat16": lambda quick, seed: _in_bfloat16(MODELS["rms-lm"](quick, seed)),
}
"""From a workload's name to the function (quick, seed) -> problem."""


def _in_bfloat16(problem: Problem) -> Problem:
    """Return the problem with its parameters in bfloat16: what sums in float32 cost beside them is memory."""
    return replace(problem, model=problem.model.to(torch.bfloat16))


def _square(output: Tensor, target: Tensor) -> Tensor:
    return (output[:, 0] - target).square()


def _classes(model: nn.Module, shape: tuple[int, ...], examples: int, seed: int) -> Problem:
    """Return a classification problem on normal inputs with random labels: time and masks ask for no more."""
    generator = Generator().manual_seed(seed)
    x = torch.randn(examples, *shape, generator=generator)
    y = torch.randint(0, 10, (examples,), generator=generator)
    model = initialise(model, generator)
    return Problem(model, _cross_entropy, x, y, single_examples(examples), THRESHOLD)


def _cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs, targets, reduction="none")


def _binary_cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(outputs[:, 0], targets, reduction="none")
