"""Following trajectories step by step: predict, match, go on from the match (thesis algorithm 1, lines 1 to 15)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from craik.skips.matchings.draws import Draw
from craik.skips.matchings.greedy import Choice
from craik.skips.predicting import Problem
from craik.skips.tracks import Track


def follow(
    problem: Problem, choice: Choice, teacher_forcing: float, draws: Sequence[Sequence[Draw]] | None, keep: bool
) -> Track:
    """Follow every trajectory of a batch to its end; those that have ended leave the batch.

    Args:
        problem: what is predicted.
        choice: how predictions are matched.
        teacher_forcing: epsilon, the probability of a true frame as the next input.
        draws: each step's random numbers, where any are needed.
        keep: whether to keep predictions.
    """
    track = Track(len(problem.trajectories), keep)
    rows = list(range(len(problem.trajectories)))
    times = [0] * len(rows)
    inputs = problem.trajectories.at(rows, times)
    u = 0
    while rows:
        prediction = problem.predict(inputs, rows, times)
        seen = problem.compared(prediction, len(rows))
        chosen = choice.choose(seen, rows, times, u)
        track.add(rows, [u] * len(rows), times, chosen, problem.losses(seen, rows, chosen.frames), prediction)
        track.evaluations += len(rows)
        going = [i for i, b in enumerate(rows) if choice.goes_on(b, chosen.frames[i])]
        rows, times = [rows[i] for i in going], [chosen.frames[i] for i in going]
        if rows:
            prediction = prediction if len(going) == len(prediction) else prediction[going]
            inputs = _next_inputs(problem, prediction, rows, times, _truths(rows, u, teacher_forcing, draws))
        u += 1
    return track


def _truths(rows: Sequence[int], u: int, teacher_forcing: float, draws: Sequence[Sequence[Draw]] | None) -> list[bool]:
    """Say for each trajectory whether its next input is the true frame (thesis algorithm 1, line 13)."""
    if draws is None or teacher_forcing in (0, 1):
        return [teacher_forcing == 1] * len(rows)
    return [draws[b][u].feed < teacher_forcing for b in rows]


def _next_inputs(
    problem: Problem, prediction: Tensor, rows: Sequence[int], times: Sequence[int], truths: Sequence[bool]
) -> Tensor:
    if all(truths):
        return problem.trajectories.at(rows, times)
    fed = problem.fed(prediction)
    if not any(truths):
        return fed
    true = problem.trajectories.at(rows, times)
    takes = torch.tensor(truths, device=fed.device).reshape(-1, *[1] * (fed.dim() - 1))
    return torch.where(takes, true, fed)
