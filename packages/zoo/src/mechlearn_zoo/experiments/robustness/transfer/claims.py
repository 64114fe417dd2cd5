"""What is claimed of transferred attacks; written before any recorded run.

That defences may stop early was asked afterwards, see each claim's earlier condition.
"""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, EachSeed, Rows, at_least, at_most, low_above

_PAPER = "Demontis et al. 2019, section 4.1"
FIRST = ("8-9", "2")
"""The pair and norm that claims are read at."""


def _first(rows: Rows) -> Rows:
    return rows.where(lambda row: row.get("pair") == FIRST[0] and row.get("norm", FIRST[1]) == FIRST[1])


def over_seeds(number: Callable[[Rows], float | None]) -> EachSeed:
    """Return a measure: the mean over seeds of a number of each seed's rows, of those seeds that have one."""
    return EachSeed(lambda rows: number(_first(rows)))


def correlation(alignment: str, ratio: str) -> Callable[[Rows], float | None]:
    """Return Pearson's correlation over all pairs of surrogate and target, both 90 % accurate."""

    def number(rows: Rows) -> float | None:
        pairs = rows.where(kind="pair").where(lambda row: float(row["accurate"] or 0) >= 0.9)
        return float(np.corrcoef(pairs[alignment], pairs[ratio])[0, 1]) if len(pairs) > 2 else None

    return number


def regularised_targets(family: str) -> Callable[[Rows], float | None]:
    """Return the error under its own attack above the clean one, the complex target's less the simple one's."""

    def number(rows: Rows) -> float | None:
        models = rows.where(kind="model", family=family)
        if not len(models) or min(models["accuracy"]) < 0.9:
            return None
        costs = {c: models.where(complexity=c) for c in "HL"}
        above_clean = {c: one["white_box"][0] - (1 - one["accuracy"][0]) for c, one in costs.items()}
        return above_clean["H"] - above_clean["L"]

    return number


def regularised_surrogates(family: str) -> Callable[[Rows], float | None]:
    """Return the mean transfer error of the simple surrogate of a family less that of the complex one."""

    def number(rows: Rows) -> float | None:
        pairs = rows.where(kind="pair", surrogate=family)
        models = rows.where(kind="model", family=family)
        if not len(pairs) or min(models["surrogate_accuracy"]) < 0.9:
            return None
        low, high = (float(np.mean(pairs.where(surrogate_complexity=c)["error"])) for c in "LH")
        return low - high

    return number


def excess(rows: Rows) -> float | None:
    """Return by how much the first-order value exceeds its bound at most, as a share of it."""
    pairs = rows.where(kind="pair")
    return max(pairs["excess"]) if len(pairs) else None


Number = Callable[[Rows, str], float | None]
"""Of a seed's rows, by the column of errors: at the end of a training, or where validation stops it."""


def defence(way: str, over: str, attack: str) -> Number:
    """Return how much lower the error under an attack is with one defence than with another."""

    def number(rows: Rows, key: str) -> float | None:
        found = rows.where(lambda row: key in row, kind="defence", attack=attack)
        return found.where(way=over)[key][0] - found.where(way=way)[key][0] if len(found) else None

    return number


def white_box(rows: Rows, key: str) -> float | None:
    """Return the error under its own attack of a model that was trained against its surrogates' mask."""
    found = rows.where(lambda row: key in row, kind="defence", attack="white box", way="trained-mask")
    return found[key][0] if len(found) else None


CLAIMS = (
    Claim(
        id="transfer.alignment",
        text="Attacks transfer the better, the better input gradients are aligned.",
        source=f"{_PAPER}, third hypothesis",
        measure=over_seeds(correlation("alignment", "loss_ratio")),
        condition=at_least(
            0.7, of="Pearson correlation of R with the rise of loss over the own attack's, 64 pairs, mean over seeds,"
        ),
    ),
    *(
        Claim(
            id=f"transfer.regularised-{family}-target",
            text=f"A strongly regularised target is harder to attack ({family}).",
            source=f"{_PAPER}, first hypothesis",
            measure=over_seeds(regularised_targets(family)),
            condition=low_above(0.0, of="rise of error under its own attack, complex less simple, mean over seeds,"),
            tried=""
            if family in ("logistic", "svm")
            else "Asked after these rows had been recorded: it was of two kinds alone.",
        )
        for family in ("logistic", "svm", "rbf", "mlp")
    ),
    *(
        Claim(
            id=f"transfer.regularised-{family}-surrogate",
            text=f"The better surrogate is the strongly regularised one ({family}).",
            source=f"{_PAPER}, second hypothesis",
            measure=over_seeds(regularised_surrogates(family)),
            condition=low_above(0.0, of="error over eight targets, simple less complex surrogate, mean over seeds,"),
            tried=""
            if family != "mlp"
            else "One weight of decay for each complexity (alpha 1e-4 and 1) and no search: early "
            "on two "
            "search seeds differed in sign, and both perceptrons are 97 % accurate and as variable as each other.",
        )
        for family in ("logistic", "svm", "rbf", "mlp")
    ),
    Claim(
        id="transfer.bound",
        text="To first order no transferred attack gains more than the target's own.",
        source="Demontis et al. 2019, section 3, the inequality",
        measure=over_seeds(excess),
        condition=at_most(1e-12, of="greatest excess over the bound, as a share of it,"),
        kind="control",
    ),
)
