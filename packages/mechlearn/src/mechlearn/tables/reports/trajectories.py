"""From trajectories to an answer: should a model of their dynamics choose which frame to predict?"""

import time

import numpy as np

from mechlearn.tables.forecasts.forecaster import SkipForecaster
from mechlearn.tables.forecasts.forecasting import Budget, Forecasts, check_trajectories, compare_forecasters
from mechlearn.tables.reading import Recorded
from mechlearn.tables.reading_in import Scaling
from mechlearn.tables.reports.questions import Answer, Question
from mechlearn.tables.saving.models import Stepping


def skips_answer(recorded: Recorded, question: Question, ahead: int | None = None) -> Answer:
    """Compare fixed and adaptive steps on trajectories, and fit the one to use on all of them.

    Args:
        recorded: the trajectories.
        question: what is asked; of its fields `seed`, `budget`, `progress` and `parts` count here.
        ahead: how many frames ahead a state is to be predicted.

    Raises:
        TypeError, ValueError: trajectories that cannot be asked.
    """
    check_trajectories(recorded.frames, ahead)  # refused before anything is timed
    # What there is time for depends on the machine and the hour: asked once, and kept.
    steps = question.parts.made("steps", lambda: {"steps": np.array(_affordable(recorded, question))})["steps"]
    budget = Budget(steps=int(steps), progress=question.progress)
    found = compare_forecasters(recorded.frames, ahead, budget, question.seed, question.parts)
    names = {one.name: f"{one.name} ({one.setting})" if one.setting else one.name for one in found.tried}
    scores = [
        {"name": names[one.name], "mean": float(np.mean(one.errors)), "worst": float(np.max(one.errors))}
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
    start = time.perf_counter()
    tried.fit(recorded.frames)
    steps = question.budget / 21 / ((time.perf_counter() - start) / 8)  # about 21 networks
    return int(min(full.steps, max(20, steps)))


def _spent(budget: Budget) -> str:
    return (
        f"Every setting of every candidate was trained by {budget.steps} steps of about {budget.evaluations} evaluations of "
        "its model, settings chosen on a fifth of the trajectories, the verdict drawn on three tenths that none had seen."
    )


def _steps_to_take(found: Forecasts, kept: str) -> str:
    if found.chosen == "standing still":
        return (
            "No fixed step did better than a world that stands still where settings were chosen: more data, other features, or "
            "fewer frames ahead."
        )
    return f"Use {kept}."


def _stepping(recorded: Recorded, found: Forecasts, kept: str) -> Stepping:
    size = len(recorded.names)
    settings, states = found.settings, np.concatenate(recorded.frames)
    scaling = Scaling.of(states)
    if settings is None:
        weights, skip = [np.zeros((1, size)), np.zeros(1), np.zeros((size, 1)), np.zeros(size)], float(found.ahead)
    else:
        model = SkipForecaster(**settings).fit(recorded.frames)
        weights, skip = model.weights_, model.mean_skip_
    names = ("0.weight", "0.bias", "2.weight", "2.bias")
    arrays = {"mean": scaling.mean, "spread": scaling.spread, **dict(zip(names, weights, strict=True))}
    steps = max(1, round(found.ahead / skip))
    return Stepping(recorded.names, arrays, {"verdict": found.verdict.word, "method": kept, "skip": skip, "steps": steps})
