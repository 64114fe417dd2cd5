"""Will my model survive the next site? Random folds beside folds of whole sites, and the room."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.arguments import check_positive, check_whole
from mechlearn.tables.fitting import Task
from mechlearn.tables.reading_in import Table, one_dimensional, pooled, prepare, site_names
from mechlearn.tables.scores import NAMES
from mechlearn.tables.transport.answer import SiteMean, Transport
from mechlearn.tables.transport.columns import notes_on_second_level, notes_on_units, second_level, unit_ratios
from mechlearn.tables.transport.drop import drop
from mechlearn.tables.transport.evaluation import YARDSTICK, Prediction, Trials, merit, on_random_rows, on_sites
from mechlearn.tables.transport.folds import held_out, of_sites
from mechlearn.tables.transport.labelled import labelled_rows
from mechlearn.tables.transport.learners import DEFAULT, own_learners, simple_learners
from mechlearn.tables.transport.plans import FULL, affordable, planned, processes, seconds_each, told_of
from mechlearn.tables.transport.room import room
from mechlearn.tables.transport.scored import scored


class Effort(NamedTuple):
    """How much may be fitted, and who is told.

    Attributes:
        budget: seconds of fitting; if it is short, grids shrink first, then folds, then the slowest simple candidates go, and a
            note says so. None for no limit.
        jobs: processes that fit at once; None for all cores where fitting takes long. Results do not depend on it.
        progress: called with how many of how many fits are done.
    """

    budget: float | None = None
    jobs: int | None = 1
    progress: Callable[[int, int], None] | None = None


EVERYTHING = Effort()

TOO_GOOD = 0.98
"""AUC or R squared at left-out sites from which one should look for a leak."""


def transport(
    X: Any,  # noqa: ANN401, N803  # anything that is a table
    y: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    candidates: Mapping[str, Any] | None = None,
    *,
    simple: Sequence[str] = DEFAULT,
    task: Task | None = None,
    random_state: int = 0,
    effort: Effort = EVERYTHING,
) -> Transport:
    """Ask what a model will do at the next site, and what could be won by training differently.

    Every site is left out once, by itself up to 25 sites, else in ten folds of sites. Nothing of a left-out site has a part in
    what predicts it: settings and the best simple candidate are chosen on validation sites. From nine folds on they are chosen
    once for a fifth of the folds, on the sites outside these. Columns become numbers as in `compare`; candidates see these, NaN
    where one is missing, and classes as whole numbers from 0.

    Args:
        X: a data frame, columns by name, or a matrix.
        y: the target.
        groups: the site of each row.
        candidates: by name estimators of scikit-learn's kind, compared beside the simple ones, or None for one of
            `methods.NAMES`. Where X is a pandas frame they see its rows and columns; what fits with `groups` is told sites.
        simple: of `SIMPLE`; the best of them, chosen on validation sites, is the yardstick.
        task: "classification" or "regression"; from the target if None.
        random_state: seed of everything random.
        effort: how much may be fitted, by how many processes.

    Raises:
        TypeError, ValueError: if the table cannot be asked, or a candidate is none.
        ImportError: if a candidate needs a package that is not installed.
    """
    check_whole("random_state", random_state)
    frame = X.iloc[order_of(groups, len(X))] if hasattr(X, "iloc") else None
    return transport_table(prepare(X, y, groups, task), candidates or {}, simple, random_state, effort, frame)


def order_of(groups: Any, rows: int) -> NDArray[np.int64]:  # noqa: ANN401
    """Return the places of a prepared table's rows in what it was prepared from."""
    names, _ = pooled(site_names(one_dimensional("groups", groups, rows)))
    return np.argsort(np.unique(names, return_inverse=True)[1], kind="stable")


def transport_table(
    table: Table,
    candidates: Mapping[str, Any],
    simple: Sequence[str] = DEFAULT,
    seed: int = 0,
    effort: Effort = EVERYTHING,
    frame: Any = None,  # noqa: ANN401  # of pandas
) -> Transport:
    """Ask a prepared table; the arguments are those of `transport`, and a frame with the table's rows in its order."""
    if effort.budget is not None:
        check_positive("budget", effort.budget)
    sites = held_out(table)
    undefined = _undefined(table, sites)
    places, *streams = [np.random.default_rng([seed, place]) for place in range(6)]
    simples, own = simple_learners(simple, table.task, seed % 2**32), own_learners(candidates, table.task, seed % 2**32)
    plan, expected, jobs, left_out = FULL, 0.0, effort.jobs or 1, list[str]()
    if effort.budget is not None or effort.jobs is None:
        seconds = seconds_each(table, [*simples, *own], sites, frame)
        budget = effort.budget or np.inf
        simples, left_out = affordable(simples, own, len(sites), seconds, budget)
        plan, expected = planned(simples, own, len(sites), seconds, budget)
        jobs = effort.jobs or processes(expected)
    simples, own = [plan.thinned(one) for one in simples], [plan.thinned(one) for one in own]
    total = sum(plan.fits(one, len(sites), one in simples) for one in (*simples, *own))
    total += plan.room_fits(len(sites) - len(undefined))
    told = _counter(effort.progress, total)
    trials = [Trials(table, simples, own, stream, told, jobs, frame) for stream in streams[:3]]
    folds = of_sites(sites, places, plan.folds, plan.each)
    apart = on_sites(trials[0], folds)
    mixed = on_random_rows(trials[1], max(2, min(plan.mixed, len(folds)))).predictions
    found = {one.name: scored(table, sites, apart.predictions[one.name], mixed[one.name]) for one in (*own, *simples)}
    kept = max((one.name for one in simples), key=lambda name: _merit(table, sites, apart.predictions[name]))
    best = {YARDSTICK: scored(table, sites, apart.predictions[YARDSTICK], mixed[kept])}
    space = room(trials[2], apart, plan.asked, plan.weights)
    curve = labelled_rows(table, apart, streams[3])
    unseen = apart.predictions[YARDSTICK]
    split = drop(table, sites, unseen, mixed[kept], streams[4])
    chosen = dict(Counter(choice.best for choice in apart.choices))
    failed = tuple(dict.fromkeys(one for trial in trials for one in trial.failures))
    said, names = (*_chosen_by_rows(table), *undefined, *_others(table)), tuple(table.sites[site] for site in sites)
    notes = [*notes_on_units(unit_ratios(table)), *notes_on_second_level(second_level(table), len(sites))]
    said = (*_too_good(table, best[YARDSTICK].mean), *notes, *told_of(plan, expected, effort.budget), *left_out, *said)
    means, event = _means(table, sites, unseen)
    if effort.progress is not None:
        effort.progress(total, total)  # small tables need fewer fits than were expected
    return Transport(
        task=table.task,
        sites=names,
        candidates={**best, **found},
        own=tuple(candidates),
        kept=kept,
        chosen=chosen,
        room=space,
        curve=curve,
        drop=split,
        means=means,
        event=event,
        failures=failed,
        notes=said,
    )


def _means(table: Table, sites: Sequence[int], said: Prediction) -> tuple[tuple[SiteMean, ...], str]:
    """What was predicted and observed at each site on average, and what it is the mean of."""
    rows = {site: table.site == site for site in sites}
    if table.classes is None:
        predicted, found, event = said, table.y[:, 0], "Mean of the target"
    else:
        place = 1 if len(table.classes) == 2 else int(table.y.sum(0).argmax())
        predicted, found, event = said[:, place], table.y[:, place], f"Share of {table.classes[place]}"
    means = [
        SiteMean(table.sites[site], int(own.sum()), float(predicted[own].mean()), float(found[own].mean()))
        for site, own in rows.items()
    ]
    return tuple(means), event


def _merit(table: Table, sites: Sequence[int], said: Prediction) -> float:
    """How good a candidate is at the left-out sites; of one that failed there, below all."""
    rows = np.flatnonzero(np.isin(table.site, sites))
    return merit(table, rows, said) if np.isfinite(said[rows]).all() else -np.inf


def _undefined(table: Table, sites: Sequence[int]) -> list[str]:
    """Sentences on sites where the score that verdicts are drawn on is undefined."""
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


def _too_good(table: Table, mean: float) -> list[str]:
    """Return a sentence where left-out sites are predicted better than is likely without a leak."""
    if not mean >= TOO_GOOD:  # nor where it is NaN
        return []
    return [
        f"An {NAMES[table.task][0]} of {mean:.2f} at sites not seen is too good to be true, perhaps: look whether an input is "
        "known only when the target is."
    ]


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
