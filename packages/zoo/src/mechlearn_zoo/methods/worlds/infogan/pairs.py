"""Causal InfoGAN's losses of a batch of pairs. Index convention: b a sample, k one of K states, o an observation."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import logsigmoid

from mechlearn.arguments import (
    check_all_finite,
    check_floats,
    check_generator,
    check_kind,
    check_not_negative,
    check_result,
    check_whole,
)
from mechlearn_zoo.methods.worlds.infogan.states import States, Transition


class CausalInfoGAN(NamedTuple):
    """The five networks.

    Attributes:
        generator: G from [n, s, s'] (b, noise + 2 k) to a pair [o, o'] (b, 2 o).
        discriminator: D from a pair (b, 2 o) to a logit (b, 1) that it is real.
        posterior: Q from an observation (b, o) to what `states.log_posterior` reads.
        transition: T.
        states: P(s), and how Q is read.
    """

    generator: nn.Module
    discriminator: nn.Module
    posterior: nn.Module
    transition: Transition
    states: States


class PairLosses(NamedTuple):
    """Four scalars.

    Attributes:
        discriminator: - E log D(real) - E log(1 - D(made)), for D alone: what is made is detached.
        generator: - E log D(made), the non-saturating form of the published code.
        information: I, the bound, to be raised: subtract it with a weight, 0.1 in the published code.
        entropy: H(s'|s), which is part of I.
    """

    discriminator: Float[Tensor, ""]
    generator: Float[Tensor, ""]
    information: Float[Tensor, ""]
    entropy: Float[Tensor, ""]


def pair_losses(
    networks: CausalInfoGAN, real_pairs: Float[Tensor, "..."], generator: Generator, noise: int = 2, jitter: float = 0.0
) -> PairLosses:
    """Return the losses of one batch of pairs.

    Args:
        networks: G, D, Q, T and P.
        real_pairs: (b, 2, o) observations and what came some steps later.
        generator: of states, noise and jitter.
        noise: dimensions of n, standard normal.
        jitter: standard deviation of noise that D sees on real and made pairs; keeps it from telling them apart by a hair.

    Raises:
        TypeError: arguments of another type.
        ValueError: pairs of another shape, or not finite; a generator on another device; losses that are not finite.
    """
    check_kind("networks", networks, CausalInfoGAN, "a CausalInfoGAN(generator, discriminator, ...)")
    check_floats("real_pairs", real_pairs, "...")
    check_generator("generator", generator, beside=real_pairs)
    check_whole("noise", noise, 0)
    check_not_negative("jitter", jitter)
    if real_pairs.dim() != 3 or real_pairs.shape[1] != 2 or not len(real_pairs):
        raise ValueError(f"`real_pairs` should have the shape (b, 2, o). Found {tuple(real_pairs.shape)}. Stack o and o'.")
    check_all_finite("real_pairs", real_pairs, way_out="Leave such pairs out.")
    states = networks.states.sample(len(real_pairs), generator).to(real_pairs)
    following = networks.transition.sample(states, generator)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=real_pairs.dtype, device=real_pairs.device)

    made = networks.generator(torch.cat((normal(len(states), noise), states, following), -1))

    def judged(pairs: Tensor) -> Tensor:
        return networks.discriminator(pairs + jitter * normal(*pairs.shape) if jitter else pairs)

    first, second = made.chunk(2, -1)
    read = networks.states.log_posterior(networks.posterior(first), states)
    read_next = networks.states.log_posterior(networks.posterior(second), following)
    entropy = networks.transition.entropy(states).mean()
    losses = PairLosses(
        -logsigmoid(judged(real_pairs.flatten(1))).mean() - logsigmoid(-judged(made.detach())).mean(),
        -logsigmoid(judged(made)).mean(),
        read.mean() + read_next.mean() + networks.states.entropy + entropy,
        entropy,
    )
    way_out = "Look at the networks' weights, and lower the learning rate."
    check_result(torch.stack(losses), {"real_pairs": real_pairs}, way_out=way_out)
    return losses
