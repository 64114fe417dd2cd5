"""Which pairs of environments and which parameters disagree about either network."""

from collections.abc import Sequence

import numpy as np

from claimlab import Row, Rows, number, panels
from mechlearn_zoo.learners.plots import Axes, Figure, columns, table
from mechlearn_zoo.learners.spirals.methods import LABELS, ROLES


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the pairs of environments and the parameters that disagree most."""
    return {"pairs": pairs(rows), "parameters": parameters(rows)}


def pairs(rows: Rows) -> Figure:
    """Draw, for each network, every ordered pair's largest difference of true losses found by walking."""
    seed = int(min(rows["seed"]))
    figure, axes = panels(
        2,
        caption="How far two environments' losses come apart where that of the first has risen by no more than epsilon: the "
        f"largest difference of true losses on the way to the point that the score names, seed {seed}. Rows: the environment "
        "that must not notice; columns: the one that is compared. Numbers are powers of ten.",
        height=3.3,
    )
    values = [number(row, "walked") for row in rows.where(kind="pair", seed=seed)]
    limits = (np.log10(max(min(values), 1e-6)), np.log10(max(values)))
    for panel, method in zip(axes, LABELS, strict=True):
        _draw_pairs(panel, rows.where(kind="pair", method=method, seed=seed), limits)
        panel.set(title=LABELS[method], xlabel="environment compared")
    axes[0].set_ylabel("must not notice")
    return figure


def _draw_pairs(axes: Axes, some: Sequence[Row], limits: tuple[float, float]) -> None:
    ids = sorted({int(number(row, "stays")) for row in some})
    found = np.full((len(ids), len(ids)), np.nan)
    for row in some:
        place = ids.index(int(number(row, "stays"))), ids.index(int(number(row, "other")))
        found[place] = np.log10(max(number(row, "walked"), 1e-6))
    table(axes, found, ids, ids, "YlOrRd", limits)


def parameters(rows: Rows) -> Figure:
    """Draw each parameter's part in the difference of the most inconsistent pair."""
    figure, (axes,) = panels(
        caption="Each parameter's part in the growth of the difference between the two losses of the most inconsistent pair, "
        "as the expansion counts it, in shares of the whole: a dot a seed, bars are means.",
        height=2.8,
    )
    names = [str(row["name"]) for row in rows.where(kind="parameter", method="mean", seed=int(min(rows["seed"])))]
    names.sort()
    found = {(LABELS[one], ROLES[one]): [_shares(rows, one, name) for name in names] for one in LABELS}
    columns(axes, names, found, bars=True)
    axes.set_ylabel("share of the difference")
    axes.legend()
    return figure


def _shares(rows: Rows, method: str, name: str) -> list[float]:
    shares: list[float] = []
    for group in rows.by("seed").values():
        some = group.where(kind="parameter", method=method)
        whole = sum(some["contribution"])
        shares.append(number(some.where(name=name)[0], "contribution") / whole)
    return shares
