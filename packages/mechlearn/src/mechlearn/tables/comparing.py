"""Will it help me? Candidates on a person's own table, judged on sites that they have not seen.

All candidates have the same loss, log loss or squared error, and classes weigh what they are. The verdict is drawn on AUC or R
squared, so that no threshold has a say. Where the budget is short all networks get fewer settings, then all candidates fewer
folds: none is left out.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.arguments import check_one_of
from mechlearn.tables.candidates import CANDIDATES, NETWORKS, PEERS, SIMPLE, TRAINING, Candidate, Fold
from mechlearn.tables.disagreement import SHARED, Disagreement, audit
from mechlearn.tables.fitting import Task, Training
from mechlearn.tables.reading_in import Doubt, Numbers, Table, prepare
from mechlearn.tables.saving.parts import NOWHERE, Parts
from mechlearn.tables.scores import NAMES, error, score
from mechlearn.tables.transport.folds import of_sites
from mechlearn.tables.verdict import AGREEING, Verdict, judge

SETTINGS, PILOT = (6, 2, 1), 5
"""Settings that every network may have, the most first; training steps by which time is estimated."""

ALWAYS = ("pooled linear", "pooled network")
POOLED = ("pooled linear", "pooled boosting", "pooled network")
UNIT: dict[Task, str] = {task: f"{names[0]} in points" for task, names in NAMES.items()}


@dataclass(frozen=True, eq=False)
class Comparison:
    """What came out.

    Attributes:
        verdict: the one to go by: of the simplest candidate that helps, else of the best that is not pooled.
        verdicts: of every candidate that is not pooled.
        scores: of each candidate at each held-out site, in points of AUC or R squared.
        sites: the held-out ones.
        table: that was asked.
        seconds: of computing, of each candidate, all folds.
        late: sentences on what was left out.
        seed: of everything random.
        predictions: of each candidate, (n, K) on the table's rows, each by what had not seen its site; NaN where it was not
            judged.
        settings: that each network had.
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
    settings: int = SETTINGS[0]

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

    Every site is held out once, by itself up to 25 sites, else in ten folds of sites. All settings are chosen inside, on
    held-out sites among the others. The linear model and the network are always there.

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
    """Return candidates by name, simple ones first, and those that are always there."""
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

    Where the budget (seconds of computing, all candidates together) is short, networks have fewer settings, then there are
    fewer folds, three at least. Sites that are `new` are judged together by what was trained on all others; without any each
    site is held out once. Parts are results that are there already, and where to put others.
    """
    held_out, late = (_new(table, new), list[str]()) if new else _judged(table)
    folds = [held_out] if new else _shuffled(held_out, seed)
    settings = SETTINGS[0]
    if budget is not None:
        asked = partial(_settings, table, folds, candidates, training, seed, budget)
        settings = int(parts.made("settings", lambda: {"settings": np.array(asked())})["settings"])
    each = (Fold(table, tuple(out), training, seed, settings) for out in folds)
    fits = ((~fold.trained_on, {name: partial(one, fold) for name, one in candidates.items()}) for fold in each)
    predictions, seconds, made = by_folds(list(candidates), fits, len(folds), table.y.shape, Limits(budget, progress, parts))
    judged = sorted(site for out in folds[:made] for site in out)
    late += short_note(settings, len(judged), len(held_out), "sites to be held out")
    scores = {name: tuple(_points(table, said, site) for site in judged) for name, said in predictions.items()}
    pooled = [name for name in POOLED if name in scores]
    simple = [*pooled, *(name for name in SIMPLE if name in scores and name not in POOLED)]
    judged_ones = [name for name in scores if name not in POOLED]
    errors = {name: [_error(table, said, site) for site in judged] for name, said in predictions.items()}
    verdicts = {name: judge(scores, name, pooled if name in SIMPLE else simple, errors=errors) for name in judged_ones}
    verdicts = {name: _tried(verdict, len(table.sites) - len(folds[0])) for name, verdict in verdicts.items()}
    sites, told = tuple(table.sites[site] for site in judged), chosen(verdicts, scores)
    return Comparison(told, verdicts, scores, sites, table, seconds, tuple(late), seed, predictions, settings)


def _judged(table: Table) -> tuple[list[int], list[str]]:
    """Sites to hold out, and a sentence on those where the score is undefined."""
    varied = [bool(np.ptp(table.labels[table.site == site]) > 0) for site in range(len(table.sites))]
    if not (table.judged & varied).any():
        raise ValueError(
            "The target should vary within some site. Found one value in every site: site and target say the same. Name "
            "another column that says where a row comes from."
        )
    names = [table.sites[site] for site in np.flatnonzero(table.judged & ~np.array(varied))]
    late = [f"{len(names)} sites hold one value of the target each: trained on, not judged."] if names else []
    return np.flatnonzero(table.judged & varied).tolist(), late


def _shuffled(sites: Sequence[int], seed: int) -> list[list[int]]:
    """Folds of sites in an order of their own, so that a short budget leaves out sites at random."""
    generator = np.random.default_rng([seed, len(sites)])
    folds = of_sites(sites, generator)
    return [folds[place] for place in generator.permutation(len(folds))]


def _settings(
    table: Table,
    folds: Sequence[Sequence[int]],
    candidates: Mapping[str, Candidate],
    training: Training,
    seed: int,
    budget: float,
) -> int:
    """Settings that there is time for, by a few steps of the AND-mask; the model that is kept costs as much as a fold."""
    few = min(PILOT, training.steps)
    fold = Fold(table, tuple(folds[0]), replace(training, steps=few), seed)
    taken = [float(timed(partial(fold.network, NETWORKS["AND-mask"]))["seconds"]) for _ in range(2)]
    networks = len([name for name in candidates if name not in POOLED[:2]])
    return settings_within(taken[1] * training.steps / few * networks * (len(folds) + 1), budget)


def settings_within(full: float, budget: float) -> int:
    """Return how many settings a network may have, where all take so many seconds."""
    return next((count for count in SETTINGS if full * count / SETTINGS[0] <= budget), SETTINGS[-1])


class Limits(NamedTuple):
    """What a comparison may spend (seconds of computing), who is told of it, and what is there already."""

    budget: float | None
    progress: Callable[[int, int], None] | None
    parts: Parts


Fits = Iterable[tuple[NDArray[Any], Mapping[str, Callable[[], Numbers]]]]
"""Of each fold the rows held out, and by a candidate's name what predicts them."""


def by_folds(
    names: Sequence[str], fits: Fits, folds: int, shape: tuple[int, ...], limits: Limits
) -> tuple[dict[str, Numbers], dict[str, float], int]:
    """Return each candidate's predictions (NaN where there are none), its seconds, and how many folds there was time for."""
    predictions = {name: np.full(shape, np.nan) for name in names}
    seconds, total, made = dict.fromkeys(names, 0.0), folds * len(names), 0

    def told(done: int) -> None:
        if limits.progress is not None:
            limits.progress(done, total)

    for rows, predict in fits:
        # There should be time for another fold, and for the model to keep.
        spent = sum(seconds.values()) * (made + 2) / max(1, made)
        if limits.budget is not None and made >= min(AGREEING, folds) and spent > limits.budget:
            told(total)
            break
        for place, name in enumerate(names, 1):
            found = limits.parts.made(f"{name} {made}", partial(timed, predict[name]))
            predictions[name][rows] = found["prediction"]
            seconds[name] += float(found["seconds"])
            told(made * len(names) + place)
        made += 1
    return predictions, seconds, made


def short_note(settings: int, made: int, folds: int, what: str) -> list[str]:
    """Return a sentence where a budget left something out."""
    if settings == SETTINGS[0] and made == folds:
        return []
    found = f"The budget allowed {settings} of {SETTINGS[0]} settings for each network, and {made} of {folds} {what}"
    return [Doubt(f"{found}; --budget gives more.")]


def timed(predict: Callable[[], Numbers]) -> dict[str, NDArray[Any]]:
    """Return a prediction, and the seconds that it took."""
    start = time.process_time()  # not the wall's: what else the machine does must not decide; and every thread counts
    prediction = predict()
    return {"prediction": prediction, "seconds": np.array(time.process_time() - start)}


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


def chosen(verdicts: Mapping[str, Verdict], scores: Mapping[str, Sequence[float]]) -> Verdict:
    """Return the verdict to go by: of the simplest candidate that helps, else of the one that is not pooled and did best.

    Where agreement could not be tried, nothing is told of the others unless one helps.
    """
    helping = [one for one in verdicts.values() if one.word == "helps"]
    if helping:  # what is not simple helps only where it is a point above what is
        return max(helping, key=lambda one: (one.method not in SIMPLE, float(np.mean(scores[one.method]))))
    if not verdicts:
        return judge(scores, "pooled network", POOLED[:1])
    asked = [one for one in verdicts.values() if one.untold] or list(verdicts.values())
    return max(asked, key=lambda one: float(np.mean(scores[one.method])))


def _points(table: Table, said: Numbers, site: int) -> float:
    """AUC or R squared at a site, times a hundred."""
    found = score(*_at(table, said, site))
    return 100 * found if found is not None else float("nan")


def _error(table: Table, said: Numbers, site: int) -> float:
    """Log loss or RMSE at a site."""
    return error(*_at(table, said, site))


def _at(table: Table, said: Numbers, site: int) -> tuple[NDArray[Any], Numbers]:
    rows = table.site == site
    return table.labels[rows], said[rows] if table.classes is not None else said[rows, 0]
