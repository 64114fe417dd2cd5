"""What a table of several sites is, and what generators share."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor


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
    """Return 1 for most sites and -1 for some, drawn at random."""
    found = torch.ones(count)
    found[torch.randperm(count, generator=generator)[:turned]] = -1.0
    return found


def normal(generator: Generator, *shape: int) -> Tensor:
    """Draw standard normal numbers."""
    return torch.randn(shape, generator=generator)
