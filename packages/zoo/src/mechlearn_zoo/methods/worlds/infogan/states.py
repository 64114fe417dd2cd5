"""Abstract states s and how they follow each other: P(s), Q(s|o) and T(s'|s).

Index convention: b a sample, k one of K states, d a dimension of continuous ones.
"""

import math
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import log_softmax, one_hot, softmax, softplus

from mechlearn.arguments import (
    all_finite,
    check_finite,
    check_floats,
    check_generator,
    check_positive,
    check_shape,
    check_whole,
)
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.nn import categorical
from mechlearn_zoo.nn.mixtures import at_temperature


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
        """Return states of P(s), on the generator's device.

        Raises:
            TypeError, ValueError: no whole number of them, at least 1; no generator.
        """
        check_whole("count", count, 1)
        check_generator("generator", generator)
        drawn = torch.randint(self.states, (count,), generator=generator, device=generator.device)
        return one_hot(drawn, self.states).float()

    def log_posterior(self, output: Float[Tensor, "b k"], states: Float[Tensor, "b k"]) -> Float[Tensor, " b"]:
        """Return log Q(s|o) from logits.

        Raises:
            TypeError: an output that is no tensor of floating numbers.
            ValueError: an output or states of another shape.
        """
        check_shape("states", states, "b", self.states)
        check_floats("output", output, len(states), self.states, way_out="Q gives a logit for each state.")
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
        """Return states of P(s), on the generator's device; raises as `OneHot.sample`."""
        check_whole("count", count, 1)
        check_generator("generator", generator)
        return 2 * torch.rand(count, self.dimensions, generator=generator, device=generator.device) - 1

    def log_posterior(self, output: Float[Tensor, "b dd"], states: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """Return log Q(s|o) of a normal distribution: its means, then the logarithms of its deviations.

        Raises:
            TypeError: an output that is no tensor of floating numbers.
            ValueError: an output or states of another shape.
        """
        check_shape("states", states, "b", self.dimensions)
        way_out = "Q gives a mean and a logarithm for each dimension."
        check_floats("output", output, len(states), 2 * self.dimensions, way_out=way_out)
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
        """Return one-hot next states, with the gradient of softmax((log T + g) / temperature).

        Raises:
            TypeError: states of another type than T, no generator.
            ValueError: other states, none, a generator on another device, a T that is not finite.
        """
        check_floats("states", states, "b", len(self.logits), like=self.logits)
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

    Raises:
        TypeError, ValueError: sizes that are no whole numbers, or below 1; no generator.
    """

    def __init__(self, dimensions: int, generator: Generator, hidden: int = 64) -> None:
        super().__init__()
        check_whole("dimensions", dimensions, 1)
        check_whole("hidden", hidden, 1)
        self.dimensions = dimensions
        self.network = relu_mlp((dimensions, hidden, 2 * dimensions), generator)

    def law(self, states: Float[Tensor, "b d"]) -> tuple[Float[Tensor, "b d"], Float[Tensor, "b d"]]:
        """Return means and standard deviations; weigh ``deviations.pow(4).sum(-1)`` (|var|^2) as the code's penalty."""
        move, spread = self.network(states).chunk(2, -1)
        return states + torch.tanh(move) / 10, softplus(spread) + 1e-4

    def sample(self, states: Float[Tensor, "b d"], generator: Generator) -> Float[Tensor, "b d"]:
        """Return next states, differentiable by their mean and deviation.

        Raises:
            TypeError: states that are no floating numbers, no generator.
            ValueError: other states, none, a generator on another device. What they are is not looked at: losses are.
        """
        check_floats("states", states, "b", self.dimensions, like=next(self.parameters()))
        check_generator("generator", generator, beside=states)
        mean, deviation = self.law(states)
        return mean + deviation * torch.randn(mean.shape, generator=generator, dtype=mean.dtype, device=mean.device)

    def entropy(self, states: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """Return H(s'|s) in nats at each state."""
        return (self.law(states)[1].log() + 0.5 * math.log(2 * math.pi * math.e)).sum(-1)


def straight_through(logits: Float[Tensor, "b k"], temperature: float, generator: Generator) -> Float[Tensor, "b k"]:
    """Return one-hot samples of softmax(logits) whose gradient is that of the soft sample softmax((logits + g) / temperature).

    g is Gumbel noise of the generator, - log - log of uniform numbers: `mechlearn_zoo.nn.categorical.gumbel_softmax` draws
    other ones. One-hot in the forward pass, exactly. Half types are drawn in float32, whose uniform numbers are many enough.

    Raises:
        TypeError: no floating numbers, no generator.
        ValueError: no logits, some that are not finite, a generator on another device.
    """
    check_floats("logits", logits, "b", "k")
    check_positive("temperature", temperature)
    check_generator("generator", generator, beside=logits)
    if not all_finite(logits.detach().amax(-1)):
        raise ValueError("`logits` should be numbers, minus infinity for some at most. Found NaN or infinity. Repair T.")
    wide = torch.promote_types(logits.dtype, torch.float32)
    uniform = torch.rand(logits.shape, generator=generator, dtype=wide, device=logits.device)
    gumbel = -torch.log(-torch.log(uniform.clamp(min=torch.finfo(wide).tiny)))
    return categorical.straight_through(softmax(at_temperature(logits + gumbel, temperature), -1)).to(logits.dtype)
