"""From a table to an answer: what `craik fit` shows and keeps, as plain values for JSON and for the report."""
# scikit-learn and scipy have no stubs
# pyright: reportMissingTypeStubs=false

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold

from craik.distill.closed_form import STRENGTHS, VotedTeachers
from craik.estimators.candidates import CANDIDATES, Fold
from craik.estimators.comparing import TRAINING, UNIT, Comparison, compare_table
from craik.estimators.fitting import Task, Training
from craik.estimators.forecasts.forecaster import SkipForecaster
from craik.estimators.forecasts.forecasting import Budget, Forecasts, compare_forecasters
from craik.estimators.reading import Recorded
from craik.estimators.saving import SAVED, Model, Stepping, model_of
from craik.estimators.tables import Numbers, Scaling, Table, encoding_of, prepare
from craik.estimators.verdict import Verdict, judge, t_interval

Columns = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of a table, or of trajectories.

    Args:
        target: the column to predict; of trajectories none.
        task: "classification" or "regression"; from the target if None.
        seed: of everything random.
        budget: seconds, split evenly over the candidates.
        anonymous: call sites "site 1", "site 2", ... in everything that is written.
        training: of the networks.
        progress: told how many of how many fits are done.
    """

    target: str
    task: Task | None = None
    seed: int = 0
    budget: float | None = None
    anonymous: bool = False
    training: Training = TRAINING
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """What came out.

    Attributes:
        facts: of the report, plain values.
        verdict: the one to go by.
        model: the one to keep.
    """

    facts: Mapping[str, Any]
    verdict: Verdict
    model: Model | Stepping


def agreement_answer(columns: Columns, sites: NDArray[Any], question: Question, apart: str | None = None) -> Answer:
    """Audit a table, compare candidates on held-out sites, and fit the one to use.

    Args:
        columns: by name, the target among them and the sites not.
        sites: of each row.
        question: what is asked.
        apart: a site that has no part in anything but a last look.

    Raises:
        TypeError, ValueError: a table that cannot be asked.
    """
    inputs = {name: values for name, values in columns.items() if name != question.target}
    target = columns[question.target]
    kept = np.ones(len(target), dtype=bool) if apart is None else sites.astype(str) != apart
    if kept.all() and apart is not None:
        raise ValueError(
            f"The site to set apart should be one of the table's. Found {apart!r}. Take one that its column names."
        )
    seen = {name: values[kept] for name, values in inputs.items()}
    encoding = encoding_of(seen)
    table = prepare(seen, target[kept], sites[kept], question.task)
    if question.anonymous:
        table = replace(table, sites=tuple(f"site {e + 1}" for e in range(len(table.sites))), notes=table.notes[:0])
    found = compare_table(table, CANDIDATES, question.training, question.seed, question.progress, question.budget)
    method = to_keep(found)
    facts = {"verdict": found.verdict.word, "method": method, "rows": int(kept.sum()), "target": question.target}
    model = model_of(method, Fold(table, -1, question.training, question.seed), encoding, facts)
    shown = {**_facts(found, table), "kept": method, "target": question.target, "advice": advice(found, method)}
    if apart is not None:
        shown["apart"] = _last_look(model, inputs, target, ~kept, "the site set apart" if question.anonymous else apart)
    return Answer(shown, found.verdict, model)


def to_keep(found: Comparison) -> str:
    """Return the candidate to use: what helps, else the best pooled one that can be kept."""
    if found.verdict.word == "helps":
        return found.verdict.method
    pooled = [name for name in ("pooled linear", "pooled network") if name in found.scores and name in SAVED]
    return max(pooled, key=lambda name: float(np.mean(found.scores[name])))


def advice(found: Comparison, method: str) -> list[str]:
    """Return what to do next, in sentences."""
    screened = [feature.column for feature in found.audit.features if feature.screened]
    said: list[str] = []
    if found.verdict.word == "helps" and method == "screening" and screened:
        said.append(f"Leave out {', '.join(screened)} and train any model you like on the pool: that is all it takes.")
    elif found.verdict.word == "helps":
        said.append("Use agreement. Dropping the columns that disagree was tried beside it and gave less.")
    else:
        said.append(f"Use the {method} model.")
    best = max(found.scores, key=lambda name: float(np.mean(found.scores[name])))
    if best == "pooled boosting":
        said.append("Pooled boosting did best here. It is not kept in the model file: fit scikit-learn's on all rows.")
    if found.audit.flagged:
        said.append(
            f"Ask the sites what they write into {', '.join(found.audit.flagged[:5])}: its meaning differs between them."
        )
    if found.audit.odd_sites:
        said.append(f"Look at {', '.join(found.audit.odd_sites)}: most relations there are unlike the others'.")
    if found.audit.at_one_site:
        said.append(f"{', '.join(found.audit.at_one_site[:5])} varies at one site only: nothing else tells what it means.")
    return said


def _facts(found: Comparison, table: Table) -> dict[str, Any]:
    candidates = [
        {
            "name": name,
            "mean": float(np.mean(scores)),
            "interval": t_interval(scores),
            "worst": float(min(scores)),
            "scores": list(scores),
            "seconds": found.seconds[name],
            "verdict": found.verdicts[name].word if name in found.verdicts else "",
        }
        for name, scores in found.scores.items()
    ]
    means = [table.y[table.site == e].mean(0) for e in range(len(table.sites))]
    profile = [
        {
            "name": name,
            "rows": size,
            "base": [float(share) for share in mean],
            "judged": bool(judged),
        }
        for name, size, mean, judged in zip(table.sites, table.sizes, means, table.judged, strict=True)
    ]
    audited = found.audit
    features = [dict(zip(("column", "score", "flagged", "screened", "signs"), one, strict=True)) for one in audited.features]
    return {
        "sentence": found.verdict.sentence,
        "word": found.verdict.word,
        "differences": dict(zip(found.sites, found.verdict.differences, strict=True)),
        "against": found.verdict.against,
        "method": found.verdict.method,
        "p": found.verdict.p,
        "others": [one.sentence for name, one in found.verdicts.items() if name != found.verdict.method],
        "unit": UNIT[found.task],
        "candidates": candidates,
        "held_out": list(found.sites),
        "sites": profile,
        "classes": None if table.classes is None else [str(label) for label in table.classes],
        "rows": len(table.x),
        "features": features,
        "site_names": list(audited.sites),
        "odd": list(audited.odd_sites),
        "lonely": list(audited.at_one_site),
        "notes": list(dict.fromkeys(found.notes)),
    }


def _last_look(model: Model, inputs: Columns, target: NDArray[Any], rows: NDArray[np.bool_], name: str) -> str:
    predicted = model.predicted({column: values[rows] for column, values in inputs.items()})
    if model.classes is None:
        error = float(np.sqrt(np.mean((predicted - target[rows].astype(float)) ** 2)))
        return f"On {name}, which had no part in anything, the kept model's root mean squared error is {error:.4g}."
    known = target[rows].astype(str)
    right = float(np.mean([(predicted.astype(str)[known == label] == label).mean() for label in np.unique(known)]))
    return f"On {name}, which had no part in anything, the kept model's balanced accuracy is {100 * right:.1f} points."


def distill_answer(columns: Columns, privileged: Sequence[str], question: Question, folds: int = 10) -> Answer:
    """Compare the vote over closed-form teachers with and without privileged columns, and with ridge; keep the better.

    The unit is a fold of rows here. Folds share training rows, so the interval is narrower than that of new data would be.

    Args:
        columns: by name, target and privileged ones among them.
        privileged: names of those known in training only.
        question: what is asked.
        folds: of rows.

    Raises:
        TypeError, ValueError: a table that cannot be asked.
    """
    inputs = {name: values for name, values in columns.items() if name not in (question.target, *privileged)}
    target = columns[question.target]
    if len(target) < 40:
        raise ValueError(f"Ten folds need 40 rows at least. Found {len(target)}. Use ridge.")
    # Two made-up sites: `prepare` checks and encodes; rows are not told apart by them.
    halves = np.arange(len(target)) % 2
    table = prepare(inputs, target, halves, question.task)
    known = prepare({name: columns[name] for name in privileged}, target, halves, question.task).x
    x, z = (np.nan_to_num(Scaling.of(values).applied(values)) for values in (table.x, known))
    y = table.y[:, 1:] if table.y.shape[1] == 2 else table.y
    scores = _distill_scores(x, y, z, table, folds, question)
    verdict = judge(scores, "vote", "vote without privileged columns", ["ridge", "vote without privileged columns"])
    taught = verdict.word == "helps"
    voted = VotedTeachers(random_state=question.seed).fit(x, y, z if taught else None)
    facts = {"verdict": verdict.word, "method": "vote" if taught else "vote without privileged columns"}
    model = _linear_model(voted, table, encoding_of(inputs), {**facts, "target": question.target, "rows": len(target)})
    votes = {name: round(share, 3) for name, share in sorted(voted.votes_.items(), key=lambda item: -item[1])}
    unit = UNIT[table.task].replace("the pooled linear model's", "ridge's")
    shown = {
        "sentence": _in_folds(verdict.sentence),
        "word": verdict.word,
        "kept": facts["method"],
        "target": question.target,
        "privileged": list(privileged),
        "votes": votes,
        "unit": unit,
        "candidates": [{"name": name, "mean": float(np.mean(one)), "worst": float(min(one))} for name, one in scores.items()],
        "rows": len(target),
        "notes": [note for note in table.notes if "site" not in note],
        "advice": [
            "Keep recording these columns for training." if taught else "Leave the privileged columns: ridge's vote does."
        ],
    }
    return Answer(shown, verdict, model)


def _in_folds(sentence: str) -> str:
    """The verdict's sentence where the unit is a fold of rows; how many more would settle it says nothing then."""
    first, _, _ = sentence.partition(" About ")
    return first.replace("on sites it had not seen", "on rows it had not seen").replace("sites", "folds")


def _distill_scores(x: Numbers, y: Numbers, z: Numbers, table: Table, folds: int, question: Question) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = {"ridge": [], "vote without privileged columns": [], "vote": []}
    labels = table.labels
    kind = KFold if table.classes is None else StratifiedKFold
    splits = list(kind(folds, shuffle=True, random_state=question.seed).split(x, labels))
    for done, (train, test) in enumerate(splits, 1):
        models = (
            RidgeCV(STRENGTHS).fit(x[train], y[train]),
            VotedTeachers(random_state=question.seed).fit(x[train], y[train]),
            VotedTeachers(random_state=question.seed).fit(x[train], y[train], z[train]),
        )
        found = [
            _fold_score(np.asarray(model.predict(x[test])).reshape(len(test), -1), labels[test], table) for model in models
        ]
        if table.classes is None:
            found = [100 * (1 - one / found[0]) for one in found]
        for name, one in zip(scores, found, strict=True):
            scores[name].append(one)
        if question.progress is not None:
            question.progress(done, folds)
    return scores


def _fold_score(prediction: Numbers, labels: NDArray[Any], table: Table) -> float:
    if table.classes is None:
        return float(np.sqrt(np.mean((prediction[:, 0] - labels) ** 2)))
    chosen = (prediction[:, 0] > 0.5).astype(int) if prediction.shape[1] == 1 else prediction.argmax(1)
    return 100 * float(balanced_accuracy_score(labels, chosen))


def _linear_model(voted: VotedTeachers, table: Table, encoding: Any, facts: Mapping[str, Any]) -> Model:  # noqa: ANN401
    scaling = Scaling.of(table.x)
    weight, bias = voted.coef_, voted.intercept_
    if table.classes is not None and len(weight) == 1:  # the second class's code; the first has what is left of 1
        weight, bias = np.concatenate([-weight, weight]), np.concatenate([1 - bias, bias])
    ones = np.ones(len(weight))
    arrays = {"mean": scaling.mean, "spread": scaling.spread, "0.weight": weight[None], "0.bias": bias[None]}
    return Model(encoding, table.classes, {**arrays, "target mean": 0 * ones, "target spread": ones}, "numbers", facts)


def skips_answer(recorded: Recorded, question: Question, ahead: int | None = None) -> Answer:
    """Compare fixed and adaptive steps on trajectories, and fit the one to use on all of them.

    Args:
        recorded: the trajectories.
        question: what is asked; of its fields `seed`, `budget` and `progress` count here.
        ahead: how many frames ahead a state is to be predicted.

    Raises:
        TypeError, ValueError: trajectories that cannot be asked.
    """
    budget = _affordable(recorded, question)
    found = compare_forecasters(recorded.frames, ahead, budget, question.seed)
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


def _affordable(recorded: Recorded, question: Question) -> Budget:
    """Training steps that the seconds allow, by the time of a few; all of them where there is time."""
    full = Budget(progress=question.progress)
    if question.budget is None:
        return full
    window = min(32, *(len(one) for one in recorded.frames))
    tried = SkipForecaster(horizon=4, steps=8, evaluations=full.evaluations, window=max(2, window), random_state=question.seed)
    tried.fit(recorded.frames)  # the first time takes longer
    start = time.perf_counter()
    tried.fit(recorded.frames)
    steps = question.budget / 21 / ((time.perf_counter() - start) / 8)  # about 21 networks
    return replace(full, steps=int(min(full.steps, max(20, steps))))


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
