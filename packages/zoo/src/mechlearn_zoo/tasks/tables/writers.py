"""Digits by thirteen writers: real sites, which may differ in whatever people's hands differ in.

The 1797 digits are the part of UCI's 'Optical recognition of handwritten digits' (Alpaydin and Kaynak 1998) that thirteen
people wrote. The file does not say who wrote what: thirteen equal stretches of its order stand in for the writers, whose
bounds are not known. Nobody planted anything, so that what helps here helps with real differences.
"""

import torch
from torch import Generator

from mechlearn_zoo.tasks.pictures.digits import TOTAL, digits_in_order
from mechlearn_zoo.tasks.tables.codes import CORNERS, coded
from mechlearn_zoo.tasks.tables.sites import SiteTable

WRITERS = 13


def writers(seed: int, new: int = 3, height: float = 0.0) -> SiteTable:
    """Return the digits by writer, some of them new.

    Args:
        seed: of the choice of new writers and of the codes.
        new: how many writers nothing is trained on.
        height: of a code of each writer's own in the corners; 0: nothing is planted.

    Raises:
        ValueError: fewer than one new writer, or fewer than two others.
    """
    if not 1 <= new <= WRITERS - 2:
        raise ValueError(f"`new` should be 1 to {WRITERS - 2} of {WRITERS} writers. Found {new}.")
    generator = Generator().manual_seed(seed)
    x, y = digits_in_order()
    site = torch.arange(TOTAL) * WRITERS // TOTAL
    x = torch.cat([coded(x[site == e].flatten(1), y[site == e], height, generator) for e in range(WRITERS)])
    names = tuple(f"writer {e + 1}" for e in range(WRITERS))
    chosen = torch.randperm(WRITERS, generator=generator)[:new].tolist()
    return SiteTable(x, y, site, names, tuple(names[e] for e in sorted(chosen)), CORNERS if height else ())
