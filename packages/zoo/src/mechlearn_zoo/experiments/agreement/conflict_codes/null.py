"""What tests for conflict do where there is none: the share that they mask of noise, and what that costs in accuracy.

The share is measured on linear layers whose gradients are noise with mean 0: the inputs are normal, and so are the targets'
gradients. The cost is measured on digits whose sites are random parts of one population.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen

from claimlab import Limited, Preset, Row, Share
from mechlearn.agreement import Agreement, Homogeneous, Qualitative, Rule, StandardErrors
from mechlearn_zoo.experiments.agreement.conflict_codes.tables import Sites, table, train
from mechlearn_zoo.learners.shortcuts.methods import METHODS

COMPARED = ("mean", "and-mask", "qualitative", "qualitative-decay", "homogeneous", "homogeneous-decay")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of everything that is drawn."""
    environments: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)] = (2, 4, 8, 16)
    """Numbers of environments of noise."""
    rows: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)] = (4, 16, 64)
    """Rows of each."""
    levels: Annotated[tuple[Share, ...], MinLen(1)] = (0.05, 0.2, 0.5)
    """Levels of the tests."""
    sites: Annotated[int, Ge(2)] = 8
    """Exchangeable sites of digits."""
    steps: Annotated[int, Ge(1)] = 120
    """Optimiser steps on them."""


PRESETS = {"null": Preset(Config(), seeds=20), "null-paper": Preset(Config(), seeds=50)}


def masked_share(rule: Rule, environments: int, rows: int, seed: int) -> float:
    """Return the share of a linear layer's weights that a rule masks where all gradients are noise."""
    generator = torch.Generator().manual_seed(seed)
    model = torch.nn.Linear(50, 40, bias=False)
    count = environments * rows
    x, noise = torch.randn(count, 50, generator=generator), torch.randn(count, 40, generator=generator)
    ids = torch.arange(environments).repeat_interleave(rows)
    return 1 - Agreement(model, rule).backward((model(x) * noise).sum(1), ids).share_by_parameter["weight"]


def run(config: Config) -> Iterator[Row]:
    """Yield the masked shares, then the accuracies."""
    for environments in config.environments:
        for rows in config.rows:
            for level in config.levels:
                for parts in ("examples", "halves"):
                    errors = StandardErrors(parts=parts, seed=config.seed)
                    rules = {"qualitative": Qualitative(level, errors=errors), "homogeneous": Homogeneous(level, errors=errors)}
                    for name, rule in rules.items():
                        share = masked_share(rule, environments, rows, config.seed)
                        yield {
                            "kind": "noise", "environments": environments, "rows": rows, "level": level,
                            "method": name, "parts": parts, "masked": share,
                        }  # fmt: skip
    yield from trained(config)


def trained(config: Config) -> Iterator[Row]:
    """Yield the accuracy of each method on exchangeable sites, at its end and where validation stops it."""
    sites = Sites(seed=config.seed, sites=config.sites, steps=config.steps, code=0.0)
    data = table(sites)
    for name in COMPARED:
        yield {"kind": "final", "method": name, **train(sites, data, METHODS[name])}
