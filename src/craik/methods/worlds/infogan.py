"""Causal InfoGAN: abstract states whose transitions stand for what can be done, and plans through them (Kurutach et al. 2018).

From pairs of observations some steps apart, without rewards: s ~ P(s), s' ~ T(.|s), noise n, (o, o') = G(n, s, s'); D judges
pairs and Q(s|o) reads the state of either observation. With D's value V,
min_{G,T,Q} max_D V - lambda I,  I = E[log Q(s|o) + log Q(s'|o')] + H(s) + H(s'|s)  (equations 3 to 5 of https://arxiv.org/abs/1807.09341).
H(s'|s) depends on T and belongs to I: it keeps T from becoming deterministic.

`pair_losses` gives the scalars; you step two optimisers: D's with `discriminator`, that of G, T and Q with
``generator - weight * information``. It is a GAN: watch D's loss (2 log 2 = 1.39 where it is fooled), T's entropy and the
generated pairs, and
take k-means on the observations where it does as well. Index convention: b a sample, k one of K states, o an observation.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import log_softmax, logsigmoid, one_hot, softmax, softplus

from craik.arguments import check_finite, check_generator, check_not_negative, check_positive, check_share, check_whole
from craik.methods.paper import Paper
from craik.nn.perceptrons import relu_mlp

PAPER = Paper(
    "Causal InfoGAN",
    2018,
    "Kurutach et al., equations 3 to 5",
    "https://arxiv.org/abs/1807.09341",
    "a GAN's two steps, and Q's",
)


@runtime_checkable
class States(Protocol):
    """What abstract states are: `OneHot` or `Uniform`."""

    entropy: float

    def sample(self, count: int, generator: Generator) -> Tensor:
        """Return (b, k) states of P(s)."""
        ...

    def log_posterior(self, output: Tensor, states: Tensor) -> Tensor:
        """Return log Q(s|o) (b,) from what the network Q gives for o."""
        ...


@runtime_checkable
class Transition(Protocol):
    """T(s'|s): `TransitionTable` or `GaussianTransition`."""

    def sample(self, states: Tensor, generator: Generator) -> Tensor:
        """Return (b, k) next states, differentiable in T's parameters."""
        ...

    def entropy(self, states: Tensor) -> Tensor:
        """Return H(s'|s) (b,) at each state."""
        ...


class OneHot:
    """K states, one-hot, all equally likely.

    Args:
        states: K, two or more.
    """

    def __init__(self, states: int) -> None:
        check_whole("states", states, 2)
        self.states, self.entropy = states, math.log(states)

    def sample(self, count: int, generator: Generator) -> Float[Tensor, "b k"]:
        """Return states of P(s)."""
        return one_hot(torch.randint(self.states, (count,), generator=generator), self.states).float()

    def log_posterior(self, output: Float[Tensor, "b k"], states: Float[Tensor, "b k"]) -> Float[Tensor, " b"]:
        """Return log Q(s|o) from logits."""
        return (log_softmax(output, -1) * states).sum(-1)


class Uniform:
    """States in [-1, 1]^d, uniform. H(s) = d log 2; the published code leaves out the d, which has no gradient.

    Args:
        dimensions: d.
    """

    def __init__(self, dimensions: int) -> None:
        check_whole("dimensions", dimensions, 1)
        self.dimensions, self.entropy = dimensions, dimensions * math.log(2)

    def sample(self, count: int, generator: Generator) -> Float[Tensor, "b d"]:
        """Return states of P(s)."""
        return 2 * torch.rand(count, self.dimensions, generator=generator) - 1

    def log_posterior(self, output: Float[Tensor, "b dd"], states: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """Return log Q(s|o) of a normal distribution: its means, then the logarithms of its deviations."""
        mean, log_scale = output.chunk(2, -1)
        standard = (states - mean) * torch.exp(-log_scale)
        return (-0.5 * standard.square() - log_scale - 0.5 * math.log(2 * math.pi)).sum(-1)


class TransitionTable(nn.Module):
    """T of K states: a table of logits, sampled by the straight-through Gumbel-softmax.

    Args:
        states: K.
        stay: the logits' diagonal at first. Near 0, T is uniform and says nothing; at 3 a state mostly keeps itself, which
            breaks codes that interleave states at a fine scale (ours).
        temperature: of the softmax whose gradient is taken.

    Raises:
        TypeError: numbers of another type.
        ValueError: numbers out of range.
    """

    def __init__(self, states: int, stay: float = 3.0, temperature: float = 1.0) -> None:
        super().__init__()
        check_whole("states", states, 2)
        check_finite("stay", stay)
        check_positive("temperature", temperature)
        self.logits = nn.Parameter(stay * torch.eye(states))
        self.temperature = temperature

    def probabilities(self) -> Float[Tensor, "k k"]:
        """Return T(s'|s), a row each s."""
        return softmax(self.logits, -1)

    def sample(self, states: Float[Tensor, "b k"], generator: Generator) -> Float[Tensor, "b k"]:
        """Return one-hot next states, with the gradient of softmax((log T + g) / temperature)."""
        logits = log_softmax(states @ self.logits, -1)
        return straight_through(logits, self.temperature, generator)

    def entropy(self, states: Float[Tensor, "b k"]) -> Float[Tensor, " b"]:
        """Return H(s'|s) in nats at each state."""
        logs = log_softmax(self.logits, -1)
        return states @ -(logs.exp() * logs).sum(-1)


class GaussianTransition(nn.Module):
    """T of continuous states: N(s + tanh(mu(s)) / 10, sigma(s)^2), as in the published code.

    Args:
        dimensions: d.
        generator: of the initial weights.
        hidden: units of its one hidden layer.
    """

    def __init__(self, dimensions: int, generator: Generator, hidden: int = 64) -> None:
        super().__init__()
        check_whole("dimensions", dimensions, 1)
        self.network = relu_mlp((dimensions, hidden, 2 * dimensions), generator)

    def law(self, states: Float[Tensor, "b d"]) -> tuple[Float[Tensor, "b d"], Float[Tensor, "b d"]]:
        """Return means and standard deviations; weigh ``deviations.pow(4).sum(-1)`` (|var|^2) as the code's penalty."""
        move, spread = self.network(states).chunk(2, -1)
        return states + torch.tanh(move) / 10, softplus(spread) + 1e-4

    def sample(self, states: Float[Tensor, "b d"], generator: Generator) -> Float[Tensor, "b d"]:
        """Return next states, differentiable by their mean and deviation."""
        mean, deviation = self.law(states)
        return mean + deviation * torch.randn(mean.shape, generator=generator, dtype=mean.dtype)

    def entropy(self, states: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """Return H(s'|s) in nats at each state."""
        return (self.law(states)[1].log() + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)


def straight_through(logits: Float[Tensor, "b k"], temperature: float, generator: Generator) -> Float[Tensor, "b k"]:
    """Return one-hot samples of softmax(logits) whose gradient is that of the soft sample softmax((logits + g) / temperature).

    g is Gumbel noise of the generator. One-hot in the forward pass, exactly.
    """
    uniform = torch.rand(logits.shape, generator=generator, dtype=logits.dtype)
    gumbel = -torch.log(-torch.log(uniform.clamp(min=torch.finfo(logits.dtype).tiny)))
    soft = softmax((logits + gumbel) / temperature, -1)
    hard = one_hot(soft.argmax(-1), logits.shape[-1]).to(soft)
    return hard + (soft - soft.detach())


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
    networks: CausalInfoGAN,
    real_pairs: Float[Tensor, "..."],
    generator: Generator,
    noise: int = 2,
    jitter: float = 0.0,
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
        ValueError: pairs of another shape, or not finite.
    """
    check_generator("generator", generator)
    check_whole("noise", noise, 0)
    check_not_negative("jitter", jitter)
    if real_pairs.dim() != 3 or real_pairs.shape[1] != 2 or not len(real_pairs):
        raise ValueError(f"`real_pairs` should have the shape (b, 2, o). Found {tuple(real_pairs.shape)}. Stack o and o'.")
    if not bool(real_pairs.isfinite().all()):
        raise ValueError("`real_pairs` should be finite. Found NaN or infinity. Leave such pairs out.")
    states = networks.states.sample(len(real_pairs), generator).to(real_pairs)
    following = networks.transition.sample(states, generator)
    drawn = torch.randn(len(states), noise, generator=generator, dtype=real_pairs.dtype)
    made = networks.generator(torch.cat((drawn, states, following), -1))

    def judged(pairs: Tensor) -> Tensor:
        shaken = pairs + jitter * torch.randn(pairs.shape, generator=generator, dtype=pairs.dtype) if jitter else pairs
        return networks.discriminator(shaken)

    first, second = made.chunk(2, -1)
    read = networks.states.log_posterior(networks.posterior(first), states)
    read_next = networks.states.log_posterior(networks.posterior(second), following)
    entropy = networks.transition.entropy(states).mean()
    return PairLosses(
        -logsigmoid(judged(real_pairs.flatten(1))).mean() - logsigmoid(-judged(made.detach())).mean(),
        -logsigmoid(judged(made)).mean(),
        read.mean() + read_next.mean() + networks.states.entropy + entropy,
        entropy,
    )


class Plan(NamedTuple):
    """A path through abstract states, start and goal among them, and its log probability under T."""

    states: tuple[int, ...]
    log_probability: float


def waypoints(table: Float[Tensor, "k k"], start: int, goal: int, least: float = 0.0) -> Plan | None:
    """Return the likeliest path by Dijkstra's algorithm on - log T; None where there is none.

    Args:
        table: T(s'|s), a row each s; rows sum to 1.
        start: a state.
        goal: a state.
        least: transitions below this probability are not taken.

    Raises:
        ImportError: scipy is not installed.
        TypeError: states that are no whole numbers.
        ValueError: no table of probabilities, states that it does not have, or a bound outside [0, 1].
    """
    check_share("least", least)
    count = len(table)
    rows = table.detach().double()
    if (
        table.dim() != 2
        or table.shape[1] != count
        or bool((rows < 0).any())
        or not torch.allclose(rows.sum(1), rows.new_ones(count), atol=1e-4)
    ):
        raise ValueError(f"`table` should be square, of probabilities whose rows sum to 1. Found shape {tuple(table.shape)}.")
    for name, state in {"start": start, "goal": goal}.items():
        check_whole(name, state, 0)
        if state >= count:
            raise ValueError(f"`{name}` should be one of {count} states. Found {state}.")
    return _shortest(rows.numpy(), start, goal, least)


def _shortest(table: np.ndarray, start: int, goal: int, least: float) -> Plan | None:
    from scipy.sparse import csr_matrix  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415  # slow to import, and only plans need it
    from scipy.sparse.csgraph import dijkstra  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415

    rows, columns = np.nonzero((table > 0) & (table >= least))
    lengths = -np.log(np.minimum(table[rows, columns], 1))  # zeros stay: a sparse graph keeps those that are stored
    graph = csr_matrix((lengths, (rows, columns)), shape=table.shape)
    far, before = dijkstra(graph, indices=start, return_predecessors=True)
    if not np.isfinite(far[goal]):
        return None
    path = [goal]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return Plan(tuple(reversed(path)), -float(far[goal]))


def interpolate(a: Float[Tensor, " d"], b: Float[Tensor, " d"], count: int) -> Float[Tensor, "n d"]:
    """Return a plan through continuous states: a straight line of `count` states from a to b, both included.

    Raises:
        ValueError: fewer than two.
    """
    check_whole("count", count, 2)
    return torch.lerp(a, b, torch.linspace(0, 1, count, dtype=a.dtype).unsqueeze(1))


def most_plausible(discriminator: nn.Module, stages: Sequence[Tensor]) -> Float[Tensor, "n o"]:
    """Return one observation of each stage, so that D likes the least plausible leg best: exactly, of all choices.

    A widest path from stage to stage: as many calls of D as there are legs, m x m pairs each.

    Args:
        discriminator: from pairs (b, 2 o) to logits (b, 1).
        stages: (m, o) candidates for each point of a plan; those of start and goal have one row.

    Raises:
        ValueError: fewer than two stages, or an empty one.
    """
    if len(stages) < 2 or not all(len(stage) for stage in stages):
        raise ValueError(f"`stages` should be two or more, none empty. Found sizes {[len(stage) for stage in stages]}.")
    widest, before = torch.full((len(stages[0]),), math.inf), list[Tensor]()
    for here, there in pairwise(stages):
        pairs = torch.cat((here.unsqueeze(1).expand(-1, len(there), -1), there.expand(len(here), -1, -1)), -1)
        with torch.no_grad():
            logits = discriminator(pairs.flatten(0, 1)).view(len(here), len(there))
        widest, best = torch.minimum(widest.unsqueeze(1), logits).max(0)
        before.append(best)
    chosen = [int(widest.argmax())]
    for best in reversed(before):
        chosen.append(int(best[chosen[-1]]))
    return torch.stack([stage[index] for stage, index in zip(stages, reversed(chosen), strict=True)])
