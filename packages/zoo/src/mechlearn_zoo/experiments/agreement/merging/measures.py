"""How merges are compared: differences of accuracy, mean over families and seeds."""

from claimlab import EachSeed, Rows, number
from mechlearn_zoo.experiments.agreement.merging.run import KINDS, NETWORKS


def gain(method: str, over: str = "averaging", *kinds: str) -> EachSeed:
    """Return a measure: how much more accurate one method is than another, mean over the families of some kinds (all)."""
    wanted = kinds or KINDS

    def difference(rows: Rows) -> float | None:
        found = rows.where(lambda row: row["family"] in wanted, kind="final")
        one, other = (found.where(method=name) for name in (method, over))
        if len(one) != len(other) or len(one) != len(wanted) * len(NETWORKS):
            return None
        return sum(number(row, "accuracy") for row in one) / len(one) - sum(other["accuracy"]) / len(other)

    return EachSeed(difference)
