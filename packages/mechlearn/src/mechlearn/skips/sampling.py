"""`Sampled`: feedback that draws the next input at random, from each trajectory's own stream of numbers."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import Choice, check_callable, check_each, check_one_of

Noise = Literal["normal", "uniform"]


@dataclass(frozen=True, eq=False)
class Sampled(Choice):
    """A `feedback` of `Dynamics` for stochastic models: the next input is a sample of what was predicted.

    Every trajectory has a stream of noise of its own, seeded by one number that is drawn from the generator that `match` or
    `rollout` is given: trajectory by trajectory, or from its own where there is a generator for each. So neither its company in
    the batch nor when others stop changes what a trajectory samples. Noise is drawn on the CPU.

    Args:
        sample: from predictions and noise to frames: ``lambda z, noise: z[:, 0] + (z[:, 1] / 2).exp() * noise`` for the
            predictions of `GaussianNLL`, whose gradient passes through the sample; ``lambda z, noise: (noise <
            z.sigmoid()).float()`` with uniform noise for Bernoulli pixels.
        noise: standard "normal", or "uniform" in [0, 1).
        shape: of one trajectory's noise; None for a frame's.

    Raises:
        TypeError: a sampler that cannot be called.
        ValueError: another word.
    """

    sample: Callable[[Tensor, Tensor], Tensor]
    noise: Noise = "normal"
    shape: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        check_callable("sample", self.sample, "a function of predictions and noise")
        if self.shape is not None:
            check_each("shape", self.shape, int, "whole numbers, or None")
        check_one_of("noise", self.noise, get_args(Noise))

    def drawn(
        self, prediction: Tensor, frame_shape: Sequence[int], streams: Sequence[Generator | None]
    ) -> Float[Tensor, "n *frame"]:
        """Return a sample for each prediction, with the next noise of its stream; without one, with zeros."""
        draw = torch.randn if self.noise == "normal" else torch.rand
        shape = tuple(frame_shape) if self.shape is None else self.shape
        noise = torch.stack([torch.zeros(shape) if each is None else draw(shape, generator=each) for each in streams])
        noise = noise.to(prediction.device, prediction.dtype)
        if self.noise == "uniform":  # in a half type numbers near 1 would round to it
            noise = noise.clamp(max=1 - torch.finfo(noise.dtype).eps / 2)
        return self.sample(prediction, noise)


def stream(generator: Generator) -> Generator:
    """Return a stream of numbers that is seeded by one number of a generator."""
    return Generator().manual_seed(int(torch.randint(2**62, (), generator=generator)))


def generators_of(generator: object, count: int) -> list[Generator]:
    """Return a generator for each of some trajectories: one that all share, or one each.

    Raises:
        TypeError: no generator, or something else.
        ValueError: another number of generators than trajectories, or one that is not on the CPU.
    """
    if generator is None:
        raise TypeError(
            "`generator` should be given where random numbers are drawn: exploration above 0, teacher forcing between 0 and 1, "
            "or feedback that samples. Found None. Pass torch.Generator().manual_seed(0)."
        )
    found: list[Any] = list(generator) if isinstance(generator, Iterable) else [generator]
    wrong = [type(each).__name__ for each in found if not isinstance(each, Generator)]
    if wrong:
        raise TypeError(
            f"`generator` should be a torch.Generator, or a list of them, one for each trajectory. Found {wrong[0]}. Pass "
            "torch.Generator().manual_seed(0)."
        )
    if isinstance(generator, Generator):
        found *= count
    if len(found) != count:
        raise ValueError(f"`generator` should be one, or one for each of the {count} trajectories. Found {len(found)}.")
    for each in found[:1] if isinstance(generator, Generator) else found:
        if each.device.type != "cpu":
            raise ValueError(
                "`generator` should be on the CPU, so that every device draws the same numbers. "
                f"Found one on {each.device}. Pass torch.Generator().manual_seed(0)."
            )
    return found
