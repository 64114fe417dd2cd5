"""Discrete choices that gradients go through: the Gumbel-softmax and its straight-through form, from a generator.

Sources: Jang et al. 2017 (https://arxiv.org/abs/1611.01144, equation 1) and Maddison et al. 2017
(https://arxiv.org/abs/1611.00712); straight-through, Bengio et al. 2013 (https://arxiv.org/abs/1308.3432). PyTorch's own
`gumbel_softmax` draws from the global generator.

When not to use it: the soft sample's gradient is that of another, smoothed problem, and the straight-through one is biased.
Where choices are few, sum over them.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from mechlearn.arguments import all_finite, check_flag, check_floats, check_generator, check_ids, check_positive, check_whole
from mechlearn_zoo.nn.mixtures import at_temperature


def gumbel_softmax(
    logits: Float[Tensor, "*batch k"], temperature: float, generator: Generator, hard: bool = False
) -> Float[Tensor, "*batch k"]:
    """Return softmax((log p + g) / tau) with standard Gumbel noise g: a relaxed one-hot sample of softmax(logits).

    Args:
        logits: (..., K); minus infinity where a choice is not allowed.
        temperature: tau, positive. Small: nearly one-hot, with gradients that are rare and large.
        generator: of the noise, on the logits' device.
        hard: return the one-hot of the largest of log p + g, with the soft sample's gradient (straight-through). Its
            frequencies are softmax(logits) whatever tau is.

    Raises:
        TypeError: arguments of another kind.
        ValueError: no choices, a temperature that is not positive, logits with NaN or with nothing allowed.

    >>> import torch
    >>> gumbel_softmax(torch.tensor([0.0, 50.0]), 1.0, torch.Generator().manual_seed(0), hard=True)
    tensor([0., 1.])
    """
    check_positive("temperature", temperature, way_out="For the limit 0 take the one-hot of the largest logit.")
    check_flag("hard", hard)
    perturbed = _perturbed(logits, generator)
    soft = at_temperature(perturbed, temperature).softmax(-1).to(logits.dtype)
    # Not the largest of the soft sample: at a large temperature its components round to one number, and the first would win.
    return _StraightThrough.apply(soft, perturbed.argmax(-1)) if hard else soft


def gumbel_noise(logits: Float[Tensor, "*batch k"], generator: Generator) -> Float[Tensor, "*batch k"]:
    """Return standard Gumbel noise like the logits; logits + noise has its largest component distributed as softmax(logits).

    For logits of a half type it is in float32, so that the sum is, too: in bfloat16 it would round to a few numbers, of whose
    ties the first is taken. Where all logits are large, subtract the largest before adding: `sample_categorical` does.

    Raises:
        TypeError: no logits, no generator.
        ValueError: no choices, logits with NaN or with nothing allowed, a generator on another device.
    """
    _check_logits(logits)
    check_generator("generator", generator, beside=logits)
    wide = torch.promote_types(logits.dtype, torch.float32)
    exponential = torch.empty(logits.shape, dtype=wide, device=logits.device).exponential_(generator=generator)
    return -exponential.clamp_(min=torch.finfo(wide).tiny).log_()


def sample_categorical(logits: Float[Tensor, "*batch k"], generator: Generator) -> Int[Tensor, "*batch"]:
    """Return draws of softmax(logits), (...), by the largest of logits + Gumbel noise: no gradient; see `gumbel_noise`."""
    return _perturbed(logits, generator).argmax(-1)


_COARSE = 2**-15
"""From which rounding on a row's largest logit is subtracted: from 256 on in float32, from 1.4e11 on in float64."""


def _perturbed(logits: Tensor, generator: Generator) -> Tensor:
    """Return logits + noise, in float32 at least, of rows with large logits after subtracting the largest.

    A number for all choices changes no probability, but how the sum rounds. Rows of ordinary logits are left as they are.
    """
    noise = gumbel_noise(logits, generator)
    wide = logits.to(noise.dtype)
    largest = wide.detach().amax(-1, keepdim=True)
    return wide - largest.where(largest.abs() * torch.finfo(wide.dtype).eps >= _COARSE, 0.0) + noise


def chosen(logs: Float[Tensor, "*batch k"], taken: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Return the log-probability of each draw, (...), of log-probabilities (..., k).

    Raises:
        TypeError: no floating numbers, draws that are no whole ones.
        ValueError: other shapes, draws that there are not. What the log-probabilities are is not looked at.
    """
    check_floats("logs", logs, "...", "k")
    check_ids("taken", taken, *logs.shape[:-1], count=logs.shape[-1])
    return logs.gather(-1, taken[..., None].long()).squeeze(-1)


def straight_through(soft: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch k"]:
    """Return the one-hot of the largest component, exactly, with the gradient of ``soft`` itself; its values are not looked at.

    Raises:
        TypeError: no tensor of floating numbers.
        ValueError: none of them.

    >>> import torch
    >>> soft = torch.tensor([0.2, 0.8], requires_grad=True)
    >>> (straight_through(soft) * torch.tensor([3.0, 5.0])).sum().backward()
    >>> soft.grad
    tensor([3., 5.])
    """
    check_floats("soft", soft, "...", "k")
    return _StraightThrough.apply(soft, soft.argmax(-1))


class _StraightThrough(torch.autograd.Function):
    # Not soft + (hard - soft).detach(): in floating point that is not exactly one-hot.
    generate_vmap_rule = True

    @staticmethod
    def forward(soft: Tensor, taken: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        return one_hot(taken, soft.shape[-1]).to(soft.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:  # noqa: ANN401
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:  # noqa: ANN401 # pyright: ignore[reportIncompatibleMethodOverride]
        return gradients[0], None


def used_symbols(symbols: Int[Tensor, "*draws"], count: int, least: float = 0.01) -> int:
    """Return how many of ``count`` symbols make up at least a share ``least`` of what was said.

    Args:
        symbols: ids from 0 to count - 1, at least one.
        count: size of the vocabulary.
        least: the share, above 0, below which a symbol counts as unused.

    Raises:
        TypeError: symbols that are no whole numbers.
        ValueError: none, or ids out of range.
    """
    check_whole("count", count, least=1)
    check_positive("least", least)
    check_ids("symbols", symbols, "...", count=count, way_out="Pass one-hot symbols with .argmax(-1).")
    shares = torch.bincount(symbols.flatten().long(), minlength=count) / symbols.numel()
    return int((shares >= least).sum())


def _check_logits(logits: Tensor) -> None:
    check_floats("logits", logits, "...", "K", way_out="Put the choices last.")
    if not all_finite(logits.detach().amax(-1)):
        raise ValueError(
            "`logits` should be numbers, minus infinity for some choices at most. Found NaN, infinity, or no choice."
        )
