"""Dreams of an M with skips: each step goes as far as M says it does, so that time and reward are known.

Index conventions: b a dream, u a step of M, t the frame that a step stands at, counted from 0.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_floats,
    check_generator,
    check_kind,
    check_not_negative,
    check_shape,
    check_whole,
)
from mechlearn.skips import Actions
from mechlearn_zoo.methods.worlds.skipping.memory import SkippingRNN
from mechlearn_zoo.nn.mixtures import Mixture, at_temperature, check_drawable, mixture_log_prob, mixture_quantile, tempered


class SkippedDream(NamedTuple):
    """What was dreamt.

    Attributes:
        latents: (b, u + 1, l) from the start on; behind a dream's end its last one stands.
        times: (b, u + 1) the frame that each stands at, from 0; as many frames as it took to come there.
        rewards: (b, u) the reward of each step; 0 behind a dream's end, None where M predicts none.
        steps: (b,) how often M was evaluated in each dream.
    """

    latents: Float[Tensor, "b v l"]
    times: Int[Tensor, "b v"]
    rewards: Float[Tensor, "b u"] | None
    steps: Int[Tensor, " b"]


@torch.no_grad()
def skipped_dream(
    memory: SkippingRNN,
    starts: Float[Tensor, "..."],
    actions: Actions,
    *,
    duration: int,
    generator: Generator,
    temperature: float = 1.0,
) -> SkippedDream:
    """Dream until so many frames have passed.

    At temperature 0 a latent is the mean of the heaviest component and a jump the likeliest; else both are drawn, latents at
    that temperature (`mechlearn_zoo.nn.mixtures.tempered`) and jumps from their logits divided by it.

    Args:
        memory: M.
        starts: (b, l) latents of first frames, whitened as in training.
        actions: for each dream what is done at each frame; zeros are seen behind their end.
        duration: frames to pass; a dream ends with the step that comes there or farther.
        generator: of what is drawn; every dream takes the same numbers however long the others are.
        temperature: tau.

    Raises:
        TypeError: arguments of another kind.
        ValueError: starts or actions of another shape, or not finite; a generator on another device, a duration below 1, or a
            temperature below 0.
    """
    check_kind("memory", memory, SkippingRNN, "a SkippingRNN")
    way_out = "Encode and whiten the first frames of some episodes."
    check_floats("starts", starts, "b", memory.latent, like=memory.head.linear.weight, way_out=way_out)
    check_all_finite("starts", starts, way_out="Leave such episodes out.")
    check_kind("actions", actions, Actions, "mechlearn.skips.Actions")
    check_shape("actions.values", actions.values.flatten(2), len(starts), "t", "a")
    if actions.lengths is None:  # else they were looked at when they were made
        check_all_finite("actions.values", actions.values, way_out="Say by `lengths` which of them are padding.")
    check_whole("duration", duration, 1)
    check_generator("generator", generator, beside=starts)
    check_not_negative("temperature", temperature, way_out="1 is M as it was trained.")
    count = len(starts)
    rows, state = torch.arange(count, device=starts.device), memory.at_rest(count)
    z, time = starts, torch.zeros_like(rows)
    latents, times, rewards, steps = [z], [time], list[Tensor](), torch.zeros_like(rows)
    while bool((going := time < duration).any()):
        given = _given(actions, rows, time).flatten(1).to(z.dtype)
        predicted = memory.step(z, given, state)
        state, shown = predicted.state, predicted.state.shown
        after = _latent(predicted.mixture, temperature, generator)
        jump = _jump(memory.jumps(shown), temperature, generator)
        z, time = torch.where(going.unsqueeze(1), after, z), torch.where(going, time + jump, time)
        found = memory.rewarded(shown)
        if found is not None:
            rewards.append(torch.where(going, found, 0))
        latents.append(z)
        times.append(time)
        steps += going
    return SkippedDream(torch.stack(latents, 1), torch.stack(times, 1), torch.stack(rewards, 1) if rewards else None, steps)


def _given(actions: Actions, rows: Int[Tensor, " b"], time: Int[Tensor, " b"]) -> Tensor:
    """Return what is done at each dream's frame: zeros behind its actions' end, a whole window of them, too."""
    length = actions.values.shape[1]
    seen = actions.at(rows, time.clamp(max=length - 1))
    behind = time >= (length if actions.lengths is None else actions.lengths)
    return seen.masked_fill(behind.view(-1, *[1] * (seen.dim() - 1)), 0)  # and no product: what stands there may be NaN


def _latent(mixture: Mixture, temperature: float, generator: Generator) -> Float[Tensor, "b l"]:
    means, shape = mixture.means, mixture.means.shape[:-1]
    uniform = torch.rand(shape, generator=generator, dtype=means.dtype, device=means.device)
    normal = torch.randn(shape, generator=generator, dtype=means.dtype, device=means.device)
    return mixture_quantile(tempered(*mixture, temperature), uniform, normal)


def _jump(logits: Float[Tensor, "b H"], temperature: float, generator: Generator) -> Int[Tensor, " b"]:
    drawn = torch.rand(len(logits), generator=generator, dtype=logits.dtype, device=logits.device)
    if temperature == 0:
        return logits.argmax(-1) + 1
    below = torch.softmax(at_temperature(logits, temperature), -1).cumsum(-1)
    return (drawn.unsqueeze(-1) >= below[:, :-1]).sum(-1) + 1


def entropies(mixture: Mixture, generator: Generator, samples: int = 64) -> Float[Tensor, "*batch"]:
    """Return the differential entropy of each mixture in nats, by so many samples: the mean of - log p.

    Args:
        mixture: (..., K).
        generator: of the samples.
        samples: of each; the standard error is about 1 / sqrt(samples).

    Raises:
        TypeError: no mixture, no generator on its device, or no whole number of samples.
        ValueError: fewer than 1 of them, parameters of different shapes or not finite; a component may have no weight.
    """
    check_drawable(mixture, generator)
    check_whole("samples", samples, 1)
    every = Mixture(*(part.expand(samples, *part.shape) for part in mixture))
    means, shape = mixture.means, (samples, *mixture.means.shape[:-1])
    uniform = torch.rand(shape, generator=generator, dtype=means.dtype, device=means.device)
    normal = torch.randn(shape, generator=generator, dtype=means.dtype, device=means.device)
    y = mixture_quantile(every, uniform, normal)
    return -mixture_log_prob(*every, y).mean(0)
