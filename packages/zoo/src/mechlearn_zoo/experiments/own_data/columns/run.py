"""The audit on every board, by the training sites' rows alone: how well each score ranks the planted columns.

Scores: *cancelled mass*, as `mechlearn.tables.disagreement` has it; *Cochran's Q* of the per-site correlations; *spread*, which
share of the relation differs between sites (tau^2 / (tau^2 + mu^2), what screening asks of a column beside significance);
*signs*, in how many sites the correlation has the rarer sign.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import MinLen
from numpy.typing import NDArray
from scipy.stats import rankdata  # pyright: ignore[reportMissingTypeStubs]  # it has none

from claimlab import Limited, Preset, Row
from mechlearn.penalties import Screened
from mechlearn.tables.disagreement import audit, screened_columns
from mechlearn.tables.reading_in import Scaling, Table
from mechlearn_zoo.experiments.own_data.comparing import table_of
from mechlearn_zoo.tasks.tables import SiteTable
from mechlearn_zoo.tasks.tables.cells import tag, wards
from mechlearn_zoo.tasks.tables.codes import codes
from mechlearn_zoo.tasks.tables.shifts import interactions
from mechlearn_zoo.tasks.tables.writers import writers

Board = Literal["codes", "writers", "wards", "tag", "interactions", "shared"]
BOARDS: dict[str, Callable[[int], SiteTable]] = {
    "codes": lambda seed: codes(seed, 8, 179),
    "writers": lambda seed: writers(seed, height=1.0),
    "wards": wards,
    "tag": tag,
    "interactions": interactions,
    "shared": lambda seed: tag(seed, turned=0.0),
}
MARGINAL = ("codes", "writers", "wards", "tag")
"""Boards on which a planted column says something alone, and another thing elsewhere."""
SCORES = ("cancelled mass", "Cochran's Q", "spread", "signs")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one seed."""

    seed: int = 100
    """First seed: of the table and the audit. Settings were searched from 1000 on."""
    boards: Annotated[tuple[Board, ...], MinLen(1)] = ("codes", "writers", "wards", "tag", "interactions", "shared")
    """Which are asked."""


PRESETS = {"quick": Preset(Config(), seeds=10), "paper": Preset(Config(), seeds=20)}


def run(config: Config) -> Iterator[Row]:
    """Yield the area under each score's curve, and what the two flags find."""
    for name in config.boards:
        board = BOARDS[name](config.seed)
        planted = np.isin(np.arange(board.x.shape[1]), board.planted)
        table = table_of(trained_part(board))
        found, flags = read(table, config.seed)
        for score, values in found.items():
            yield {"kind": "auroc", "board": name, "score": score, "auroc": auroc(values, planted)}
        for way, flagged in flags.items():
            yield {
                "kind": "flags", "board": name, "way": way,
                "found": float(flagged[planted].mean()), "sound": float(flagged[~planted].mean()),
            }  # fmt: skip


def trained_part(board: SiteTable) -> SiteTable:
    """Return a board without its new sites."""
    rows = board.trained_on
    return board._replace(x=board.x[rows], y=board.y[rows], site=board.site[rows], new=())


def read(table: Table, seed: int) -> tuple[Mapping[str, NDArray[np.float64]], Mapping[str, NDArray[np.bool_]]]:
    """Return every score of every column, and who is flagged in which way."""
    features = {feature.column: feature for feature in audit(table, random_state=seed).features}
    each = [features[name] for name in table.names]
    screened = screened_columns(Scaling.of(table.x).applied(table.x), table.y, table)
    tau2, mu2 = screened.tau2.numpy(), screened.mu2.numpy()
    scores = {
        "cancelled mass": np.array([feature.score for feature in each]),
        "Cochran's Q": cochran(screened),
        "spread": tau2 / (tau2 + mu2 + 1e-12),
        "signs": rarer_signs(screened),
    }
    flags = {
        "gradients": np.array([feature.flagged for feature in each]),
        "screening": np.array([feature.screened for feature in each]),
        "significance": screened.significant.numpy(),
    }
    return scores, flags


def cochran(screened: Screened) -> NDArray[np.float64]:
    """Return (J,) the largest Q over outputs."""
    z, errors = screened.relations.numpy(), screened.errors.numpy()
    weight = np.where(np.isfinite(z), errors[:, None, None] ** -2, 0.0)
    value = np.nan_to_num(z)
    mean = (weight * value).sum(0) / np.maximum(weight.sum(0), 1e-12)
    return (weight * (value - mean) ** 2).sum(0).max(0)


def rarer_signs(screened: Screened) -> NDArray[np.float64]:
    """Return (J,) the share of sites whose correlation has the rarer sign, mean over outputs."""
    z = np.nan_to_num(screened.relations.numpy())
    return (0.5 * (1 - np.abs(np.sign(z).mean(0)))).mean(0)


def auroc(scores: NDArray[np.float64], planted: NDArray[np.bool_]) -> float:
    """Return how often a planted column has the larger score than a sound one; ties count half."""
    ranks, count = rankdata(scores), int(planted.sum())
    return float((ranks[planted].sum() - count * (count + 1) / 2) / (count * (len(planted) - count)))
