"""Problems with networks of today: what the table of models asks, and some of what the agreement benchmark times.

A name's function is its row in `MODELS`; each draws weights and data from a seed.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own habit
from mechlearn_zoo_benchmarks.entrants.masks import others, transformers
from mechlearn_zoo_benchmarks.entrants.masks.networks import resnet
from mechlearn_zoo_benchmarks.entrants.masks.problem import Loss, Problem, single_examples
from mechlearn_zoo_benchmarks.entrants.masks.transformers import Size
from torch import Generator, Tensor, nn

THRESHOLD = 0.2
"""As in the papers' experiments on pictures."""

Make = Callable[[Size], nn.Module]


def _text(make: Make) -> Callable[[bool, int], Problem]:
    """16 environments of 4 examples of 32 tokens."""

    def problem(quick: bool, seed: int) -> Problem:
        size = Size(16, 2, 2, 20, 6) if quick else Size()
        environments, examples = (3, 2) if quick else (16, 4)
        count = environments * examples
        generator = Generator().manual_seed(seed)
        x, y = (torch.randint(0, size.vocabulary, (count, size.length), generator=generator) for _ in range(2))
        owners = torch.arange(environments).repeat_interleave(examples)
        return Problem(_seeded(lambda: make(size), seed), _by_position, x, y, owners, THRESHOLD)

    return problem


def _picture(make: Callable[[bool], nn.Module]) -> Callable[[bool, int], Problem]:
    """64 environments of one picture of 3x32x32."""

    def problem(quick: bool, seed: int) -> Problem:
        count, side = (6, 8) if quick else (64, 32)
        return _classes(_seeded(lambda: make(quick), seed), (count, 3, side, side), single_examples(count), seed)

    return problem


def _sequence(kind: type[nn.RNNBase]) -> Callable[[bool, int], Problem]:
    """16 environments of 4 sequences of 64 steps."""

    def problem(quick: bool, seed: int) -> Problem:
        environments, steps, inputs, hidden = (3, 5, 4, 6) if quick else (16, 64, 128, 256)
        count = environments * 4
        owners = torch.arange(environments).repeat_interleave(4)
        model = _seeded(lambda: others.Recurrent(kind, inputs, hidden), seed)
        return _classes(model, (count, steps, inputs), owners, seed)

    return problem


def _packed(quick: bool, seed: int) -> Problem:
    """8 environments of 16 texts of 10 to 64 tokens."""
    environments, examples, steps, vocabulary, width = (3, 2, 12, 20, 4) if quick else (8, 16, 64, 100, 64)
    generator, count = Generator().manual_seed(seed), environments * examples
    lengths = torch.randint(10, steps + 1, (count, 1), generator=generator)
    x = torch.randint(1, vocabulary, (count, steps), generator=generator) * (torch.arange(steps) < lengths)
    y = torch.randint(0, 10, (count,), generator=generator)
    owners = torch.arange(environments).repeat_interleave(examples)
    return Problem(_seeded(lambda: others.Reader(vocabulary, width, 2 * width), seed), _cross_entropy, x, y, owners, THRESHOLD)


def _vit(quick: bool) -> nn.Module:
    """ViT-Tiny with patches of 4, so that 32x32 pictures have 64."""
    return transformers.VisionTransformer(Size(16, 2, 2, 10, 4) if quick else Size(192, 12, 3, 10, 64))


MODELS: dict[str, Callable[[bool, int], Problem]] = {
    "rms-lm": _text(transformers.rms_language),
    "encoder": _text(lambda size: transformers.Encoder(size, decoder=False)),
    "decoder": _text(lambda size: transformers.Encoder(size, decoder=True)),
    "gpt2": _text(transformers.gpt2),
    "bert": _text(transformers.Bert),
    "llama": _text(transformers.llama),
    "lora": _text(others.adapted),
    "vit-tiny": _picture(_vit),
    "resnet20-gn": _picture(lambda quick: resnet(blocks=1, width=8) if quick else resnet()),
    "convnext": _picture(lambda quick: others.convnext(8, 1) if quick else others.convnext(64, 3)),
    "gru": _sequence(nn.GRU),
    "lstm": _sequence(nn.LSTM),
    "packed": _packed,
}
"""From a model's name to the function (quick, seed) -> problem."""


def _seeded(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Return a network with its layers' own first weights, drawn from a seed."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()


def _classes(model: nn.Module, shape: tuple[int, ...], owners: Tensor, seed: int) -> Problem:
    generator = Generator().manual_seed(seed)
    x = torch.randn(*shape, generator=generator)
    y = torch.randint(0, 10, (shape[0],), generator=generator)
    loss: Loss = _cross_entropy
    return Problem(model, loss, x, y, owners, THRESHOLD)


def _cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
    return F.cross_entropy(outputs, targets, reduction="none")


def _by_position(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return each example's mean over positions."""
    return F.cross_entropy(outputs.flatten(0, 1), targets.flatten(), reduction="none").view(targets.shape).mean(1)
