"""`match`: run a dynamics model along trajectories and match what it predicts with later frames (thesis algorithm 1)."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from craik.losses import Loss, evaluated
from craik.skips.contexts import Actions, Context, Model
from craik.skips.matched import Matched
from craik.skips.matchings.aligned import align
from craik.skips.matchings.draws import Draw, draw
from craik.skips.matchings.following import follow
from craik.skips.matchings.greedy import Choice, FixedChoice, GreedyChoice
from craik.skips.matchings.ranking import Ranker
from craik.skips.predicting import problem
from craik.skips.settings import FixedStep, Greedy, Matching, OptimalAlignment, check_matching, check_probability
from craik.skips.tracks import Average, check_average
from craik.trajectories import Trajectories


def match(
    model: Model,
    trajectories: Trajectories,
    loss: Loss,
    matching: Matching,
    *,
    teacher_forcing: float = 1.0,
    generator: Generator | Sequence[Generator] | None = None,
    context: Context | None = None,
    targets: Trajectories | None = None,
    compare: Callable[[Tensor], Tensor] | None = None,
    feedback: Callable[[Tensor], Tensor] | None = None,
    average: Average = "trajectories",
    keep_predictions: bool = False,
) -> Matched:
    """Predict along every trajectory, match each prediction with a later frame, and return the loss of the matches.

    Thesis algorithm 1, lines 1 to 15, for a batch. Trajectories advance together, each at its own pace; one that has reached
    its last frame costs no further evaluation. Gradients flow into every matched prediction, and through predictions that
    were fed back into the model. Which frame is matched depends on the values alone: a loss with a method `ranking` (see
    `craik.losses`) is ranked by matrix-vector products, any other by evaluating it on the whole window; the result is the same.

    Random numbers: trajectory b has three for each of its steps, whatever else is in the batch. From one generator they are
    drawn trajectory by trajectory, in the order of the batch, so two batches give what one of both gives. With a generator for
    each trajectory the batch's composition and order do not matter either. Numbers are drawn where `exploration` or
    `teacher_forcing` lies strictly between 0 and 1 (or exploration is 1), and only there.

    Args:
        model: f, from frames (n, *frame), and their context where there is one, to predictions of n frames. It should treat
            its examples one by one: BatchNorm in train mode makes results depend on the batch.
        trajectories: at least two frames each.
        loss: from predictions and frames to one value for each, see `craik.losses`.
        matching: `Greedy`, `FixedStep` or `OptimalAlignment`.
        teacher_forcing: epsilon, the probability that the next input is the matched true frame and not the prediction
            (scheduled sampling, thesis algorithm 1, line 13).
        generator: of random numbers, on the CPU: one, or one for each trajectory.
        context: what the model sees beside a frame: one tensor (batch, *context), static, or `Actions`.
        targets: what predictions are compared with, frame by frame, in the place of the trajectories' own frames: latents,
            for instance (see `encoded`).
        compare: applied to predictions before they are compared: an encoder, where f predicts frames that are compared in
            latent space.
        feedback: what turns a prediction into the next input. None: the loss's method `frame`, such as the sigmoid of logits,
            or nothing where it has none.
        average: "trajectories": the mean of a trajectory's step losses, then over the batch (the thesis); "steps": the mean of
            all steps of the batch (the published code).
        keep_predictions: return the predictions, too.

    Raises:
        TypeError: another matching, or random numbers are needed and no generator is given.
        ValueError: a trajectory without a transition, a probability outside [0, 1], a context or targets that do not fit, a
            prediction whose shape the loss does not expect, or an optimal alignment with what it cannot know in time:
            teacher forcing below 1, or `Actions` with ``inputs="predictions"``.
        FloatingPointError: a prediction that is not finite where it had to be ranked, or no alignment of finite loss.
    """
    check_matching(matching)
    check_probability("teacher_forcing", teacher_forcing)
    check_average(average)
    asked = problem(model, trajectories, loss, context, targets, compare, feedback)
    if isinstance(matching, OptimalAlignment):
        _check_alignment(matching, teacher_forcing, context)
        return align(asked, matching, keep_predictions).result(average)
    draws = _draws(matching, teacher_forcing, generator, trajectories)
    choice = _choice(matching, loss, asked.targets, draws)
    return follow(asked, choice, teacher_forcing, draws, keep_predictions).result(average)


def _draws(
    matching: Greedy | FixedStep, teacher_forcing: float, generator: Generator | Sequence[Generator] | None, among: Trajectories
) -> list[list[Draw]] | None:
    explores = isinstance(matching, Greedy) and matching.exploration > 0
    return draw(generator, among.lengths.tolist()) if explores or 0 < teacher_forcing < 1 else None


def _choice(matching: Greedy | FixedStep, loss: Loss, targets: Trajectories, draws: list[list[Draw]] | None) -> Choice:
    lengths: list[int] = targets.lengths.tolist()
    if isinstance(matching, Greedy):
        return GreedyChoice(matching, Ranker(loss, targets, matching.horizon), lengths, draws)
    _check_steps(matching, lengths)
    return FixedChoice(matching, lengths)


def _check_steps(matching: FixedStep, lengths: Sequence[int]) -> None:
    short = [b for b, length in enumerate(lengths) if length <= matching.dt]
    if matching.last == "drop" and short:
        raise ValueError(
            f"With last='drop' every trajectory should have more than dt = {matching.dt} frames. Found {lengths[short[0]]} in "
            f"trajectory {short[0]}. Leave it out, or pass last='clamp'."
        )


def _check_alignment(matching: OptimalAlignment, teacher_forcing: float, context: Context | None) -> None:
    if teacher_forcing != 1:
        raise ValueError(
            "An optimal alignment needs all predictions before it knows a match, so that inputs cannot be mixed (thesis, "
            f"section 2.2). Found teacher_forcing={teacher_forcing!r} with inputs={matching.inputs!r}. Leave it out; "
            "`inputs` says what predictions are made from."
        )
    if matching.inputs == "predictions" and isinstance(context, Actions):
        raise ValueError(
            "Actions belong to frames, and which frames predictions stand for is known only after an optimal alignment. Found "
            "`Actions` with inputs='predictions'. Pass inputs='frames', or a static context."
        )


@torch.no_grad()
def candidate_losses(
    matched: Matched, targets: Trajectories, loss: Loss, horizon: int, compare: Callable[[Tensor], Tensor] | None = None
) -> Float[Tensor, "batch steps horizon"]:
    """Return each kept prediction's loss against every frame of its window, for timelines (thesis figures 2.7 and 2.8).

    Entry [b, u, k] belongs to the frame k + 1 after the one that prediction u of trajectory b was made at; infinity where the
    trajectory has no such frame or step.

    Args:
        matched: the result of `match` with ``keep_predictions=True``.
        targets: what was matched with: the trajectories, or the targets given to `match`.
        loss: as given to `match`.
        horizon: how many frames ahead to look.
        compare: as given to `match`.

    Raises:
        ValueError: the predictions were not kept.
    """
    if matched.predictions is None:
        raise ValueError("`matched` should hold the predictions. Found None. Call match(..., keep_predictions=True).")
    found = torch.full((*matched.skips.shape, horizon), torch.inf, dtype=targets.value_dtype)
    for b, steps in enumerate(matched.steps.tolist()):
        for u in range(steps):
            first = int(matched.matched[b, u] - matched.skips[b, u]) + 1
            frames = range(first, min(first + horizon, int(targets.lengths[b])))
            z = matched.predictions.frames[b, u : u + 1]
            z = (z if compare is None else compare(z)).to(targets.value_dtype)
            losses = evaluated(loss, z.expand(len(frames), *z.shape[1:]), targets.at([b] * len(frames), list(frames)))
            found[b, u, : len(frames)] = losses.cpu()
    return found
