"""Will it help me? Candidates on a person's own table, judged on sites that they have not seen."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from mechlearn.arguments import check_one_of
from mechlearn.tables.candidates import CANDIDATES, NETWORKS, PEERS, SIMPLE, Candidate, Fold
from mechlearn.tables.disagreement import SHARED, Disagreement, audit
from mechlearn.tables.fitting import Task, Training
from mechlearn.tables.reading_in import Numbers, Table, prepare
from mechlearn.tables.saving.parts import NOWHERE, Parts
from mechlearn.tables.verdict import Verdict, judge

LATE = "was left out: it would have taken more than its share of the budget"
"""What a note says of a candidate that there was no time for."""

ALWAYS = ("pooled linear", "pooled network")
POOLED = ("pooled linear", "pooled boosting", "pooled network")
UNIT = {
    "classification": "balanced accuracy in points",
    "regression": "lower RMSE in points, per cent of the pooled linear model's",
}
TRAINING = Training(hidden=32, steps=120, rows_per_site=64)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out.

    Attributes:
        verdict: the one to go by: of the simplest candidate that helps, else of the first that is not pooled.
        verdicts: of every candidate that is not pooled.
        scores: of each candidate at each held-out site; points of balanced accuracy, or per cent of RMSE below the pooled
            linear model's.
        sites: the held-out ones.
        table: that was asked.
        seconds: of computing, of each candidate, all folds.
        late: sentences on what was left out.
        seed: of everything random.
        predictions: of each candidate, (n, K) on the table's rows, each by what had not seen its site; NaN where it was not
            judged.
    """

    verdict: Verdict
    verdicts: Mapping[str, Verdict]
    scores: Mapping[str, tuple[float, ...]]
    sites: tuple[str, ...]
    table: Table
    seconds: Mapping[str, float]
    late: tuple[str, ...]
    seed: int
    predictions: Mapping[str, Numbers]

    @cached_property
    def audit(self) -> Disagreement:
        """Which columns the sites disagree about; read when it is first asked for."""
        return audit(self.table, random_state=self.seed)

    @property
    def task(self) -> Task:
        """What the target is."""
        return self.table.task

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table, and what cannot be seen."""
        return (*self.late, *self.table.notes, SHARED)

    def __str__(self) -> str:
        """The verdict, and a line a candidate."""
        width = max(map(len, self.scores))
        lines = [self.verdict.sentence, "", f"{'':<{width}}   mean  worst   ({UNIT[self.task]}, {len(self.sites)} sites)"]
        for name, scores in self.scores.items():
            lines.append(f"{name:<{width}}  {np.mean(scores):5.1f}  {min(scores):5.1f}")
        return "\n".join([*lines, "", *self.notes])


def compare(
    X: Any,  # noqa: ANN401, N803  # anything that is a table
    y: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    methods: Sequence[str] = tuple(CANDIDATES),
    *,
    task: Task | None = None,
    training: Training = TRAINING,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare methods on a table by nested leave-one-site-out.

    Every site is held out once; all settings are chosen inside, on held-out sites among the others. The linear model is always
    there, since its error is a regression's unit, and the network, since it is what agreement is held against.

    Args:
        X: a data frame, columns by name, or a matrix.
        y: the target.
        groups: the site of each row.
        methods: names of `CANDIDATES`, and of `PEERS` beside these.
        task: "classification" or "regression"; from the target if None.
        training: of the networks.
        random_state: seed of everything random.
        progress: told how many of how many fits are done.

    Raises:
        TypeError, ValueError: a method that there is none of, or a table that cannot be asked.
    """
    table, candidates = prepare(X, y, groups, task), named(methods)
    return compare_table(table, candidates, training, random_state, progress)


def named(methods: Sequence[str]) -> dict[str, Candidate]:
    """Return candidates by name, simple ones first, and those that are always there.

    Raises:
        ValueError: a method that there is none of.
    """
    every = {**CANDIDATES, **PEERS}
    for name in methods:
        check_one_of("methods", name, tuple(every))
    return {name: one for name, one in every.items() if name in {*ALWAYS, *methods}}


def compare_table(
    table: Table,
    candidates: Mapping[str, Candidate],
    training: Training = TRAINING,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
    budget: float | None = None,
    new: Sequence[str] = (),
    parts: Parts = NOWHERE,
) -> Comparison:
    """Compare candidates on a prepared table; also ones of your own, beside "pooled linear" and "pooled network".

    Args:
        table: prepared.
        candidates: by name.
        training: of the networks.
        seed: of everything random.
        progress: told how many of how many fits are done.
        budget: seconds of computing, split evenly over the candidates; one that would need more is left out, and the notes say
            so. The linear model and the pooled network always finish.
        new: sites to be judged together by what was trained on all others; none: each site is held out once.
        parts: results that are there already, and where to put others.

    Raises:
        ValueError: new sites that the table does not have or that cannot be judged, or all of them.
    """
    held_out: list[int] = _new(table, new) if new else np.flatnonzero(table.judged).tolist()
    folds: list[int | tuple[int, ...]] = [tuple(held_out)] if new else [*held_out]
    errors: dict[str, list[float]] = {name: [] for name in candidates}
    predictions = {name: np.full(table.y.shape, np.nan) for name in candidates}
    times: dict[str, list[float]] = {name: [] for name in candidates}
    slow, done = list[str](), 0
    for place, out in enumerate(folds):
        fold = Fold(table, out, training, seed)
        judged = ~fold.trained_on
        for name, candidate in candidates.items():
            done += 1
            if name in slow:
                continue
            found = parts.made(f"{name} {place}", partial(_timed, candidate, fold))
            predictions[name][judged] = found["prediction"]
            for site in np.atleast_1d(out):
                rows = table.site == site
                errors[name].append(_score(predictions[name][rows], table.y[rows], table.task))
            times[name].append(float(found["seconds"]))
            if budget is not None and name not in ALWAYS and too_slow(times[name], len(folds), budget / len(candidates)):
                slow.append(name)
            if progress is not None:
                progress(done, len(folds) * len(candidates))
    scores = _in_points({name: values for name, values in errors.items() if name not in slow}, table.task)
    verdicts = {name: judge(scores, name, "pooled network", _simple(scores)) for name in scores if name not in POOLED}
    verdicts = {name: _tried(verdict, len(table.sites) - int(np.size(folds[0]))) for name, verdict in verdicts.items()}
    sites = tuple(table.sites[site] for site in held_out)
    told = chosen(verdicts, scores)
    late = [f"{name} {LATE}." for name in slow]
    said, seconds = {name: predictions[name] for name in scores}, {name: sum(values) for name, values in times.items()}
    return Comparison(told, verdicts, scores, sites, table, seconds, tuple(late), seed, said)


def too_slow(times: Sequence[float], folds: int, share: float) -> bool:
    """Return whether a candidate will need more than its share of the seconds.

    By what it took, and from the second fold on by its quickest fold: the first one in a process also pays for the start.
    """
    left = min(times) * (folds - len(times)) if len(times) > 1 else 0.0
    return sum(times) + left > share


def _timed(candidate: Candidate, fold: Fold) -> dict[str, Any]:
    start = time.thread_time()  # not the wall's: what else the machine does must not decide who is left out
    prediction = candidate(fold)
    return {"prediction": prediction, "seconds": np.array(time.thread_time() - start)}


def _new(table: Table, names: Sequence[str]) -> list[int]:
    for name in names:
        check_one_of("new", name, table.sites)
    found = [table.sites.index(name) for name in names]
    if not table.judged[found].all() or len(found) == len(table.sites):
        raise ValueError(
            "New sites should have enough rows and more than one class, and leave others to train on. Found "
            f"{', '.join(names)} of {len(table.sites)} sites. Name fewer."
        )
    return found


def _tried(verdict: Verdict, trained_on: int) -> Verdict:
    """Return a verdict, and that nothing can be told where a network was to learn what one site agrees on with itself."""
    if verdict.method not in NETWORKS or trained_on > 2:
        return verdict
    # Screening compares all sites that it is trained on; networks those that an inner fold leaves, for choosing settings.
    held = "with two sites to train on, one is held out for choosing" if trained_on == 2 else "there is one site to train on"
    return replace(verdict, word="cannot tell", untold=f"{held}, and nothing is left to agree. That takes four sites at least.")


def _simple(scores: Mapping[str, Any]) -> list[str]:
    return [name for name in SIMPLE if name in scores]


def chosen(verdicts: Mapping[str, Verdict], scores: Mapping[str, Sequence[float]]) -> Verdict:
    """Return the verdict to go by: of the simplest candidate that helps, else of the first that is not pooled."""
    helping = [one for one in verdicts.values() if one.word == "helps"]
    if helping:  # what is not simple helps only where it is a point above what is
        return max(helping, key=lambda one: (one.method not in SIMPLE, float(np.mean(scores[one.method]))))
    if not verdicts:
        return judge(scores, "pooled network", "pooled linear", _simple(scores))
    asked = [one for name, one in verdicts.items() if name not in SIMPLE] or list(verdicts.values())
    return asked[0]


def _score(prediction: Numbers, truth: Numbers, task: Task) -> float:
    """Balanced accuracy over the classes that there are, in points; or the root mean squared error."""
    if task == "regression":
        return float(np.sqrt(np.mean((prediction - truth) ** 2)))
    right = truth[np.arange(len(truth)), prediction.argmax(1)]
    counts = truth.sum(0)
    return 100 * float(np.mean([(right * truth[:, k]).sum() / counts[k] for k in np.flatnonzero(counts)]))


def _in_points(errors: Mapping[str, list[float]], task: Task) -> dict[str, tuple[float, ...]]:
    if task == "classification":
        return {name: tuple(values) for name, values in errors.items()}
    linear = np.asarray(errors["pooled linear"])
    return {name: tuple((100 * (1 - np.asarray(values) / linear)).tolist()) for name, values in errors.items()}
