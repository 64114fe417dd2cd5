"""What is compared on every table, and the rows that come of it. Nothing is fitted but by `mechlearn.tables`.

Where columns are known in training only it is networks trained as the estimators do: untaught, with an auxiliary head, by LDT.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge

from claimlab import Limited, Row
from mechlearn.tables.candidates import TRAINING, Candidate, Fold
from mechlearn.tables.comparing import compare_table, named
from mechlearn.tables.disagreement import screened_columns
from mechlearn.tables.distilling import students
from mechlearn.tables.distilling.meta import WARM, Form, ldt, warm_ldt
from mechlearn.tables.distilling.students import Lessons, Teach, alone, auxiliary
from mechlearn.tables.reading_in import Numbers, Scaling, Table, prepare
from mechlearn_zoo.tasks.tables import SiteTable

TAUGHT = ("AND-mask", "conflict rule", "Cochran's Q", "IRM", "V-REx", "Fishr", "group DRO")
"""Ways to train the same network; six configurations each, as pooled training and screening have."""

METHODS = ("pooled linear", "pooled network", "screening", *TAUGHT)
"""In every table. Boosting joins where there are two classes: with ten it takes longer than all others together."""


Cell = Mapping[str, str | float]
"""Where in an experiment's grid a table stands, as its rows have it."""


@dataclass(frozen=True)
class Settings(Limited):
    """Settings of one seed of comparisons."""

    seed: int = 100
    """First seed: of the table, the inner folds, the initial weights and the batches. Settings were searched from 1000 on."""
    steps: Annotated[int, Ge(1)] = 120
    """Optimiser steps of the networks."""


def q_filter(fold: Fold) -> Numbers:
    """The pooled network without the columns whose relation differs between training sites significantly, however little."""
    return fold.without(screened_columns(fold.x, fold.y, fold.table, fold.trained_on).significant.numpy())


def oracle(planted: Sequence[int]) -> Candidate:
    """Return the pooled network without the planted columns, which nobody knows."""

    def candidate(fold: Fold) -> Numbers:
        return fold.without(np.isin(np.arange(fold.x.shape[1]), planted))

    return candidate


def table_of(board: SiteTable) -> Table:
    """Return a board as `mechlearn.tables` takes it."""
    names = np.array(board.sites)[board.site.numpy()]
    return prepare(board.x.double().numpy(), board.y.numpy(), names, "classification")


def candidates(board: SiteTable, methods: Sequence[str] | None = None) -> dict[str, Candidate]:
    """Return what is compared on a board: by name, and the two filters that know less and more than screening.

    Args:
        board: the table.
        methods: their names; None for `METHODS`, and boosting where there are two classes.
    """
    if methods is None:
        methods = METHODS if int(board.y.max()) > 1 else (*METHODS, "pooled boosting")
    extra: Mapping[str, Callable[[Fold], Numbers]] = {"Q filter": q_filter}
    known = {"oracle": oracle(board.planted)} if board.planted else {}
    return {**named(methods), **extra, **known}


def scores(settings: Settings, board: SiteTable, chosen: Mapping[str, Candidate], cell: Cell) -> Iterator[Row]:
    """Yield each candidate's AUC at each new site, in points; trained on all other sites.

    Args:
        settings: of the networks.
        board: the table.
        chosen: what is compared.
        cell: where in the grid this is, for the rows.
    """
    yield from compared(settings, table_of(board), chosen, cell, board.new)


def compared(
    settings: Settings, table: Table, chosen: Mapping[str, Candidate], cell: Cell, new: Sequence[str] = ()
) -> Iterator[Row]:
    """Yield each candidate's score at new sites; without any each site is new once, to what was trained on the others.

    Args:
        settings: of the networks.
        table: prepared.
        chosen: what is compared.
        cell: where in the grid this is, for the rows.
        new: sites that nothing is trained on.
    """
    training = replace(TRAINING, steps=settings.steps)
    found = compare_table(table, chosen, training, settings.seed, new=new)
    for method, values in found.scores.items():
        for site, score in zip(found.sites, values, strict=True):
            yield {"kind": "score", **cell, "new": site, "method": method, "score": score}


TEACHING: dict[str, Teach] = {"network": alone, "auxiliary head": auxiliary, "LDT": ldt}
FORMS: dict[str, Teach] = {
    **TEACHING,
    "LDT, weighed": partial(ldt, form=Form(weighed=True)),
    "LDT, warm": warm_ldt,
    "LDT, again": partial(ldt, form=Form(again=True)),
    "LDT, all three": partial(ldt, form=Form(weighed=True, warm=WARM, again=True)),
}
"""LDT as the thesis has it, with its coefficient learnt, with a teacher that starts by knowing the label as the estimators have
it, and with a fresh student of the teacher in the end."""

Predict = Callable[[Numbers], Numbers]
"""From inputs to targets, in their own units."""


class Known(NamedTuple):
    """Training rows.

    Attributes:
        x: (n, J).
        privileged: (n, Q), known in training only.
        y: (n, K).
    """

    x: Numbers
    privileged: Numbers
    y: Numbers


def fitted(known: Known, seed: int, teaching: Mapping[str, Teach] = TEACHING) -> dict[str, Predict]:
    """Return what each way to teach makes, six configurations each, chosen and stopped early on folds of the rows."""
    scalings = [Scaling.of(values) for values in known]
    x, privileged, y = (scaling.applied(values) for scaling, values in zip(scalings, known, strict=True))
    lessons = Lessons(x, y, privileged, "regression", students.TRAINING, seed)
    return {name: _predictor(teach, lessons, scalings[0], scalings[2]) for name, teach in teaching.items()}


def _predictor(teach: Teach, lessons: Lessons, inputs: Scaling, targets: Scaling) -> Predict:
    learnt = teach(lessons)
    return lambda x: learnt.says(inputs.applied(x), lessons.task) * targets.spread + targets.mean
