"""Cells of breast tumours at several clinics: the weak columns of scikit-learn's table, and what clinics write beside them.

The table is 'Breast Cancer Wisconsin (Diagnostic)' (Wolberg et al. 1995): 569 rows, thirty columns, malignant or benign. From
the nine columns that say least alone a logistic regression is right in some 80 % of the rows, so that a shortcut is worth
something. Clinics are random parts of the rows: what they differ in is planted.
"""

from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_share
from mechlearn_zoo.tasks.tables.sites import TURNED, SiteTable, tagged

TOTAL = 569
WEAK = (18, 11, 9, 14, 19, 16, 15, 29, 8)
"""Columns whose correlation with the diagnosis is at most .33."""
WARDS = 8


def all_cells() -> tuple[Float[Tensor, "569 30"], Int[Tensor, "569"]]:
    """Return the table, standardised, and 1 where a tumour is malignant."""
    from sklearn.datasets import load_breast_cancer  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415  # slow to load

    x, y = cast("tuple[np.ndarray, np.ndarray]", load_breast_cancer(return_X_y=True))
    columns = torch.from_numpy(x)
    return ((columns - columns.mean(0)) / columns.std(0)).float(), torch.from_numpy(1 - y).long()


def weak(seed: int, sites: int = 8, rows: int = 53) -> SiteTable:
    """Return the weak columns at so many clinics, and a new one that has the rows that are left: nothing is planted."""
    return _parted(seed, sites, rows)[0]


def _parted(seed: int, sites: int, rows: int) -> tuple[SiteTable, Generator]:
    if min(sites, rows) < 2 or sites * rows > TOTAL - 20:
        raise ValueError(
            f"Sites of two rows or more should leave 20 of the {TOTAL} rows for the new one. Found {sites} of {rows}. "
            "Take fewer."
        )
    generator = Generator().manual_seed(seed)
    x, y = all_cells()
    order = torch.randperm(TOTAL, generator=generator)
    site = (torch.arange(TOTAL) // rows).clamp(max=sites)
    names = (*(f"clinic {e + 1}" for e in range(sites)), "new")
    return SiteTable(x[order][:, list(WEAK)], y[order], site, names, ("new",), ()), generator


def wards(seed: int, sites: int = 8, rows: int = 53, clear: float = 0.9) -> SiteTable:
    """Return the weak columns beside eight of 0 and 1 that say on which ward a patient lay: each clinic has its own habits.

    Args:
        seed: of the rows and the wards.
        sites: clinics; with the new one, which fills its wards in a way of its own, one more.
        rows: of each.
        clear: how often a patient lies on one of the four wards that a clinic has for the diagnosis, a share.
    """
    check_share("clear", clear)
    table, generator = _parted(seed, sites, rows)
    ward = torch.zeros(TOTAL, dtype=torch.int64)
    for e in range(sites + 1):
        own = torch.randperm(WARDS, generator=generator).view(2, -1)
        patients = table.of(e).nonzero()[:, 0]
        as_told = torch.rand(len(patients), generator=generator) < clear
        kind = torch.where(as_told, table.y[patients], 1 - table.y[patients])
        ward[patients] = own[kind, torch.randint(WARDS // 2, (len(patients),), generator=generator)]
    x = torch.cat([table.x, torch.nn.functional.one_hot(ward, WARDS).float()], 1)
    return table._replace(x=x, planted=tuple(range(len(WEAK), len(WEAK) + WARDS)))


def tag(seed: int, sites: int = 6, rows: int = 71, noise: float = 1.0, turned: float = TURNED) -> SiteTable:
    """Return the weak columns beside one that goes with the diagnosis, turned round at some of the clinics.

    Three new clinics have the same patients, and the tag as before, shuffled or reversed.

    Args:
        seed: of the rows and the tag.
        sites: clinics.
        rows: of each.
        noise: standard deviation of what is added to the tag's -1 or 1.
        turned: share of the clinics at which it is turned round; 0: all share it.
    """
    table, generator = _parted(seed, sites, rows)
    return tagged(table, sites, noise, generator, turned)
