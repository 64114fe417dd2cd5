"""Every candidate on folds of whole sites and on random folds; which simple one is best is chosen inside, on other sites."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mechlearn.tables.reading_in import Table
from mechlearn.tables.transport.folds import Rows, inner, of_rows
from mechlearn.tables.transport.learners import Learner, predicted
from mechlearn.tables.transport.scores import error, score

Prediction = NDArray[np.float64]
"""(n, K) probabilities, or (n,) numbers; NaN where there is none."""


@dataclass(frozen=True)
class Failure:
    """A candidate that could not be fitted on a fold, or could not predict there; the others go on.

    Attributes:
        candidate: its name.
        fold: what was held out.
        sentence: of the error.
    """

    candidate: str
    fold: str
    sentence: str

    def __str__(self) -> str:
        """Return what failed where."""
        return f"{self.candidate} failed {self.fold}: {self.sentence}"


@dataclass(eq=False)
class Trials:
    """A table, its candidates, and what failed on the way.

    Args:
        table: prepared.
        simple: candidates of which the best is the yardstick.
        own: others.
        generator: of inner folds.
        told: called after each outer fold.
    """

    table: Table
    simple: Sequence[Learner]
    own: Sequence[Learner]
    generator: Generator
    told: Callable[[], None]
    failures: list[Failure] = field(default_factory=list[Failure])

    def empty(self) -> Prediction:
        """Return predictions that are not made yet."""
        shape = self.table.y.shape if self.table.classes is not None else self.table.y.shape[:1]
        return np.full(shape, np.nan)

    def tried(self, name: str, setting: Any, train: Rows, asked: Rows, fold: str) -> Prediction:  # noqa: ANN401  # an estimator
        """Return predictions for some rows, or NaN and a failure more."""
        try:
            return predicted(setting, self.table, train, asked)
        except Exception as problem:  # of anybody's code: the others go on
            sentence = str(problem).strip().splitlines() or [""]
            self.failures.append(Failure(name, fold, f"{type(problem).__name__}: {sentence[0]}".removesuffix(": ")))
            return self.empty()[asked]

    def chosen(self, learner: Learner, train: Rows, folds: Sequence[Rows], always: bool = False) -> tuple[Any, float]:
        """Return a candidate's setting that is best on validation folds, and how good it is there.

        Args:
            learner: the candidate.
            train: training rows.
            folds: of these the ones to validate on, each by what the other training rows teach.
            always: whether to validate where there is one setting only.
        """
        if len(learner.settings) == 1 and not always:
            return learner.settings[0], 0.0
        merits = [self._merit(setting, train, folds) for setting in learner.settings]
        best = int(np.argmax(merits))
        return learner.settings[best], merits[best]

    def _merit(self, setting: Any, train: Rows, folds: Sequence[Rows]) -> float:  # noqa: ANN401  # an estimator
        said = self.empty()
        for fold in folds:
            try:
                said[fold] = predicted(setting, self.table, np.setdiff1d(train, fold), fold)
            except Exception:  # it is not chosen then; fails it on all training rows, too, that is told
                return -np.inf
        return merit(self.table, train, said)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What folds gave.

    Attributes:
        predictions: of each candidate, by what had not seen the rows.
        folds: the sites of each fold of sites; none for random folds.
        yardstick: of each fold of sites the simple candidate that was best on validation sites, and its estimator.
    """

    predictions: dict[str, Prediction]
    folds: Sequence[Sequence[int]] = ()
    yardstick: Sequence[tuple[str, Any]] = ()


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


def on_sites(trials: Trials, folds: Sequence[Sequence[int]]) -> Outcome:
    """Hold out whole sites: settings and the yardstick are chosen on validation sites among the others."""
    table = trials.table
    said = {one.name: trials.empty() for one in (*trials.simple, *trials.own)} | {YARDSTICK: trials.empty()}
    best: list[tuple[str, Any]] = []
    for fold in folds:
        asked = np.flatnonzero(np.isin(table.site, fold))
        train = np.flatnonzero(~np.isin(table.site, fold))
        names = [table.sites[site] for site in fold]
        where = f"without site {names[0]}" if len(names) == 1 else f"without {len(names)} sites, {names[0]} among them"
        within = inner(table, train, trials.generator)
        choices = [(one, *trials.chosen(one, train, within, len(trials.simple) > 1)) for one in trials.simple]
        for one, setting, _ in choices:
            said[one.name][asked] = trials.tried(one.name, setting, train, asked, where)
        for one in trials.own:
            said[one.name][asked] = trials.tried(one.name, one.settings[0], train, asked, where)
        first, setting, _ = max(choices, key=lambda choice: choice[2])
        said[YARDSTICK][asked] = said[first.name][asked]
        best.append((first.name, setting))
        trials.told()
    return Outcome(said, folds, best)


def on_random_rows(trials: Trials, count: int) -> Outcome:
    """Hold out rows at random, as cross-validation does; settings are chosen on random rows, too."""
    table, every = trials.table, np.arange(len(trials.table.site))
    said = {one.name: trials.empty() for one in (*trials.simple, *trials.own)}
    for place, asked in enumerate(of_rows(table, every, count, trials.generator)):
        train = np.setdiff1d(every, asked)
        within = of_rows(table, train, 3, trials.generator)
        for one in (*trials.simple, *trials.own):
            setting, _ = trials.chosen(one, train, within)
            said[one.name][asked] = trials.tried(one.name, setting, train, asked, f"on random fold {place + 1} of {count}")
        trials.told()
    return Outcome(said)
