"""What a table of several sites is, and what generators share."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator

TURNED = 0.25
"""Share of the sites at which what is planted is turned round."""
AFTER = ("as before", "shuffled", "reversed")
"""What a tag does at a new site: what it does at most, nothing, or the opposite."""


class SiteTable(NamedTuple):
    """Rows of several sites.

    Attributes:
        x: (n, J) columns.
        y: (n,) classes from 0.
        site: (n,) positions in `sites`.
        sites: names.
        new: names of the sites that nothing is to be trained on; none where each is to be held out once.
        planted: positions of the columns that were planted: what they say holds at their own site only.
    """

    x: Float[Tensor, "n j"]
    y: Int[Tensor, " n"]
    site: Int[Tensor, " n"]
    sites: tuple[str, ...]
    new: tuple[str, ...]
    planted: tuple[int, ...]

    def of(self, site: int) -> Tensor:
        """Return (n,) True for the rows of a site."""
        return self.site == site

    @property
    def trained_on(self) -> Tensor:
        """(n,) True for the rows of sites that are not new."""
        fresh = torch.tensor([name in self.new for name in self.sites])
        return ~fresh[self.site]


def signs(count: int, turned: int, generator: Generator) -> Float[Tensor, " count"]:
    """Return 1 for most sites and -1 for some, drawn at random.

    Raises:
        TypeError: no generator.
    """
    check_generator("generator", generator)
    found = torch.ones(count)
    found[torch.randperm(count, generator=generator)[:turned]] = -1.0
    return found


def normal(generator: Generator, *shape: int) -> Tensor:
    """Draw standard normal numbers.

    Raises:
        TypeError: no generator.
    """
    check_generator("generator", generator)
    return torch.randn(shape, generator=generator)


def tagged(table: SiteTable, sites: int, noise: float, generator: Generator, turned: float = TURNED) -> SiteTable:
    """Return a table of two classes with a tag, the rows of its new site three times.

    Args:
        table: without it.
        sites: that are not new.
        noise: standard deviation of what is added to the tag's -1 or 1.
        generator: of the turned sites, the shuffled tag and the noise.
        turned: share of the sites at which the tag is turned round, at least one of them; 0 for none.
    """
    old, fresh = (table.site < sites).nonzero()[:, 0], (table.site == sites).nonzero()[:, 0]
    sign = signs(sites, max(1, round(turned * sites)) if turned else 0, generator)
    at_random = torch.randint(0, 2, (len(fresh),), generator=generator) * 2.0 - 1
    kinds = {"as before": torch.ones(len(fresh)), "shuffled": at_random, "reversed": -torch.ones(len(fresh))}
    rows = torch.cat([old, *[fresh] * len(AFTER)])
    side = torch.cat([sign[table.site[old]], *(kinds[name] for name in AFTER)])
    column = side * (2.0 * table.y[rows] - 1) + noise * normal(generator, len(table.site))[rows]
    site = torch.cat([table.site[old], *(torch.full((len(fresh),), sites + k) for k in range(len(AFTER)))])
    x = torch.cat([table.x[rows], column[:, None]], 1)
    return SiteTable(x, table.y[rows], site, (*table.sites[:sites], *AFTER), AFTER, (x.shape[1] - 1,))
