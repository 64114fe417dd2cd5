"""Linear unit tests for out-of-distribution methods: a linear model is enough, and pooled training takes the shortcut.

Three problems of Aubin, Slowik, Arjovsky, Bottou and Lopez-Paz 2021
([arXiv:2102.10867](https://arxiv.org/abs/2102.10867)), with five invariant and five spurious inputs each, from their
description. Example 1 is a regression in which causes come before and effects after the target, with another variance in each
environment. Example 2 has cows and camels on grass and sand: the animal is drawn a hundred times smaller than the background,
which goes with it in 95 to 99 % of the examples. Example 3 has a small margin that all environments share and a large one that
each has of its own. In the scrambled versions all inputs are rotated together.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_one_of, check_whole

INVARIANT, SPURIOUS = 5, 5

Example = Literal["regression", "cows", "margin"]
EXAMPLES: tuple[Example, ...] = ("regression", "cows", "margin")


class UnitTest(NamedTuple):
    """E environments of n examples, invariant inputs first.

    Attributes:
        x: training inputs.
        y: targets: real numbers of the regression, else 0 or 1.
        test_x: inputs of the same examples with the spurious ones shuffled within each environment.
    """

    x: Float[Tensor, "e n 10"]
    y: Float[Tensor, "e n"]
    test_x: Float[Tensor, "e n 10"]


def unit_test(example: str, environments: int, examples: int, generator: Generator) -> UnitTest:
    """Draw one of the problems.

    Args:
        example: "regression", "cows" or "margin": examples 1, 2 and 3.
        environments: E; the first three have the paper's settings, further ones are drawn from its ranges.
        examples: n, of each environment.
        generator: of every draw.
    """
    return _drawn(example, environments, examples, (generator,))[0]


def unit_test_twice(
    example: str, environments: int, examples: int, generator: Generator, other: Generator
) -> tuple[UnitTest, UnitTest]:
    """Draw one of the problems, as `unit_test` does, and other examples of the same environments: for validation, say.

    Args:
        example: as `unit_test` has it; so have environments and examples.
        environments: E.
        examples: n, of each environment and draw.
        generator: of the environments and of the first examples, which are those of `unit_test`.
        other: of the other examples.
    """
    first, second = _drawn(example, environments, examples, (generator, other))
    return first, second


def _drawn(example: str, environments: int, examples: int, generators: tuple[Generator, ...]) -> list[UnitTest]:
    for generator in generators:
        check_generator("generator", generator)
    check_one_of("example", example, EXAMPLES)
    check_whole("environments", environments, least=1)
    check_whole("examples", examples, least=2)
    mechanisms = {"regression": _regression, "cows": _cows, "margin": _margin}[example](environments, generators[0])
    # an environment is drawn right before its examples: the first generator's draws do not depend on further ones
    rows = [[draw(examples, generator) for generator in generators] for draw in mechanisms]
    found: list[UnitTest] = []
    for generator, own in zip(generators, zip(*rows, strict=True), strict=True):
        x, y = (torch.stack(some) for some in zip(*own, strict=True))
        test_x = x.clone()
        for e in range(environments):
            test_x[e, :, INVARIANT:] = x[e, torch.randperm(examples, generator=generator), INVARIANT:]
        found.append(UnitTest(x, y, test_x))
    return found


def parts(data: UnitTest, count: int) -> list[UnitTest]:
    """Cut every environment's examples into equal parts, in their order: for training, validation and test."""
    check_whole("count", count, least=1)
    examples = data.x.shape[1]
    if examples % count:
        raise ValueError(f"`count` should divide the {examples} examples of an environment. Found {count}. Draw a multiple.")
    cut = (values.split(examples // count, dim=1) for values in data)
    return [UnitTest(*own) for own in zip(*cut, strict=True)]


def scrambled(data: UnitTest, generator: Generator) -> UnitTest:
    """Rotate all inputs by one orthogonal matrix, drawn uniformly: examples 1s, 2s and 3s."""
    check_generator("generator", generator)
    size = data.x.shape[-1]
    q, r = torch.linalg.qr(torch.randn(size, size, generator=generator))
    turn = (q * r.diagonal().sign()).to(data.x)
    return data._replace(x=data.x @ turn, test_x=data.test_x @ turn)


def _normal(generator: Generator, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator)


def _uniform(low: float, high: float, count: int, generator: Generator) -> list[float]:
    return torch.empty(count).uniform_(low, high, generator=generator).tolist()


Draw = Callable[[int, Generator], tuple[Tensor, Tensor]]
"""Draws so many examples of one environment."""


def _regression(environments: int, generator: Generator) -> Iterator[Draw]:
    causal = _normal(generator, INVARIANT, INVARIANT) / INVARIANT
    effect = _normal(generator, INVARIANT, SPURIOUS) / SPURIOUS
    more = _uniform(-2.0, 1.0, max(0, environments - 3), generator)

    def draw(deviation: float, examples: int, generator: Generator) -> tuple[Tensor, Tensor]:
        cause = _normal(generator, examples, INVARIANT) * deviation
        target = cause @ causal + _normal(generator, examples, INVARIANT) * deviation
        return torch.cat([cause, target @ effect + _normal(generator, examples, SPURIOUS)], 1), target.sum(1)

    for deviation in [0.1, 1.5, 2.0, *(10**exponent for exponent in more)][:environments]:
        yield partial(draw, deviation)


def _cows(environments: int, generator: Generator) -> Iterator[Draw]:
    further = max(0, environments - 3)
    usual = [0.95, 0.97, 0.99, *_uniform(0.9, 1.0, further, generator)][:environments]
    cows = [0.3, 0.5, 0.7, *_uniform(0.3, 0.7, further, generator)][:environments]
    animal, ground = torch.tensor([1.0, 1.0, -1.0, -1.0]), torch.tensor([1.0, -1.0, -1.0, 1.0])

    def draw(p: float, s: float, examples: int, generator: Generator) -> tuple[Tensor, Tensor]:
        chances = torch.tensor([p * s, (1 - p) * s, p * (1 - s), (1 - p) * (1 - s)])
        kind = torch.multinomial(chances, examples, replacement=True, generator=generator)
        front = (_normal(generator, examples, INVARIANT) / math.sqrt(10) + animal[kind][:, None]) * 1e-2
        back = _normal(generator, examples, SPURIOUS) / math.sqrt(10) + ground[kind][:, None]
        return torch.cat([front, back], 1), (front.sum(1) > 0).float()

    for p, s in zip(usual, cows, strict=True):
        yield partial(draw, p, s)


def _margin(environments: int, generator: Generator) -> Iterator[Draw]:
    def draw(own: Tensor, examples: int, generator: Generator) -> tuple[Tensor, Tensor]:
        labels = (torch.arange(examples) % 2).float()
        side = (2 * labels - 1)[:, None]
        noise = 0.1 * _normal(generator, examples, INVARIANT + SPURIOUS)
        return torch.cat([(side * 0.1).expand(-1, INVARIANT), side * own], 1) + noise, labels

    for _ in range(environments):
        yield partial(draw, _normal(generator, 1, SPURIOUS))
