"""From columns, a target and sites to a table that can be asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mechlearn.tables.fitting import Sites, Task
from mechlearn.tables.reading_in.cells import Numbers
from mechlearn.tables.reading_in.columns import columns_of, one_dimensional
from mechlearn.tables.reading_in.encoding import encoding_of
from mechlearn.tables.reading_in.notes import no_inputs, notes_on, rare_classes, repeated
from mechlearn.tables.reading_in.sites import LEAST, SMALL, pooled, site_names
from mechlearn.tables.reading_in.targets import check_target, target_codes
from mechlearn.tables.reading_in.warnings import placeholders, spellings, units


@dataclass(frozen=True, eq=False)
class Table:
    """A table that can be asked: numbers, a target and sites; rows lie site by site.

    Attributes:
        x: (n, J) numbers, NaN where one is missing.
        names: J.
        y: (n, K) one column of 0 and 1 a class, or (n, 1) numbers.
        classes: K labels, or None for numbers.
        site: (n,) the site of each row, ascending from 0.
        sites: E labels.
        judged: (E,) False where a site cannot be held out: too few rows, or one class.
        notes: sentences on what was done to the table.
        naming: those of the notes that name a site.
    """

    x: Numbers
    names: tuple[str, ...]
    y: Numbers
    classes: tuple[Any, ...] | None
    site: NDArray[np.int64]
    sites: tuple[str, ...]
    judged: NDArray[np.bool_]
    notes: tuple[str, ...]
    naming: tuple[str, ...] = ()

    @property
    def task(self) -> Task:
        """What the target is."""
        return "regression" if self.classes is None else "classification"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Rows of each site."""
        return tuple(np.bincount(self.site, minlength=len(self.sites)).tolist())

    @property
    def labels(self) -> NDArray[np.int64] | Numbers:
        """(n,) positions in `classes`, or the numbers."""
        return self.y[:, 0] if self.classes is None else self.y.argmax(1)

    def sites_of(self, x: Numbers, y: Numbers) -> Sites:
        """Return this table's sites with standardised numbers in single precision."""
        single = [torch.tensor(values, dtype=torch.float32) for values in (x, y)]
        return Sites(single[0], single[1], self.sizes, torch.ones(len(x)), self.task)


def prepare(
    X: Any,  # noqa: ANN401, N803  # anything that is a table
    y: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    task: Task | None = None,
    compared: bool = True,
) -> Table:
    """Return a table that can be asked.

    Args:
        X: a data frame (pandas, polars, pyarrow), a mapping of columns, or a matrix.
        y: the target, one for each row.
        groups: the site of each row; a missing one belongs to a site of its own, "(missing)".
        task: "classification" or "regression"; from the target if None.
        compared: whether sites are held out; if not, none is pooled, refused or said anything of.
    """
    columns = columns_of(X)
    rows = len(next(iter(columns.values())))
    target, labels = one_dimensional("y", y, rows), one_dimensional("groups", groups, rows)
    check_target(target, task=task)
    codes, classes = target_codes(target, task)
    named = site_names(labels)
    names, small = pooled(named) if compared else (named, [])
    sites, site = np.unique(names, return_inverse=True)
    if compared and len(sites) < 2:
        count = len(np.unique(named))
        found = "one site" if count == 1 else f"{count} sites, all with fewer"
        raise ValueError(
            f"Sites are compared, so there should be at least two of {LEAST} rows. Found {found}. Name another column that "
            "says where a row comes from; with one source, any pooled model will do."
        )
    encoding = encoding_of(columns)
    order = np.argsort(site, kind="stable")
    x, codes, site = encoding.encoded(columns)[order], codes[order], site[order].astype(np.int64)
    known = tuple(sites.tolist())
    judged, naming = _judged(known, site, codes, classes) if compared else (np.ones(len(known), dtype=bool), [])
    spelt, sites_spelt = spellings(encoding, classes, np.unique(named).tolist() if compared else ())
    naming = [*naming, *sites_spelt]
    notes = [*rare_classes(codes, classes), *no_inputs(columns, target), *placeholders(columns, target)]
    notes += [*(units(columns, named) if compared else []), *spelt]
    notes += [*notes_on(columns, encoding, labels, x), *repeated(x, codes, site if compared else 0 * site), *small, *naming]
    return Table(x, encoding.names, codes, classes, site, known, judged, tuple(notes), tuple(naming))


def _judged(
    names: Sequence[str], site: NDArray[np.int64], codes: Numbers, classes: tuple[Any, ...] | None
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return (E,) which sites can be held out, and a sentence for each other one that is large enough."""
    large = np.array([name != SMALL for name in names])
    if classes is None:
        return large, []
    counts = np.array([codes[site == e].sum(0) for e in range(len(names))])
    several = large & ((counts > 0).sum(1) > 1)
    if not several.any():
        raise ValueError(
            "Some site should hold more than one class. Found one class in every site: site and target say the same."
        )
    left = (counts.sum(0) - counts > 0).sum(1) > 1  # classes without the site; one only where it is the single one of several
    if not (several & left).any():
        raise ValueError(
            "Without a site the others should hold more than one class, as they are trained on then. Found more than one at a "
            "single site only. Add rows of other classes from other sites, or name another column that says where a row comes "
            "from."
        )
    return several, [f"Site {name} holds one class: trained on, not judged." for name in np.array(names)[large & ~several]]
