"""From trajectories to an answer: should a model of their dynamics choose which frame to predict?"""

import time

import numpy as np

from mechlearn.tables.forecasts.forecaster import SkipForecaster
from mechlearn.tables.forecasts.forecasting import MOVING, Budget, Forecasts, check_trajectories, compare_forecasters
from mechlearn.tables.reading import Recorded
from mechlearn.tables.reading_in import Scaling
from mechlearn.tables.reports.questions import Answer, Question
from mechlearn.tables.saving.models import Stepping


def skips_answer(recorded: Recorded, question: Question, ahead: int | None = None) -> Answer:
    """Compare fixed and adaptive steps `ahead` frames ahead; the one to use is kept as it was judged.

    Of the question's fields `seed`, `budget`, `progress` and `parts` count here.
    """
    check_trajectories(recorded.frames, ahead)  # refused before anything is timed
    # What there is time for depends on the machine and the hour: asked once, and kept.
    steps = question.parts.made("steps", lambda: {"steps": np.array(_affordable(recorded, question))})["steps"]
    budget = Budget(steps=int(steps), progress=question.progress)
    found = compare_forecasters(recorded.frames, ahead, budget, question.seed, question.parts)
    names = {one.name: f"{one.name} ({one.setting})" if one.setting else one.name for one in found.tried}
    scores = [
        {"name": names[one.name], "mean": one.error, "worst": float(np.max(one.errors))}
        | {"skip": one.skip, "evaluations": one.evaluations}
        for one in found.tried
    ]
    kept = names[found.chosen]
    facts = {
        "sentence": found.sentence,
        "word": found.verdict.word,
        "kept": kept,
        "target": f"{found.ahead} frames ahead",
        "unit": "root mean squared error of the state, in standard deviations",
        "candidates": scores,
        "rows": sum(len(one) for one in recorded.frames),
        "counts": found.counts,
        "notes": [_spent(budget), *recorded.notes],
        "advice": [_steps_to_take(found, kept)],
    }
    return Answer(facts, found.verdict, _stepping(recorded, found, kept))


def _affordable(recorded: Recorded, question: Question) -> int:
    """Training steps that the seconds allow, by the time of a few; all of them where there is time."""
    full = Budget()
    if question.budget is None:
        return full.steps
    window = max(2, min(32, *(len(one) for one in recorded.frames)))
    horizon = min(4, window - 1)
    tried = SkipForecaster(horizon=horizon, steps=8, evaluations=full.evaluations, window=window, random_state=question.seed)
    tried.fit(recorded.frames)  # the first time takes longer
    start = time.process_time()
    tried.fit(recorded.frames)
    steps = question.budget / 21 / ((time.process_time() - start) / 8)  # about 21 networks
    return int(min(full.steps, max(20, steps)))


def _spent(budget: Budget) -> str:
    return (
        f"Every setting of every network was trained by at most {budget.steps} steps of about {budget.evaluations} evaluations "
        "of its model. Settings, and where each training stopped, were chosen on a fifth of the trajectories. The verdict was "
        "drawn on three tenths that none had seen."
    )


def _steps_to_take(found: Forecasts, kept: str) -> str:
    if min(found.tried, key=lambda one: one.error).name == MOVING and found.verdict.word != "helps":
        return f"Use {MOVING}: fit scikit-learn's. Kept is {kept}, which needs one state only."
    if found.chosen == "standing still":
        return (
            "Nothing that steps from one state did better than standing still where settings were chosen. Try more data, other "
            "features, or fewer frames ahead."
        )
    return f"Use {kept}."


def _stepping(recorded: Recorded, found: Forecasts, kept: str) -> Stepping:
    size, one = len(recorded.names), found.kept
    scaling = Scaling.of(np.concatenate(recorded.frames))
    weights = [np.zeros((1, size)), np.zeros(1), np.zeros((size, 1)), np.zeros(size)]
    if one.model is not None:
        scaling, weights = one.model.scaling_, one.model.weights_
    elif one.linear is not None:  # a network that is linear: relu(z) - relu(-z) is z
        ridge, spread = one.linear
        change, same = ridge.coef_ - np.eye(size), np.eye(size)
        scaling = Scaling(np.zeros(size), spread)
        weights = [np.concatenate([same, -same]), np.zeros(2 * size), np.concatenate([change, -change], 1), ridge.intercept_]
    names = ("0.weight", "0.bias", "2.weight", "2.bias")
    arrays = {"mean": scaling.mean, "spread": scaling.spread, **dict(zip(names, weights, strict=True))}
    skip = min(one.skip, float(found.ahead))
    facts = {"verdict": found.verdict.word, "method": kept, "skip": skip, "steps": max(1, round(found.ahead / skip))}
    return Stepping(recorded.names, arrays, facts)
