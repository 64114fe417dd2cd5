"""What do the sites disagree about? The audit of a table, in seconds, before any method is chosen.

Two ways to look, side by side. *Cancelled gradient mass*: in the first steps of a small pooled network, what the sites'
gradients of an input's weights have too much to agree, sum over weights of (sum_e |g_e| - |sum_e g_e|), against the same with
the rows' sites permuted within classes; it sees interactions. *Screening* (`mechlearn.penalties.screen`): the input's
relation differs between sites by more than it says on average; nothing is trained. Both ask for an effect size: significance
alone flags most columns of real tables. What all sites share, right or wrong, neither can see.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Generator, Tensor

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.nn.stacks import Stack, StackedAdam
from mechlearn.penalties.screening import Screened, screen
from mechlearn.tables.fitting import Sites, Task
from mechlearn.tables.reading_in import Numbers, Scaling, Table, prepare

STEPS, READ_EVERY = 20, 2
"""Read in the first steps: at a minimum the kept mass goes to 0 and everything looks cancelled."""


class Feature(NamedTuple):
    """What the sites say of one column.

    Attributes:
        column: its name.
        score: excess of cancelled over kept gradient mass; .5 and more is much.
        flagged: significant against permuted sites, and a score above .5.
        screened: the relation's spread between sites is significant and larger than the relation.
        signs: a site each, "+" or "-", "0" within two standard errors of no relation, "" where none can be seen.
    """

    column: str
    score: float
    flagged: bool
    screened: bool
    signs: tuple[str, ...]


@dataclass(frozen=True)
class Disagreement:
    """The audit of a table.

    Attributes:
        features: all columns, those that disagree most first.
        sites: labels, as in each feature's signs.
        odd_sites: whose relations differ from the others', on average over the columns, far more than the others' among
            themselves; one column can decide it.
        at_one_site: columns that vary at one site only: a warning about support, not about disagreement.
        notes: what was done to the table, and what cannot be seen.
        odd_columns: for each of `odd_sites` the columns that decide it, most different ones first: without them it is not odd.
    """

    features: tuple[Feature, ...]
    sites: tuple[str, ...]
    odd_sites: tuple[str, ...]
    at_one_site: tuple[str, ...]
    notes: tuple[str, ...]
    odd_columns: tuple[tuple[str, ...], ...] = ()

    @property
    def odd_in_most(self) -> tuple[str, ...]:
        """Those of `odd_sites` where most of the relations that can be seen are among `odd_columns`."""
        seen = {name: sum(feature.signs[e] != "" for feature in self.features) for e, name in enumerate(self.sites)}
        pairs = zip(self.odd_sites, self.odd_columns, strict=True)
        return tuple(name for name, columns in pairs if 2 * len(columns) > seen[name])

    @property
    def flagged(self) -> tuple[str, ...]:
        """Columns that either way flags."""
        return tuple(feature.column for feature in self.features if feature.flagged or feature.screened)

    def __str__(self) -> str:
        """The first dozen as a table."""
        width = max(len(feature.column) for feature in self.features)
        lines = [f"{'column':<{width}}  score  flags             signs by site"]
        for feature in self.features[:12]:
            flags = ", ".join(["gradients"] * feature.flagged + ["screening"] * feature.screened)
            signs = "".join(sign or "." for sign in feature.signs)
            lines.append(f"{feature.column:<{width}}  {feature.score:5.2f}  {flags:<22}{signs}".rstrip())
        return "\n".join([*lines, *self.notes])


SHARED = "What all sites share, right or wrong, cannot be seen here."


def disagreement(
    X: Any,  # noqa: ANN401, N803  # anything that is a table
    y: Any,  # noqa: ANN401
    groups: Any,  # noqa: ANN401
    *,
    task: Task | None = None,
    permutations: int = 100,
    rows_per_site: int = 1000,
    random_state: int = 0,
) -> Disagreement:
    """Say which columns the sites disagree about.

    Args:
        X: a data frame, columns by name, or a matrix.
        y: the target.
        groups: the site of each row.
        task: "classification" or "regression"; from the target if None.
        permutations: of sites within classes (within tenths of a number).
        rows_per_site: at most so many are read, drawn at random.
        random_state: seed of everything random.

    Raises:
        TypeError, ValueError: a table that cannot be asked.
    """
    return audit(prepare(X, y, groups, task), permutations, rows_per_site, random_state)


def audit(table: Table, permutations: int = 100, rows_per_site: int = 1000, random_state: int = 0) -> Disagreement:
    """Say which columns of a prepared table its sites disagree about."""
    x = Scaling.of(table.x).applied(table.x)
    y = table.y if table.classes is not None else Scaling.of(table.y).applied(table.y)
    screened = screened_columns(x, y, table)
    score, flagged = cancelled_mass(table.sites_of(x, y), permutations, rows_per_site, random_state)
    signs = _signs(screened)
    features = [
        Feature(name, round(float(score[j]), 4), bool(flagged[j]), not bool(screened.keep[j]), signs[j])
        for j, name in enumerate(table.names)
    ]
    features.sort(key=lambda feature: (-(feature.flagged + feature.screened), -feature.score))
    odd = _odd(screened, table.sites, table.names)
    return Disagreement(tuple(features), table.sites, tuple(odd), _lonely(table), (*table.notes, SHARED), tuple(odd.values()))


def screened_columns(x: Numbers, y: Numbers, table: Table, rows: NDArray[np.bool_] | None = None) -> Screened:
    """Return what screening says of a table's columns, on some of its rows."""
    chosen = np.ones(len(x), dtype=bool) if rows is None else rows
    codes = y[:, 1:] if y.shape[1] == 2 else y  # of two classes one says it all
    return screen(torch.tensor(x[chosen]), torch.tensor(codes[chosen]), table.site[chosen])


def cancelled_mass(
    sites: Sites, permutations: int, rows_per_site: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return each input's excess of cancelled over kept gradient mass, and whether it is flagged.

    The network is trained on all rows alike, so that its path does not depend on who is at which site, and observed and
    permuted sites are read along the same path.
    """
    generator = torch.Generator().manual_seed(seed)
    sites = sites.drawn(rows_per_site, [generator] * len(sites.sizes))
    orders = [torch.arange(len(sites.x))] + [_permuted(sites, generator) for _ in range(permutations)]
    cancelled, kept = _read(sites, torch.stack(orders), generator)
    observed, null = cancelled[0], cancelled[1:]
    excess = observed - null.mean(0)
    deviation = null.std(0).clamp(min=1e-12)
    greatest = ((null - null.mean(0)) / deviation).max(1).values.quantile(0.95)
    score = excess / kept[0].clamp(min=1e-12)
    return score.double().numpy(), ((excess / deviation > greatest) & (score > 0.5)).numpy()


def _permuted(sites: Sites, generator: Generator) -> Tensor:
    """Return an order of the rows that exchanges rows of the same class (or tenth of a number) only."""
    if sites.task == "classification":
        stratum = sites.y.argmax(1)
    else:
        ranks = sites.y.sum(1).argsort().argsort()
        stratum = ranks * 10 // len(ranks)
    order = torch.arange(len(stratum))
    for value in stratum.unique():
        rows = (stratum == value).nonzero()[:, 0]
        order[rows] = rows[torch.randperm(len(rows), generator=generator)]
    return order


def _read(sites: Sites, orders: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Return (orders, J) cancelled and kept mass, summed over readings and weights."""
    network = relu_mlp((sites.x.shape[1], 32, sites.y.shape[1]), generator).to(sites.x.dtype)
    stack = Stack([network])
    optimizer = StackedAdam(stack.parameters(), 0.01)
    cancelled = torch.zeros(len(orders), sites.x.shape[1])
    kept = torch.zeros_like(cancelled)
    for step in range(STEPS):
        params = stack.stacked()
        hidden = torch.baddbmm(params["0.bias"].unsqueeze(1), sites.x.unsqueeze(0), params["0.weight"].mT).relu()[0].detach()
        z = hidden @ params["2.weight"][0].detach().T + params["2.bias"][0].detach()
        error = z.softmax(1) - sites.y if sites.task == "classification" else 2 * (z - sites.y)
        delta = (error @ params["2.weight"][0].detach()) * (hidden > 0)
        if step % READ_EVERY == 0:
            for part in range(0, len(orders), 10):
                _add(cancelled, kept, slice(part, part + 10), delta, sites, orders)
        gradients = {
            "0.weight": delta.T @ sites.x,
            "0.bias": delta.sum(0),
            "2.weight": error.T @ hidden,
            "2.bias": error.sum(0),
        }
        for name, gradient in gradients.items():
            params[name].grad = gradient.unsqueeze(0) / len(sites.x)
        optimizer.step()
    return cancelled, kept


def _add(cancelled: Tensor, kept: Tensor, part: slice, delta: Tensor, sites: Sites, orders: Tensor) -> None:
    some = orders[part]
    rows_delta, rows_x = delta[some], sites.x[some]  # (orders, n, U) and (orders, n, J)
    total = rows_delta.new_zeros(len(rows_x), delta.shape[1], rows_x.shape[2])
    size = torch.zeros_like(total)
    for rows in sites.slices():
        gradient = rows_delta[:, rows].mT @ rows_x[:, rows] / (rows.stop - rows.start)
        size += gradient.abs()
        total += gradient
    cancelled[part] += (size - total.abs()).sum(1)
    kept[part] += total.abs().sum(1)


def _signs(screened: Screened) -> list[tuple[str, ...]]:
    """Of the output whose relation is strongest over the sites."""
    z = screened.relations
    strongest = z.nan_to_num(0.0).abs().sum(0).argmax(0)  # (J,)
    chosen = z.gather(1, strongest.expand(len(z), 1, -1))[:, 0]  # (E, J)
    clear = chosen.abs() > 2 * screened.errors[:, None]
    words = np.where(clear.numpy(), np.where(chosen.numpy() > 0, "+", "-"), "0")
    words = np.where(chosen.isnan().numpy(), "", words)
    return [tuple(column) for column in words.T.tolist()]


def _odd(screened: Screened, sites: tuple[str, ...], names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the odd sites, and the columns that decide it."""
    z, seen = screened.relations.nan_to_num(0.0), screened.relations.isfinite()
    if len(sites) < 4:
        return {}  # of three, any could be the odd one
    others = seen.sum(0) - seen.long()
    mean = (z.sum(0) - z) / others.clamp(min=1)
    error = screened.errors.nan_to_num(1e6).square()[:, None, None]
    squared = torch.where(seen & (others > 1), (z - mean).square() / (error * (1 + 1 / others.clamp(min=1))), torch.nan)
    oddness = squared.nanmean((1, 2))
    most = 3 * oddness.nanmedian().clamp(min=1)
    return {
        name: tuple(names[j] for j in _deciding(squared[e], float(most)))
        for e, (name, odd) in enumerate(zip(sites, (oddness > most).tolist(), strict=True))
        if odd
    }


def _deciding(squared: Tensor, most: float) -> list[int]:
    """Return the columns without which a site's (K, J) squares, where seen, are at most so large on average."""
    total, count = squared.nansum(0), squared.isfinite().sum(0)
    order = (total / count.clamp(min=1)).argsort(descending=True, stable=True)
    kept, left = total[order].flip(0).cumsum(0).flip(0), count[order].flip(0).cumsum(0).flip(0)
    return order[: max(1, int((kept > most * left).sum()))].tolist()


def _lonely(table: Table) -> tuple[str, ...]:
    varies = np.array(
        [
            [len(np.unique(column[~np.isnan(column)])) > 1 for column in table.x[table.site == e].T]
            for e in range(len(table.sites))
        ]
    )
    return tuple(name for name, count in zip(table.names, varies.sum(0), strict=True) if count == 1)
