"""Following trajectories step by step: predict, match, go on from the match (thesis algorithm 1, lines 1 to 15)."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.skips.matched import Chosen, Steps
from mechlearn.skips.matchings.draws import Draw, draw
from mechlearn.skips.predicting import Predictor
from mechlearn.skips.sampling import generators_of, stream


class Predicted(NamedTuple):
    """What is to be matched at one step: n predictions, each of a trajectory of its own.

    Attributes:
        seen: what the loss sees of them.
        rows: the trajectory of each.
        times: the frame each was made at; it is matched with a later one.
        lengths: how many frames each trajectory has, up to the end of the option that runs where there are `Options`.
        draws: each one's random numbers; None where none are drawn.
    """

    seen: Float[Tensor, "n *y"]
    rows: list[int]
    times: list[int]
    lengths: list[int]
    draws: list[Draw] | None


def follow(
    predictor: Predictor,
    choose: Callable[[Predicted], Chosen],
    *,
    explores: bool = False,
    reach: int = 1,
    together: bool = False,
    price: Callable[[Predicted, Chosen], Tensor] | None = None,
) -> Steps:
    """Follow every trajectory of a batch to its end; those that have ended leave the batch.

    Args:
        predictor: what predicts, and along what.
        choose: says which frame each prediction of a step is matched with.
        explores: whether `choose` needs random numbers; they are drawn for teacher forcing strictly between 0 and 1, too.
        reach: a trajectory goes on while it has so many frames more.
        together: whether the losses of the matches are evaluated in one call at the end, which holds all predictions: quicker
            where frames are few numbers.
        price: what each step costs, (n,), instead of the losses of its matches.

    Returns:
        The steps of the batch, in the order in which they were taken.

    Raises:
        TypeError: random numbers are needed and there is no generator.
        ValueError: a frame that does not lie ahead.
    """
    draws, streams = _draws(predictor, explores)
    found = predictor.steps()
    rows = list(range(len(predictor.lengths)))
    inputs, times = predictor.started(rows, found)
    later: list[Tensor] = []
    u = 0
    while rows:
        prediction = predictor.predict(inputs, rows, times)
        seen = predictor.compared(prediction, len(rows))
        now = None if draws is None else [draws[b][u] for b in rows]
        predicted = Predicted(seen, rows, times, predictor.reached(rows, times), now)
        chosen = choose(predicted)
        if price is not None:
            losses = price(predicted, chosen)
        else:
            losses = None if together else _losses(predictor, predicted, chosen, found)
        found.add(rows, [u] * len(rows), times, chosen, losses, prediction)
        if losses is None:
            if seen.requires_grad:
                seen.register_hook(torch.clone)
            later.append(seen)
        found.evaluations += len(rows)
        going = [i for i, b in enumerate(rows) if chosen.frames[i] + reach < predictor.lengths[b]]
        rows, times = [rows[i] for i in going], [chosen.frames[i] for i in going]
        if rows:
            kept = None if now is None else [now[i] for i in going]
            inputs = _next_inputs(predictor, partial(_rows, prediction, going), streams, kept, rows, times)
        u += 1
    if later:
        found.evaluated(partial(predictor.losses, torch.cat(later)))
    return found


def _losses(predictor: Predictor, predicted: Predicted, chosen: Chosen, found: Steps) -> Tensor:
    try:
        return predictor.losses(predicted.seen, predicted.rows, chosen.frames)
    except IndexError:  # a frame behind the end: the sentence should name the matching, not the trajectories
        found.check(predicted.rows, predicted.times, chosen)
        raise


def _draws(predictor: Predictor, explores: bool) -> tuple[list[list[Draw]] | None, list[Generator] | None]:
    """Return each trajectory's and step's random numbers, and each one's stream of noise, where any are needed."""
    streams: list[Generator] | None = [] if predictor.samples else None
    if explores or 0 < predictor.teacher_forcing < 1:
        return draw(predictor.generator, predictor.lengths, streams), streams
    if streams is not None:
        streams = [stream(each) for each in generators_of(predictor.generator, len(predictor.lengths))]
    return None, streams


def _truths(teacher_forcing: float, count: int, draws: Sequence[Draw] | None) -> list[bool]:
    """Say for each trajectory whether its next input is the true frame (thesis algorithm 1, line 13)."""
    if draws is None or teacher_forcing in (0, 1):
        return [teacher_forcing == 1] * count
    return [draw.feed < teacher_forcing for draw in draws]


def _rows(prediction: Tensor, going: Sequence[int]) -> Tensor:
    """Return what was predicted for the trajectories that go on."""
    return prediction if len(going) == len(prediction) else prediction[going]


def _next_inputs(
    predictor: Predictor,
    made: Callable[[], Tensor],
    streams: Sequence[Generator] | None,
    draws: Sequence[Draw] | None,
    rows: Sequence[int],
    times: Sequence[int],
) -> Tensor:
    truths = _truths(predictor.teacher_forcing, len(rows), draws)
    if all(truths):
        frames = predictor.trajectories.at(rows, times)
    else:
        # Noise is drawn for those alone that are fed, whatever the others of the batch are.
        noise = streams and [None if true else streams[b] for b, true in zip(rows, truths, strict=True)]
        frames = predictor.fed(made(), noise)
        if any(truths):
            takes = torch.tensor(truths, device=frames.device).reshape(-1, *[1] * (frames.dim() - 1))
            frames = torch.where(takes, predictor.trajectories.at(rows, times), frames)
    return frames if predictor.layout.state is None else predictor.inputs(frames, made())
