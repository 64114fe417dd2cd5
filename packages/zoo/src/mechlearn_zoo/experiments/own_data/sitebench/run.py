"""Reports of `mechlearn fit sites` on tables of twelve sites, and what came true at further sites of the same table.

A seed draws rows and sites of each natural table anew, and ten planted ones. Twelve sites are asked as the command asks them.
The further ones have no part in that: what is trained on the twelve is judged there, with and without rows of their own.
"""

import importlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge, MinLen
from numpy.random import Generator

from claimlab import Preset, Row, check_limits, part
from mechlearn.tables.reading_in import prepare
from mechlearn.tables.scores import score
from mechlearn.tables.transport import DEFAULT, Transport, transport
from mechlearn.tables.transport.evaluation import YARDSTICK, Trials, on_sites
from mechlearn.tables.transport.labelled import labelled_rows
from mechlearn.tables.transport.learners import simple_learners
from mechlearn.tables.transport.room import room
from mechlearn_zoo.experiments.own_data.sitebench.tables import KEPT_BACK, PLANTED, TABLES, Rows, natural, planted

ASKED, LABELLED, FURTHER = 12, 20, 30
"""Sites that are asked about, labelled rows of a further one, and further sites of a planted table."""


@dataclass(frozen=True)
class Config:
    """Settings of one seed."""

    seed: int = 100
    """First seed: of the rows, the sites, the planted tables, and everything that is fitted."""
    tables: Annotated[tuple[str, ...], MinLen(1)] = (*TABLES, *PLANTED)
    """Which are asked, natural and planted."""
    sites: Annotated[int, Ge(ASKED + 2)] = 24
    """Sites of a natural table at most; twelve of them are asked about."""
    rows: Annotated[int, Ge(30)] = 60
    """Rows of a site at most."""
    candidates: str = ""
    """Further candidates on natural tables, as screening,mixed model."""
    model: str = ""
    """A scikit-learn estimator of your own beside the others, as mine:pipeline for pipeline in mine.py."""

    def __post_init__(self) -> None:
        check_limits(self)
        unknown = sorted({*self.tables} - {*TABLES, *PLANTED})
        if unknown:
            raise ValueError(f"`tables` should be of {', '.join((*TABLES, *PLANTED))}. Found {unknown[0]!r}. Take of these.")


PRESETS = {
    "quick": Preset(Config(), seeds=5, tolerance=0.05),
    "candidates": Preset(
        Config(tables=TABLES, candidates="site-informed linear,mixed model,screening,AND-mask"), seeds=1, tolerance=0.05
    ),
}


class Further(NamedTuple):
    """What came true at the further sites.

    Attributes:
        scores: of the best simple candidate of the sites that were asked about.
        room: mean points that each further site's own rows added; NaN if unknown.
        rooms: sites of that mean.
        labelled: mean points that twenty labelled rows added; NaN if unknown.
    """

    scores: list[float]
    room: float
    rooms: int
    labelled: float


def run(config: Config) -> Iterator[Row]:
    """Yield a row for each table, and one for each candidate on it."""
    for name in config.tables:
        yield from part(name, asked(config, name))


def asked(config: Config, name: str) -> Iterator[Row]:
    """Ask a table about some of its sites, and the others what is true."""
    generator = np.random.default_rng([config.seed, *name.encode()])
    own = name in TABLES
    kind = "natural" if own else name.split(maxsplit=1)[0]
    drawn = (
        natural(name, config.sites, config.rows, generator) if own else planted(kind, ASKED + FURTHER, config.rows, generator)
    )
    sites = list(dict.fromkeys(drawn.site.tolist()))
    count = ASKED if len(sites) >= 2 * ASKED else max(9, len(sites) // 2)
    simple = DEFAULT if own else DEFAULT[:2]  # planted tables are linear, and boosting takes minutes
    found = _report(drawn, sites[:count], simple, config)
    came = _further(drawn, sites[count:], simple, config.seed, generator)
    group = "kept back" if name in KEPT_BACK else "natural" if own else "planted"
    yield {"kind": "table", "table": name, "group": group, "differs": kind, **_said(found), **_came(found, came)}
    for candidate, one in found.candidates.items():
        if math.isfinite(one.mean):
            numbers = {"score": 100 * one.mean, "random": 100 * one.random}
            yield {"kind": "candidate", "table": name, "group": group, "candidate": candidate, **numbers}


def _report(drawn: Rows, sites: list[str], simple: tuple[str, ...], config: Config) -> Transport:
    """What `mechlearn fit sites` says with these sites alone."""
    kept = np.isin(drawn.site, sites)
    columns: Any = {name: values[kept] for name, values in drawn.columns.items()}
    names = config.candidates.split(",") if config.candidates and simple == DEFAULT else []
    candidates: dict[str, Any] = {one.strip(): None for one in names}
    if config.model:
        pandas: Any = importlib.import_module("pandas")  # an extra's
        command: Any = importlib.import_module("mechlearn.cli.fit.sites")  # rows of a record depend on none of it
        columns, candidates = pandas.DataFrame(columns), {config.model: command.model_of(config.model), **candidates}
    target, site, seed = drawn.target[kept], drawn.site[kept], config.seed
    return transport(columns, target, site, candidates, simple=simple, task=drawn.task, random_state=seed)


def _further(drawn: Rows, sites: list[str], simple: tuple[str, ...], seed: int, generator: Generator) -> Further:
    """Train on all other sites, and judge at these."""
    table = prepare(drawn.columns, drawn.target, drawn.site, drawn.task)
    held = [place for place, name in enumerate(table.sites) if name in sites]
    trials = Trials(table, simple_learners(simple, table.task, seed), (), generator, lambda: None)
    outcome = on_sites(trials, [held])
    said = outcome.predictions[YARDSTICK]
    scores = [score(table.labels[own], said[own]) for own in (np.flatnonzero(table.site == one) for one in held)]
    space, curve = room(trials, outcome, len(held)), labelled_rows(table, outcome, generator)
    point = None if curve is None else curve.at(LABELLED)
    return Further(
        [one for one in scores if one is not None],
        math.nan if space is None else space.mean,
        0 if space is None else len(space.gains),
        math.nan if point is None else point.gain,
    )


def _said(found: Transport) -> Row:
    best = found.candidates[YARDSTICK]
    point = None if found.curve is None else found.curve.at(LABELLED)
    numbers = {"left out": 100 * best.mean, "random": 100 * best.random, "gap": 100 * best.gap}
    ends = {} if best.next_site is None else {"low": 100 * best.next_site.low, "high": 100 * best.next_site.high}
    space = {} if found.room is None else {"room": found.room.mean, "word": found.room.word}
    labelled = {} if point is None else {"labelled": point.gain}
    return {"task": found.task, "kept": found.kept, "sites": len(found.sites), **numbers, **ends, **space, **labelled}


def _came(found: Transport, came: Further) -> Row:
    """What is said against what came true.

    The room's interval is of the mean over many sites. The further sites are few, too, so that it is widened by their share.
    """
    row: Row = {"further": 100 * float(np.mean(came.scores)), "further sites": len(came.scores)}
    span = found.candidates[YARDSTICK].next_site
    if span is not None:
        row["covered"] = float(np.mean([span.low <= one <= span.high for one in came.scores]))
    space = found.room
    if space is not None and space.interval is not None and came.rooms:
        wide = (space.interval.high - space.mean) * math.sqrt(1 + len(space.gains) / came.rooms)
        row |= {"room further": came.room, "room covered": float(abs(came.room - space.mean) <= wide)}
    if math.isfinite(came.labelled):
        row["labelled further"] = came.labelled
    return row
