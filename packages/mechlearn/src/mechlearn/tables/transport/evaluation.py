"""Every candidate on folds of whole sites and on random folds; which simple one is best is chosen inside, on other sites."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.random import Generator
from numpy.typing import NDArray

from mechlearn.tables.reading_in import Table
from mechlearn.tables.scores import error, score
from mechlearn.tables.transport.folds import Rows, blocks, inner, of_rows
from mechlearn.tables.transport.learners import Fit, Learner, tried

Prediction = NDArray[np.float64]
"""(n, K) probabilities, or (n,) numbers; NaN where there is none."""


@dataclass(frozen=True)
class Failure:
    """A candidate that could not be fitted without a fold, or could not predict it, and why; the others go on."""

    candidate: str
    fold: str
    sentence: str

    def __str__(self) -> str:
        """Return what failed where."""
        return f"{self.candidate} failed {self.fold}: {self.sentence}"


@dataclass(eq=False)
class Trials:
    """A table, its candidates, and what failed on the way.

    The best of the simple candidates is the yardstick. The generator is of inner folds, `told` is called after each fit, and so
    many jobs fit at once. A person's own candidates see a pandas frame of the same rows, if there is one, else the table's
    numbers.
    """

    table: Table
    simple: Sequence[Learner]
    own: Sequence[Learner]
    generator: Generator
    told: Callable[[], None]
    jobs: int = 1
    frame: Any = None
    failures: list[Failure] = field(default_factory=list[Failure])

    def empty(self) -> Prediction:
        """Return predictions that are not made yet."""
        shape = self.table.y.shape if self.table.classes is not None else self.table.y.shape[:1]
        return np.full(shape, np.nan)

    def made(self, fits: Sequence[Fit]) -> list[NDArray[np.float64] | str]:
        """Return what each fit predicts, or why it failed."""
        found: list[NDArray[np.float64] | str] = []
        every: Any = (tried(self.table, fit, self.frame) for fit in fits)
        if self.jobs > 1 and len(fits) > 1:
            every = Parallel(self.jobs, return_as="generator")(delayed(tried)(self.table, fit, self.frame) for fit in fits)
        for one in every:
            found.append(one)
            self.told()
        return found


@dataclass(frozen=True, eq=False)
class Choice:
    """What validation chose for some folds, on none of the rows that these hold out: estimators, and the best simple candidate.

    It has what that one said of validated rows, unseen; NaN elsewhere.
    """

    settings: Mapping[str, Any]
    best: str
    said: Prediction


@dataclass(frozen=True, eq=False)
class Outcome:
    """What folds gave: predictions of each candidate that had not seen the rows, the sites of each fold, and its choices."""

    predictions: dict[str, Prediction]
    folds: Sequence[Sequence[int]]
    choices: Sequence[Choice]


YARDSTICK = "best simple"
"""What the yardstick is called beside the candidates."""


def merit(table: Table, rows: Rows, said: Prediction) -> float:
    """Return how good validated predictions are: the mean over sites of AUC, or of minus RMSE.

    Where AUC is undefined at every site it is the mean of minus the log loss.
    """
    by_site = [rows[table.site[rows] == e] for e in np.unique(table.site[rows])]
    if table.classes is not None:
        found = [score(table.labels[own], said[own]) for own in by_site]
        known = [one for one in found if one is not None]
        if known:
            return float(np.mean(known))
    return -float(np.mean([error(table.labels[own], said[own]) for own in by_site]))


def on_sites(trials: Trials, folds: Sequence[Sequence[int]], within: int = 3) -> Outcome:
    """Hold out whole sites: settings and the yardstick are chosen on validation sites outside the fold's block."""
    table = trials.table
    asked = [np.flatnonzero(np.isin(table.site, fold)) for fold in folds]
    names = [[table.sites[site] for site in fold] for fold in folds]
    where = [f"without site {one[0]}" if len(one) == 1 else f"without {len(one)} sites, {one[0]} among them" for one in names]
    choices = _choices(trials, asked, blocks(len(folds)), lambda rows: inner(table, rows, trials.generator, within), True)
    said = _held_out(trials, asked, choices, where)
    best = trials.empty()
    for rows, choice in zip(asked, choices, strict=True):
        best[rows] = said[choice.best][rows]
    return Outcome({**said, YARDSTICK: best}, folds, choices)


def on_random_rows(trials: Trials, count: int, within: int = 3) -> Outcome:
    """Hold out rows at random, as cross-validation does; settings are chosen on random rows outside the fold's block, too."""
    table = trials.table
    asked = of_rows(table, np.arange(len(table.site)), count, trials.generator)
    where = [f"on random fold {place + 1} of {len(asked)}" for place in range(len(asked))]
    halves = blocks(len(asked), most=2, each=2)
    choices = _choices(trials, asked, halves, lambda rows: of_rows(table, rows, within, trials.generator), False)
    return Outcome(_held_out(trials, asked, choices, where), (), choices)


def _held_out(trials: Trials, asked: Sequence[Rows], choices: Sequence[Choice], where: Sequence[str]) -> dict[str, Prediction]:
    """Fit each candidate with what was chosen for each fold on all other rows, and predict the fold."""
    learners = (*trials.simple, *trials.own)
    every = np.arange(len(trials.table.site))
    places = [(fold, one) for fold in range(len(asked)) for one in learners]
    fits = [
        Fit(choices[fold].settings[one.name], np.setdiff1d(every, asked[fold]), asked[fold], named=one.named)
        for fold, one in places
    ]
    said = {one.name: trials.empty() for one in learners}
    for (fold, one), found in zip(places, trials.made(fits), strict=True):
        if isinstance(found, str):
            trials.failures.append(Failure(one.name, where[fold], found))
        else:
            said[one.name][asked[fold]] = found[0]
    return said


def _choices(
    trials: Trials,
    asked: Sequence[Rows],
    parts: Sequence[Sequence[int]],
    within: Callable[[Rows], Sequence[Rows]],
    always: bool,
) -> list[Choice]:
    """Choose every candidate's setting, and the best simple one, once for the folds of each block, on the rows outside it.

    `within` cuts these into validation folds. Candidates with a single setting are validated, too, where what the best one says
    unseen is needed (`always`).
    """
    every = np.arange(len(trials.table.site))
    rest = [np.setdiff1d(every, np.concatenate([asked[fold] for fold in part])) for part in parts]
    folds = [within(rows) for rows in rest]
    wanted = [one for one in trials.simple if always or len(one.settings) > 1 or one.stages]
    places = [
        (block, one, place, fold)
        for block in range(len(parts))
        for one in wanted
        for place in range(len(one.settings))
        for fold in range(len(folds[block]))
    ]
    fits = [
        Fit(one.settings[place], np.setdiff1d(rest[block], folds[block][fold]), folds[block][fold], one.stages)
        for block, one, place, fold in places
    ]
    said: dict[tuple[int, str, int], Prediction] = {}
    for (block, one, place, fold), found in zip(places, trials.made(fits), strict=True):
        stages = max(1, len(one.stages))
        whole = said.setdefault((block, one.name, place), np.stack([trials.empty()] * stages))
        if not isinstance(found, str):  # it is not chosen then; fails it on all training rows, too, that is told
            whole[:, folds[block][fold]] = found
    chosen = [_chosen(trials, rows, {key[1:]: one for key, one in said.items() if key[0] == b}) for b, rows in enumerate(rest)]
    of_fold = {fold: choice for part, choice in zip(parts, chosen, strict=True) for fold in part}
    return [of_fold[fold] for fold in range(len(asked))]


def _chosen(trials: Trials, rows: Rows, said: Mapping[tuple[str, int], Prediction]) -> Choice:
    """Take of each candidate the setting with the largest merit on validated rows; of ties, and without these, the first."""
    settings: dict[str, Any] = {one.name: one.setting(0, -1) for one in (*trials.simple, *trials.own)}
    best, most, unseen = trials.simple[0].name, -np.inf, trials.empty()
    for one in trials.simple:
        found = [(place, stage, path[stage]) for place in range(len(one.settings)) for path in [said.get((one.name, place))]
                 if path is not None for stage in range(len(path))]  # fmt: skip
        if not found:
            continue
        merits = [merit(trials.table, rows, each) if np.isfinite(each[rows]).all() else -np.inf for *_, each in found]
        place, stage, each = found[int(np.argmax(merits))]
        settings[one.name] = one.setting(place, stage)
        if max(merits) > most:
            best, most, unseen = one.name, max(merits), each
    return Choice(settings, best, unseen)
