"""Noisy digits at several sites, each of which writes the label as a code of its own into the corner pixels.

A code is easy to read where it is known, and worth nothing at a site with another one. Without codes the sites are random parts
of one population: rows are exchangeable and no rule can gain.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator
from mechlearn_zoo.tasks.pictures.digits import CLASSES, TOTAL, digits
from mechlearn_zoo.tasks.streams import same_stream
from mechlearn_zoo.tasks.tables.sites import SiteTable, tagged

CORNERS = (0, 1, 6, 7, 56, 57, 62, 63)
"""Pixels that hold the code: two in each corner of 8 x 8, almost always empty."""


class Writing(NamedTuple):
    """How pixels are spoiled: noise added to values between 0 and 1, and the codes' height; 0: no codes."""

    noise: float = 0.5
    code: float = 1.0


PLAIN = Writing()


class CodedDigits(NamedTuple):
    """Rows of the training sites, (sites, rows, 64) and (sites, rows), and of a site with a code of its own for testing."""

    x: Float[Tensor, "e n 64"]
    y: Int[Tensor, "e n"]
    test_x: Float[Tensor, "t 64"]
    test_y: Int[Tensor, " t"]


def coded_digits(seed: int, sites: int, rows: int, writing: Writing = PLAIN, test: int = 500) -> CodedDigits:
    """Draw the digits' rows of each site and of one more.

    Args:
        seed: of the rows, the noise and the codes, by `manual_seed`: weights of a normal distribution should have another
            generator (`mechlearn_zoo.tasks.streams.stream`), as from this one units would be the noise of the first site's
            rows.
        sites: training sites.
        rows: of each.
        writing: how pixels are spoiled.
        test: rows of the site with another code.

    Raises:
        ValueError: more rows than there are digits.
    """
    generator = Generator().manual_seed(seed)
    found = digits(seed, train=sites * rows, validation=1, test=test)

    def written(x: Tensor, y: Tensor) -> Tensor:
        noisy = x.flatten(1) + writing.noise * torch.randn(len(x), 64, generator=generator)
        return coded(noisy, y, writing.code, generator)

    x, y = found.train.x.view(sites, rows, 64), found.train.y.view(sites, rows)
    each = torch.stack([written(one, labels) for one, labels in zip(x, y, strict=True)])
    return CodedDigits(each, y, written(found.test.x, found.test.y), found.test.y)


def coded(pixels: Float[Tensor, "n 64"], labels: Int[Tensor, " n"], height: float, generator: Generator) -> Tensor:
    """Return a site's pixels with a code of its own in the corners: a sign for each class and corner, and a little noise.

    Raises:
        TypeError: no generator.
    """
    check_generator("generator", generator)
    codes = torch.randint(0, 2, (CLASSES, len(CORNERS)), generator=generator) * 2.0 - 1
    if not height:
        return pixels
    pixels = pixels.clone()
    noise = 0.1 * torch.randn(len(pixels), len(CORNERS), generator=generator)
    pixels[:, list(CORNERS)] = height * codes[labels] + noise
    return pixels


def codes(seed: int, sites: int, rows: int, height: float = 1.0) -> SiteTable:
    """Return so many training sites and a new one, which has the digits that are left; each with a code of its own.

    4 x 359, 8 x 179 and 16 x 89 leave 360, 364 and 372 rows for the new site.
    """
    found = coded_digits(seed, sites, rows, Writing(code=height), TOTAL - 1 - sites * rows)
    site = torch.cat([torch.arange(sites).repeat_interleave(rows), torch.full((len(found.test_y),), sites)])
    names = (*(f"site {e + 1}" for e in range(sites)), "new")
    x, y = torch.cat([found.x.flatten(0, 1), found.test_x]), torch.cat([found.y.flatten(), found.test_y])
    return SiteTable(x, y, site, names, ("new",), CORNERS if height else ())


def digits_tag(seed: int, sites: int = 8, rows: int = 179, noise: float = 1.0) -> SiteTable:
    """Return noisy digits, odd or even, beside a column that goes with that, as `mechlearn_zoo.tasks.tables.cells.tag` has it.

    Args:
        seed: of the rows and the tag.
        sites: training sites.
        rows: of each.
        noise: standard deviation of what is added to the tag's -1 or 1.
    """
    table = codes(seed, sites, rows, height=0.0)
    return tagged(table._replace(y=table.y % 2), sites, noise, same_stream(seed))
