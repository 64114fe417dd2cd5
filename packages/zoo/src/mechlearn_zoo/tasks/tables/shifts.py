"""Clinics that differ in base rate and calibration, and clinics that differ in what two columns say together."""

import torch
from torch import Generator

from mechlearn_zoo.tasks.streams import same_stream
from mechlearn_zoo.tasks.tables.cells import WEAK, all_cells, weak
from mechlearn_zoo.tasks.tables.sites import TURNED, SiteTable, normal, signs

NEW_ROWS = 100


def calibration(seed: int, sites: int = 8, rows: int = 40, offset: float = 0.7, gain: float = 0.3) -> SiteTable:
    """Return the weak columns of cells, measured with instruments of each clinic's own: no column changes its meaning.

    Malignant tumours make up 15 to 65 % of a clinic's rows, and every column is stretched and moved by draws of its own.

    Args:
        seed: of the rows and the instruments.
        sites: clinics; a new one of 100 rows comes beside.
        rows: of each.
        offset: standard deviation of how far a column is moved, in its own.
        gain: standard deviation of the logarithm of how far it is stretched.

    Raises:
        ValueError: more rows than there are of either kind.
    """
    generator = Generator().manual_seed(seed)
    x, y = all_cells()
    sizes = [rows] * sites + [NEW_ROWS]
    rates = torch.linspace(0.15, 0.65, sites + 1)[torch.randperm(sites + 1, generator=generator)].tolist()
    ill = [round(rate * size) for rate, size in zip(rates, sizes, strict=True)]
    pools = [(y == kind).nonzero()[:, 0] for kind in (0, 1)]
    pools = [pool[torch.randperm(len(pool), generator=generator)] for pool in pools]
    wanted = (sum(sizes) - sum(ill), sum(ill))
    if wanted[0] > len(pools[0]) or wanted[1] > len(pools[1]):
        raise ValueError(
            f"There are {len(pools[0])} benign and {len(pools[1])} malignant tumours. Found {wanted[0]} and {wanted[1]} asked "
            "for. Take fewer sites or rows."
        )
    well = pools[0][: wanted[0]].split([size - count for size, count in zip(sizes, ill, strict=True)])
    parts = [torch.cat(pair) for pair in zip(well, pools[1][: wanted[1]].split(ill), strict=True)]
    measured = [
        x[part][:, list(WEAK)] * (gain * normal(generator, len(WEAK))).exp() + offset * normal(generator, len(WEAK))
        for part in parts
    ]
    site = torch.arange(sites + 1).repeat_interleave(torch.tensor(sizes))
    names = (*(f"clinic {e + 1}" for e in range(sites)), "new")
    return SiteTable(torch.cat(measured), y[torch.cat(parts)], site, names, ("new",), ())


def interactions(seed: int, sites: int = 8, rows: int = 53, noise: float = 0.5) -> SiteTable:
    """Return the weak columns of cells beside two that say nothing alone and the diagnosis together.

    u is -1 or 1 by a coin, v is u times the diagnosis' sign times the clinic's: 1 at most, -1 at a quarter of them. The new
    clinic, which has the rows that are left, is one of the turned kind.

    Args:
        seed: of the rows and the columns.
        sites: clinics.
        rows: of each.
        noise: standard deviation of what is added to both.
    """
    table, generator = weak(seed, sites, rows), same_stream(seed)
    sign = torch.cat([signs(sites, max(1, round(TURNED * sites)), generator), -torch.ones(1)])
    coin = torch.randint(0, 2, (len(table.y),), generator=generator) * 2.0 - 1
    other = coin * (2.0 * table.y - 1) * sign[table.site]
    columns = torch.stack([coin, other], 1) + noise * normal(generator, len(table.y), 2)
    return table._replace(x=torch.cat([table.x, columns], 1), planted=(len(WEAK), len(WEAK) + 1))
