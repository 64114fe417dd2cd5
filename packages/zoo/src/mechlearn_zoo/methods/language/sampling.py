"""Drawing tokens: temperature, the likeliest k, ancestral samples of any `StepModel`.

Index convention: b a sequence, t a position, v a word. A draw adds Gumbel noise to logits / T and takes the greatest, which has
the law softmax(logits / T). So two models, or two temperatures, that are given the same noise share their random numbers:
differences between them are then measured with less noise than from draws of their own.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_floats, check_generator, check_not_negative, check_tensor, check_whole
from mechlearn_zoo.methods.language.step_model import State, StepModel, check_rows, device_of
from mechlearn_zoo.nn.mixtures import at_temperature


def gumbel(shape: tuple[int, ...], generator: Generator, dtype: torch.dtype = torch.float32) -> Float[Tensor, "*shape"]:
    """Return independent standard Gumbel numbers; in float32 where a half type is asked for, which has too few of them.

    They lie on the generator's device; `choose` moves them to the logits.
    """
    check_generator("generator", generator)
    # Three times as fast as torch's exponential_, which is a scalar loop. A uniform 0 would give -inf, which is no such number.
    uniform = torch.rand(shape, dtype=_wide(dtype), generator=generator, device=generator.device)
    return uniform.clamp_(min=torch.finfo(uniform.dtype).tiny).log_().neg_().log_().neg_()


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32) if dtype.is_floating_point else dtype


def choose(
    logits: Float[Tensor, "*n v"], noise: Float[Tensor, "*n v"], temperature: float | int = 1.0, top: int | None = None
) -> Int[Tensor, "*n"]:
    """Return argmax(logits / T + noise), added in float32 at least: with Gumbel noise a draw from softmax(logits / T).

    Args:
        logits: unnormalised log-probabilities.
        noise: as `gumbel` draws it, on any device.
        temperature: T; 0 means greedy: the greatest logit, whatever the noise.
        top: draw among the likeliest so many words only, of equal ones the first; all if None.

    Raises:
        TypeError: no tensor, no numbers, or noise of whole ones.
        ValueError: a temperature below 0 or infinite, a top below 1, noise of another shape than the logits, logits or noise
            that are NaN, a row whose greatest logit is minus infinity: there is nothing to draw.
    """
    check_tensor("logits", logits)
    check_floats("noise", noise, *logits.shape, way_out="Draw it with gumbel(tuple(logits.shape), generator).")
    check_not_negative("temperature", temperature, why="0 means greedy", way_out="Divide by a temperature above 0.")
    if temperature == 0:
        _check_best(best := logits.max(-1), logits)
        return best.indices
    logits = logits.to(_wide(logits.dtype))
    logits = logits if temperature == 1 else at_temperature(logits, float(temperature))
    if top is not None:
        check_whole("top", top, 1)
        logits = _likeliest(logits, min(top, logits.shape[-1]))
    noise = noise.to(logits.device)
    best = (logits + noise).max(-1)
    if not bool((best.values > -math.inf).all()):
        # Noise of minus infinity counts for less than any other, but a logit of minus infinity is never chosen.
        noise, limits = noise.to(_wide(noise.dtype)), torch.finfo(_wide(noise.dtype))
        best = (logits + noise.clamp(min=limits.min * limits.eps / 8)).max(-1)  # takes nothing off the least logit there is
        _check_best(best, logits)
    return best.indices


def _likeliest(logits: Tensor, count: int) -> Tensor:
    """Return logits with -inf for all but the greatest so many, of equal ones the first. NaN stays, to be refused."""
    least = logits.topk(count, -1).values[..., -1:]
    equal = logits == least
    room = count - (logits > least).sum(-1, keepdim=True)
    return logits.masked_fill((logits < least) | (equal & (equal.cumsum(-1) > room)), -math.inf)


def _check_best(best: torch.return_types.max, logits: Tensor) -> None:
    # A NaN makes the greatest NaN, so that looking at these alone is enough.
    if bool((best.values > -math.inf).all()):
        return
    if bool(logits.isnan().any()):
        raise ValueError("`logits` should be numbers. Found NaN. Look at the loss before drawing from a model that diverged.")
    if bool((logits.amax(-1) == -math.inf).any()):
        raise ValueError("`logits` should have one above minus infinity in each row. Found none. Ban fewer words.")
    raise ValueError("`noise` should be numbers. Found NaN. Draw it with gumbel(shape, generator).")


def draw(
    logits: Float[Tensor, "*n v"], generator: Generator, temperature: float | int = 1.0, top: int | None = None
) -> Int[Tensor, "*n"]:
    """Return draws from softmax(logits / T); see `choose`.

    Raises:
        TypeError: logits that are no floating numbers, no generator.
        ValueError: as `choose`.

    >>> import torch
    >>> draw(torch.tensor([[0.0, 100.0]]), torch.Generator().manual_seed(0)).tolist()
    [1]
    """
    check_tensor("logits", logits)
    check_floats("logits", logits, *logits.shape)
    return choose(logits, gumbel(tuple(logits.shape), generator, logits.dtype), temperature, top)


@torch.no_grad()
def sample(
    model: StepModel,
    count: int,
    length: int,
    generator: Generator,
    *,
    temperature: float | int = 1.0,
    top: int | None = None,
    begin: int = 0,
) -> Int[Tensor, "count length"]:
    """Return sequences drawn token by token from a generator.

    Args:
        model: the generator.
        count: how many sequences.
        length: tokens of each.
        generator: of the draws; the same seed shares its random numbers between models and temperatures.
        temperature: T; 0 means greedy.
        top: draw among the likeliest so many words only, of equal ones the first; all if None.
        begin: the id that is read first.

    Raises:
        TypeError, ValueError: numbers out of their range, or a state that has not one row for each sequence.
    """
    check_whole("count", count, 1)
    check_whole("length", length, 1)
    check_generator("generator", generator)
    state = model.start(count)
    check_rows(state, count)
    tokens = torch.full((count,), begin, dtype=torch.long, device=device_of(model, state))
    drawn: list[Tensor] = []
    for _ in range(length):
        tokens, state = _next(model, tokens, state, generator, temperature, top)
        drawn.append(tokens)
    return torch.stack(drawn, 1)


def _next(
    model: StepModel, tokens: Tensor, state: State, generator: Generator, temperature: float | int, top: int | None
) -> tuple[Tensor, State]:
    logits, state = model.step(tokens, state)
    return draw(logits, generator, temperature, top), state
