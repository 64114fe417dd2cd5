"""Mixtures of normals, one for each trailing dimension: densities, samples, and a layer that gives them.

Index convention: ``...`` any leading dimensions, the last of them usually the d dimensions of a latent; k a component of K. The
weights are logits: a constant added to all K of them changes nothing (equation 22 of Graves 2013,
https://arxiv.org/abs/1308.0850; the mixture of a recurrent world model, https://arxiv.org/abs/1809.01999).

>>> import torch
>>> logits, means, log_scales = torch.zeros(2), torch.tensor([-1.0, 1.0]), torch.zeros(2)
>>> round(float(mixture_log_prob(logits, means, log_scales, torch.tensor(1.0)).exp()), 4)
0.2265
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import softmax

from mechlearn.arguments import (
    FLOATS,
    all_finite,
    check_all_finite,
    check_finite,
    check_floats,
    check_generator,
    check_kind,
    check_not_negative,
    check_whole,
)
from mechlearn.nn.perceptrons import linear

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


class Mixture(NamedTuple):
    """Parameters of mixtures: logits of the weights, means, and logarithms of the standard deviations, (..., K) each."""

    log_weights: Float[Tensor, "*batch k"]
    means: Float[Tensor, "*batch k"]
    log_scales: Float[Tensor, "*batch k"]


def mixture_log_prob(
    log_weights: Float[Tensor, "*batch k"],
    means: Float[Tensor, "*batch k"],
    log_scales: Float[Tensor, "*batch k"],
    y: Float[Tensor, "*batch"],
) -> Float[Tensor, "*batch"]:
    """Return log p(y) = log sum_k pi_k N(y; mu_k, sigma_k^2), one density for each element of y.

    Finite for log scales from -20 to 40 and values a few units from the means in float32; one pass of logsumexp for weights and
    densities, so that no exponential leaves the range.

    Args:
        log_weights: (..., K) logits of pi.
        means: (..., K) mu.
        log_scales: (..., K) log sigma.
        y: (...,) where the densities are read.

    Raises:
        TypeError: what is no tensor of floating numbers.
        ValueError: other shapes. Values are not looked at, which would cost as much as the densities: who makes a loss of them
            looks at that.
    """
    _check_mixture(log_weights, means, log_scales)
    if not _plain(y, means) or y.shape != means.shape[:-1]:
        check_floats("y", y, *means.shape[:-1], like=means, way_out="One value for each mixture.")
    standard = (y.unsqueeze(-1) - means) * torch.exp(-log_scales)
    joint = torch.addcmul(log_weights - log_scales, standard, standard, value=-0.5)
    return torch.logsumexp(joint, -1) - torch.logsumexp(log_weights, -1) - LOG_SQRT_2PI


def tempered(
    log_weights: Float[Tensor, "*batch k"],
    means: Float[Tensor, "*batch k"],
    log_scales: Float[Tensor, "*batch k"],
    temperature: float,
) -> Mixture:
    """Return the mixture at a temperature: logits over tau, standard deviations times sqrt(tau).

    At 1 nothing changes. At 0 what remains is the mean of the heaviest component: its weight is 1, its width 0 (log scales of
    minus infinity: for samples, not for densities).

    Args:
        log_weights: (..., K) logits.
        means: (..., K).
        log_scales: (..., K).
        temperature: tau, at least 0.

    Raises:
        TypeError: a temperature that is no number, parameters that are no floating numbers.
        ValueError: a temperature below 0, parameters of different shapes. What they are is not looked at.
    """
    _check_mixture(log_weights, means, log_scales)
    check_not_negative("temperature", temperature, why="weights are divided by it", way_out="1 is the mixture as it is.")
    if temperature == 1:
        return Mixture(log_weights, means, log_scales)
    if temperature == 0:
        heaviest = torch.full_like(log_weights, -math.inf)
        heaviest.scatter_(-1, log_weights.argmax(-1, keepdim=True), 0.0)
        return Mixture(heaviest, means, torch.full_like(log_scales, -math.inf))
    return Mixture(at_temperature(log_weights, temperature), means, log_scales + 0.5 * math.log(temperature))


def at_temperature(logits: Float[Tensor, "*batch k"], temperature: float) -> Float[Tensor, "*batch k"]:
    """Return logits over a temperature above 0, up to a constant: their softmax and their greatest are those of the quotient.

    Where the quotient leaves the range of its type, at 1e-39 for example, the row's greatest logit is taken off first: it
    becomes 0, and the others minus infinity or what remains of them. The look at that costs a pass, and is not taken where
    values cannot be looked at (`mechlearn.arguments.all_finite`).
    """
    # An infinite one would make a NaN of minus infinity.
    temperature = min(temperature, torch.finfo(torch.promote_types(logits.dtype, torch.float32)).max)
    quotient = logits / temperature
    if temperature >= 1 or all_finite(quotient.amax(-1, keepdim=True)):
        return quotient
    greatest = logits.detach().amax(-1, keepdim=True)
    lost = greatest.isfinite() & ~quotient.detach().amax(-1, keepdim=True).isfinite()
    below = logits - greatest
    return torch.where(lost, (below / temperature).masked_fill(below == 0, 0.0), quotient)


def mixture_sample(
    log_weights: Float[Tensor, "*batch k"],
    means: Float[Tensor, "*batch k"],
    log_scales: Float[Tensor, "*batch k"],
    generator: Generator,
) -> Float[Tensor, "*batch"]:
    """Draw one value of each mixture.

    Args:
        log_weights: (..., K) logits; a component of weight minus infinity is never drawn.
        means: (..., K).
        log_scales: (..., K).
        generator: of one uniform and one normal number for each value, on the mixtures' device.

    Raises:
        TypeError: parameters that are no floating numbers, no generator.
        ValueError: other shapes, a generator on another device; weights with NaN or without any, means or scales that are not
            finite: a sample enters some state.
    """
    check_drawable(Mixture(log_weights, means, log_scales), generator)
    shape = means.shape[:-1]
    uniform = torch.rand(shape, generator=generator, dtype=means.dtype, device=means.device)
    normal = torch.randn(shape, generator=generator, dtype=means.dtype, device=means.device)
    return mixture_quantile(Mixture(log_weights, means, log_scales), uniform, normal)


def check_drawable(mixture: Mixture, generator: Generator) -> None:
    """Refuse, before anything is drawn, what a sample of a mixture would not be finite for; see `mixture_sample`."""
    check_kind("mixture", mixture, Mixture, "a Mixture(log_weights, means, log_scales)")
    log_weights, means, log_scales = mixture
    _check_mixture(log_weights, means, log_scales)
    check_generator("generator", generator, beside=means)
    check_all_finite("means", means)
    if not all_finite(log_scales.detach().exp()):
        raise ValueError(
            "`log_scales` should have finite exponentials. Found NaN, or one that overflows. Bound the log scales."
        )
    if not all_finite(log_weights.detach().amax(-1)):
        raise ValueError(
            "`log_weights` should be numbers, minus infinity for some components at most. Found NaN, infinity, or no component."
        )


def mixture_quantile(mixture: Mixture, uniform: Float[Tensor, "..."], normal: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return what given random numbers draw: the component from the uniform one, the place in it from the normal one.

    With the same numbers for several mixtures their samples can be compared: populations share them, see
    `mechlearn_zoo.methods.worlds.dreaming`.

    Args:
        mixture: (..., K).
        uniform: (...,) in [0, 1); broadcast against the mixtures.
        normal: (...,) the same.

    Raises:
        TypeError: no mixture, or what is no tensor of floating numbers.
        ValueError: other shapes. Values are not looked at: a dream takes this in every step.
    """
    check_kind("mixture", mixture, Mixture, "a Mixture(log_weights, means, log_scales)")
    _check_mixture(*mixture)
    for name, numbers in (("uniform", uniform), ("normal", normal)):
        _check_beside(name, numbers, mixture.means)
    below = softmax(mixture.log_weights, -1).cumsum(-1)
    below = below / below[..., -1:]  # so that rounding leaves nothing above 1, where a component of weight 0 may lie
    chosen = (uniform.unsqueeze(-1) >= below).sum(-1, keepdim=True)
    mean = mixture.means.gather(-1, chosen).squeeze(-1)
    return mean + mixture.log_scales.gather(-1, chosen).squeeze(-1).exp() * normal


class MixtureHead(nn.Module):
    """A linear layer to the parameters of a mixture for each output.

    Args:
        inputs: features that it reads.
        outputs: d, how many mixtures.
        mixtures: K components of each.
        generator: of the initial weights.
        least_log_scale: the log scales' floor; a likelihood is unbounded where frames stand still, and -7 keeps standard
            deviations above 0.0009.

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
        ValueError: sizes below 1, or a floor that is not finite.
    """

    def __init__(self, inputs: int, outputs: int, mixtures: int, generator: Generator, least_log_scale: float = -7.0) -> None:
        super().__init__()
        for name, size in {"inputs": inputs, "outputs": outputs, "mixtures": mixtures}.items():
            check_whole(name, size, 1)
        check_finite("least_log_scale", least_log_scale, way_out="-7 is usual.")
        self.outputs, self.mixtures, self.least_log_scale = outputs, mixtures, float(least_log_scale)
        self.linear = linear(inputs, 3 * outputs * mixtures, "default", generator)

    def forward(self, x: Float[Tensor, "*batch inputs"]) -> Mixture:
        """Return the mixtures, (..., outputs, K) each parameter; the log scales are clamped from below.

        Raises:
            TypeError: what is no tensor, or of another type than the weights.
            ValueError: another width. Values are not looked at, as in every layer.
        """
        check_floats("x", x, "...", self.linear.in_features, like=self.linear.weight)
        found = self.linear(x).unflatten(-1, (3, self.outputs, self.mixtures))
        log_weights, means, log_scales = found.unbind(-3)
        return Mixture(log_weights, means, log_scales.clamp(min=self.least_log_scale))


def _check_mixture(log_weights: Tensor, means: Tensor, log_scales: Tensor) -> None:
    parts = (means, log_weights, log_scales)
    # One comparison where all is well: this is a part of every step of a dream.
    if all(_plain(part, means) for part in parts) and (
        log_weights.shape == means.shape == log_scales.shape and means.numel() and means.dim()
    ):
        return
    check_floats("means", means, "...", "K")
    for name, part in (("log_weights", log_weights), ("log_scales", log_scales)):
        check_floats(name, part, *means.shape, like=means, way_out="One number for each mean.")


def _check_beside(name: str, numbers: Tensor, means: Tensor) -> None:
    batch = means.shape[:-1]
    if _plain(numbers, means):
        own = numbers.shape
        if own == batch or (len(own) <= len(batch) and all(a in (1, b) for a, b in zip(own[::-1], batch[::-1], strict=False))):
            return
    check_floats(name, numbers, *batch, like=means, way_out="Or what can be expanded to it.")


def _plain(part: object, like: Tensor) -> bool:
    """Whether this is a dense tensor of floats on another one's device."""
    if not isinstance(part, Tensor) or part.dtype not in FLOATS or part.device != like.device:
        return False
    return part.layout == torch.strided and not part.is_nested
