"""Will my model survive the next site? Random folds beside folds of whole sites, and the room."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from mechlearn.arguments import check_whole
from mechlearn.tables.fitting import Task
from mechlearn.tables.reading_in import Table, prepare
from mechlearn.tables.transport.answer import Transport
from mechlearn.tables.transport.evaluation import YARDSTICK, Prediction, Trials, merit, on_random_rows, on_sites
from mechlearn.tables.transport.folds import held_out, of_sites
from mechlearn.tables.transport.learners import SIMPLE, own_learners, simple_learners
from mechlearn.tables.transport.room import MOST, room
from mechlearn.tables.transport.scored import scored
from mechlearn.tables.transport.scores import NAMES


def transport(
    X: Any,  # noqa: ANN401, N803  # anything that is a table
    y: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    candidates: Mapping[str, Any] | None = None,
    *,
    simple: Sequence[str] = tuple(SIMPLE),
    task: Task | None = None,
    random_state: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Transport:
    """Ask what a model will do at the next site, and what could be won by training differently.

    Every site is left out once, by itself up to 25 sites, else in ten folds of sites. Columns become numbers as in `compare`;
    candidates see these, NaN where one is missing, and classes as whole numbers from 0.

    Args:
        X: a data frame, columns by name, or a matrix.
        y: the target.
        groups: the site of each row.
        candidates: by name estimators of scikit-learn's kind, compared beside the simple ones.
        simple: of `SIMPLE`; the best of them, chosen on validation sites, is the yardstick.
        task: "classification" or "regression"; from the target if None.
        random_state: seed of everything random.
        progress: called with how many of how many folds are done.

    Raises:
        TypeError, ValueError: if the table cannot be asked, or a candidate is none.
    """
    check_whole("random_state", random_state)
    return transport_table(prepare(X, y, groups, task), candidates or {}, simple, random_state, progress)


def transport_table(
    table: Table,
    candidates: Mapping[str, Any],
    simple: Sequence[str] = tuple(SIMPLE),
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Transport:
    """Ask a prepared table; the arguments are those of `transport`.

    Raises:
        TypeError, ValueError: if it cannot be asked, or a candidate is none.
    """
    sites = held_out(table)
    undefined = _undefined(table, sites)
    places, *streams = [np.random.default_rng([seed, place]) for place in range(4)]
    folds = of_sites(sites, places)
    at_random = max(2, min(10, len(folds)))
    told = _counter(progress, len(folds) + at_random + min(MOST, len(sites) - len(undefined)))
    simples, own = simple_learners(simple, table.task, seed % 2**32), own_learners(candidates, table.task, seed % 2**32)
    trials = [Trials(table, simples, own, stream, told) for stream in streams]
    apart = on_sites(trials[0], folds)
    mixed = on_random_rows(trials[1], at_random).predictions
    found = {one.name: scored(table, sites, apart.predictions[one.name], mixed[one.name]) for one in (*own, *simples)}
    kept = max((one.name for one in simples), key=lambda name: _merit(table, sites, apart.predictions[name]))
    best = {YARDSTICK: scored(table, sites, apart.predictions[YARDSTICK], mixed[kept])}
    space = room(trials[2], apart)
    chosen = dict(Counter(name for name, _ in apart.yardstick))
    failed = tuple(dict.fromkeys(one for trial in trials for one in trial.failures))
    said, names = (*_chosen_by_rows(table), *undefined, *_others(table)), tuple(table.sites[site] for site in sites)
    return Transport(table.task, names, {**best, **found}, tuple(candidates), kept, chosen, space, failed, said)


def _merit(table: Table, sites: Sequence[int], said: Prediction) -> float:
    """How good a candidate is at the left-out sites; of one that failed there, below all."""
    rows = np.flatnonzero(np.isin(table.site, sites))
    return merit(table, rows, said) if np.isfinite(said[rows]).all() else -np.inf


def _undefined(table: Table, sites: Sequence[int]) -> list[str]:
    """Sentences on sites where the score that verdicts are drawn on is undefined.

    Raises:
        ValueError: if it is so everywhere: groups and target say the same.
    """
    first, second = NAMES[table.task]
    rows = [table.labels[table.site == site] for site in sites]
    names = [table.sites[site] for site, own in zip(sites, rows, strict=True) if not bool((own != own[0]).any())]
    if len(names) == len(sites):
        raise ValueError(
            "The target should vary within some site. Found one value in every site: site and target say the same. Name "
            "another column that says where a row comes from."
        )
    what = "class" if table.task == "classification" else "value of the target"
    told = f"holds one {what}: its {first} is undefined, and its {second} is what is known of it"
    return [f"Site {name} {told}." for name in names]


def _others(table: Table) -> list[str]:
    """The table's notes, without those that a site of one class is not judged: here its log loss is."""
    return [note for note in table.notes if not (note in table.naming and note.endswith("one class: trained on, not judged."))]


def _chosen_by_rows(table: Table) -> list[str]:
    if len(table.sites) > 2:
        return []
    return ["With two sites, one is left to train on: settings and the best simple candidate are chosen on its rows."]


def _counter(progress: Callable[[int, int], None] | None, total: int) -> Callable[[], None]:
    steps = count(1)
    return lambda: None if progress is None else progress(min(next(steps), total), total)
