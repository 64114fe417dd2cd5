"""What every matching owes: `check_matching` tries one of your own, as scikit-learn's ``check_estimator`` does estimators.

Every check follows a small world in float64 with a fixed model; what fails is said in one sentence that names the rule.
Index conventions: b runs over trajectories, u over a trajectory's steps.
"""

import pickle
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Generator

from mechlearn.losses import SquaredError
from mechlearn.skips import Dynamics, Matching, Predictor, Steps
from mechlearn.testing.walks import Trial, absolute_error, alike, each, padded, same


def check_matching(
    matching: Matching, *, lengths: Sequence[int] = (8, 5, 10, 4), teacher_forcing: Sequence[float] = (1.0, 0.5, 0.0)
) -> None:
    """Check that a matching keeps what `mechlearn.skips.match` promises for every matching.

    Matched frames lie ahead and within their trajectory; padding is never matched; every trajectory takes steps, and these
    start where the one before was matched; the loss reaches every parameter; evaluations are
    counted; the same generator gives the same, from two batches as from one, and no global one is touched; with a generator
    for each trajectory neither company nor order matter. With a loss that can be ranked and with one that cannot.

    Args:
        matching: one of your own, such as ``Halfway(horizon=4)``.
        lengths: of the trajectories to try it on, two or more of different lengths; longer ones for a matching that refuses
            short ones.
        teacher_forcing: the probabilities of a true frame as the next input to try; (1.0,) for a matching that takes no other.

    Raises:
        TypeError: anything but a matching.
        ValueError: fewer than two lengths or two different ones, or no probability to try.
        AssertionError: a rule that the matching breaks.
    """
    if isinstance(matching, type) or not isinstance(matching, Matching):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"A matching should be an object with a method `along(predictor)`. Found {matching!r}.")
    if len(set(lengths)) < 2:
        raise ValueError(f"`lengths` should be of two trajectories or more, not all alike. Found {lengths}. Give (8, 5, 10).")
    if not teacher_forcing:
        raise ValueError("`teacher_forcing` should name a probability to try. Found none, so nothing is checked. Give (1.0,).")
    for loss in (SquaredError(), absolute_error):
        for epsilon in teacher_forcing:
            trial = Trial(matching, loss, epsilon, lengths)
            for check in _CHECKS:
                check(trial)


def _check_steps(trial: Trial) -> None:
    """What is returned can be added up."""
    batch = padded(trial.frames)
    predictor = Predictor(Dynamics(trial.model, trial.loss), batch, trial.teacher_forcing, Generator().manual_seed(0))
    with trial.attempt(batch):
        found: object = trial.matching.along(predictor)
        _rule(_is_steps(found), "`along` should return the predictor's `steps()`", type(found).__name__)


def _is_steps(found: object) -> bool:
    return isinstance(found, Steps)


def _check_repeated(trial: Trial) -> None:
    """The same generator gives the same; the matching holds no state and leaves global generators alone."""
    before = _global_states()
    found = [trial.whole, trial.run(trial.all())]
    _rule(
        before == _global_states(),
        "Random numbers should come from the given generator alone",
        f"that a global generator was used {trial.where}",
    )
    _rule(same(*found), "The same generator should give the same result again", f"another the second time {trial.where}")


def _check_frames(trial: Trial) -> None:
    """Every trajectory takes steps, each from the frame that the last was matched with."""
    found = trial.whole
    for b, frames in enumerate(trial.frames):
        count = int(found.steps[b])
        _rule(count >= 1, "Every trajectory should take a step", f"none in trajectory {b} {trial.where}")
        at, skips = found.matched[b, :count].tolist(), found.skips[b, :count].tolist()
        ahead = all(skip >= 1 for skip in skips) and at[-1] < len(frames)
        _rule(ahead, "Matched frames should lie ahead and within the trajectory", f"{at} of {len(frames)} {trial.where}")
        _rule(
            at == np.cumsum(skips).tolist(),
            "A step should start from frame 0 or from the frame that the step before was matched with",
            f"matched frames {at} with skips {skips} {trial.where}",
        )


def _check_loss(trial: Trial) -> None:
    """The loss reaches every parameter."""
    found = trial.whole
    named = dict(trial.model.named_parameters())
    if found.loss.requires_grad:
        found.loss.backward()
    reached = [name for name, parameter in named.items() if parameter.grad is not None and bool(parameter.grad.any())]
    _rule(reached == list(named), "The loss should reach every parameter", f"that it reaches {reached} {trial.where}")


def _check_evaluations(trial: Trial) -> None:
    """Evaluations are those that the model saw."""
    before = trial.model.seen
    found = trial.run(trial.all())
    seen = trial.model.seen - before
    _rule(
        found.evaluations == seen,
        "`evaluations` should count the frames that the model was evaluated on",
        f"{found.evaluations} for {seen} {trial.where}",
    )


def _check_padding(trial: Trial) -> None:
    """Nothing depends on what lies behind a trajectory's end."""
    _rule(
        same(trial.whole, trial.run(trial.all(), padding=1e3)),
        "Padding should be neither matched nor looked at",
        f"that other padding changes {trial.where}",
    )


def _check_company(trial: Trial) -> None:
    """A trajectory with a generator of its own is matched the same alone, in a batch, and in another order."""
    orders = {"alone": [[b] for b in trial.all()], "in another order": [trial.all()[::-1]]}
    whole = each(trial.whole, trial.all())
    for what, batches in orders.items():
        parts = {b: one for rows in batches for b, one in each(trial.run(rows), rows).items()}
        _rule(
            alike(whole, parts),
            "A trajectory with a generator of its own should be matched the same whatever else is in the batch",
            f"another result {what} {trial.where}",
        )


def _check_two_batches(trial: Trial) -> None:
    """From one generator two batches give what one gives."""
    rows, cut = trial.all(), len(trial.frames) // 2
    whole = each(trial.run(rows, generator=Generator().manual_seed(0)), rows)
    generator = Generator().manual_seed(0)
    halves = [each(trial.run(some, generator=generator), some) for some in (rows[:cut], rows[cut:])]
    _rule(
        alike(whole, halves[0] | halves[1]),
        "From one generator, two batches in a row should give what one of both gives",
        f"another result {trial.where}",
    )


_CHECKS: tuple[Callable[[Trial], None], ...] = (
    _check_steps,
    _check_repeated,
    _check_frames,
    _check_loss,
    _check_evaluations,
    _check_padding,
    _check_company,
    _check_two_batches,
)


def _global_states() -> tuple[bytes, bytes]:
    """PyTorch's and numpy's global generators; Python's own moves under whoever samples type checks, as beartype does."""
    return torch.get_rng_state().numpy().tobytes(), pickle.dumps(np.random.get_state())  # noqa: NPY002  # whether it moves


def _rule(kept: bool, rule: str, found: str) -> None:
    if not kept:
        raise AssertionError(f"{rule}. Found {found}. Mend the matching.")
