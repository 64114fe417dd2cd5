"""Small tables of several sites with twenty more to come, on which a verdict can be checked: does what it said come true?

Rows are scikit-learn's: nine weak columns of cells (`mechlearn_zoo.tasks.tables.cells`), or noisy digits
(`mechlearn_zoo.tasks.tables.codes`). Sites are random parts of them; what they differ in is planted, and drawn anew for every
site to come, which has 100 of the rows that no other site holds (sites to come share these rows).
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn_zoo.tasks.pictures.digits import digits_in_order
from mechlearn_zoo.tasks.tables.cells import WEAK, all_cells
from mechlearn_zoo.tasks.tables.codes import CORNERS, PLAIN, coded
from mechlearn_zoo.tasks.tables.sites import SiteTable, normal

SITES, CELLS, DIGITS = 8, 40, 60
"""Sites that there are, and rows of each."""
COMING, EACH = 20, 100
"""Sites to come, 2,000 rows together."""
TURNED = 2
"""Further sites at which a tag is turned round."""
SIGNED = 6
"""Columns that mean what a site pleases."""


class Parts(NamedTuple):
    """Rows of sites that there are and of sites to come.

    Attributes:
        x: (n, J).
        y: (n,).
        site: (n,) positions in `names`.
        names: of all sites.
        new: of those to come.
        generator: for what is planted.
    """

    x: Float[Tensor, "n j"]
    y: Int[Tensor, " n"]
    site: Int[Tensor, " n"]
    names: tuple[str, ...]
    new: tuple[str, ...]
    generator: Generator

    def table(self, x: Tensor, planted: tuple[int, ...] = ()) -> SiteTable:
        """Return the table with these columns."""
        return SiteTable(x, self.y, self.site, self.names, self.new, planted)

    def beside(self, columns: Tensor) -> SiteTable:
        """Return the table with planted columns beside its own."""
        width = self.x.shape[1]
        return self.table(torch.cat([self.x, columns], 1), tuple(range(width, width + columns.shape[1])))


def _parts(x: Tensor, y: Tensor, rows: int, seed: int, further: tuple[str, ...] = ()) -> Parts:
    generator = Generator().manual_seed(seed)
    names = (*(f"site {e + 1}" for e in range(SITES)), *further)
    order = torch.randperm(len(x), generator=generator)
    known, rest = order[: rows * len(names)], order[rows * len(names) :]
    fresh = [rest[torch.randperm(len(rest), generator=generator)[:EACH]] for _ in range(COMING)]
    index = torch.cat([known, *fresh])
    site = torch.cat(
        [torch.arange(len(names)).repeat_interleave(rows), len(names) + torch.arange(COMING).repeat_interleave(EACH)]
    )
    new = tuple(f"coming {e + 1}" for e in range(COMING))
    return Parts(x[index], y[index], site, (*names, *new), new, generator)


def _cells(seed: int, further: tuple[str, ...] = ()) -> Parts:
    x, y = all_cells()
    return _parts(x[:, list(WEAK)], y, CELLS, seed, further)


def _digits(seed: int) -> Parts:
    x, y = digits_in_order()
    parts = _parts(x.flatten(1), y, DIGITS, seed)
    return parts._replace(x=parts.x + PLAIN.noise * normal(parts.generator, *parts.x.shape))


def plain_cells(seed: int) -> SiteTable:
    """Return the weak columns of cells: nothing is planted, nothing can be gained."""
    parts = _cells(seed)
    return parts.table(parts.x)


def rare_cells(seed: int) -> SiteTable:
    """Return the weak columns of cells, of which .15 to .3 are malignant: nothing is planted, nothing can be gained."""
    generator = Generator().manual_seed(seed)
    x, y = all_cells()
    share = 0.15 + 0.15 * float(torch.rand((), generator=generator))
    malignant, benign = (y == 1).nonzero()[:, 0], (y == 0).nonzero()[:, 0]
    some = torch.randperm(len(malignant), generator=generator)[: round(len(benign) * share / (1 - share))]
    rows = torch.cat([benign, malignant[some]])
    parts = _parts(x[rows][:, list(WEAK)], y[rows], CELLS, seed)
    return parts.table(parts.x)


def plain_digits(seed: int) -> SiteTable:
    """Return noisy digits: nothing is planted, nothing can be gained."""
    parts = _digits(seed)
    return parts.table(parts.x)


def signed_cells(seed: int) -> SiteTable:
    """Return the weak columns beside six that go with the diagnosis, for it or against it as each site and column pleases.

    Their height, of a noise of 1, is drawn between 0.5 and 1.5.
    """
    parts = _cells(seed)
    height = 0.5 + torch.rand((), generator=parts.generator)
    sign = torch.randint(0, 2, (len(parts.names), SIGNED), generator=parts.generator) * 2.0 - 1
    noise = normal(parts.generator, len(parts.y), SIGNED)
    return parts.beside(height * sign[parts.site] * (2.0 * parts.y[:, None] - 1) + noise)


def coded_digits_to_come(seed: int) -> SiteTable:
    """Return noisy digits with a code of each site's own in the corners, of a height drawn between 0.5 and 1.5."""
    parts = _digits(seed)
    height = 0.5 + float(torch.rand((), generator=parts.generator))
    x = parts.x.clone()
    for e in range(len(parts.names)):
        rows = parts.site == e
        x[rows] = coded(parts.x[rows], parts.y[rows], height, parts.generator)
    return parts.table(x, CORNERS)


def tagged_cells(seed: int) -> SiteTable:
    """Return the weak columns beside a tag that goes with the diagnosis, at two further sites, "turned", against it.

    All sites to come have it as it is at most, so that whoever leaves it out loses.
    """
    turned = tuple(f"turned {e + 1}" for e in range(TURNED))
    parts = _cells(seed, turned)
    sign = torch.tensor([-1.0 if name in turned else 1.0 for name in parts.names])
    column = sign[parts.site] * (2.0 * parts.y - 1) + normal(parts.generator, len(parts.y))
    return parts.beside(column[:, None])
