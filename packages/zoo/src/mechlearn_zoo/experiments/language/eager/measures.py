"""Right words and sentences, steps and memory of one seed's translators."""

import numpy as np

from claimlab import EachSeed, Rows


def gain(one: str, other: str, clauses: tuple[int, ...], key: str = "words", times: int = 1) -> EachSeed:
    """Return a measure: a model's mean share of right words, or of right sentences (`exact`), less another's.

    Args:
        one: the model.
        other: the other.
        clauses: the lengths.
        key: of what.
        times: multiplies the difference: 100 for per cent.
    """

    def share(rows: Rows, model: str) -> float:
        found = rows.where(lambda row: row["kind"] == "final" and row["model"] == model and row["clauses"] in clauses)
        return float(np.mean(found[key]))

    return EachSeed(lambda rows: times * (share(rows, one) - share(rows, other)))


def slower(rows: Rows) -> float | None:
    """Return the steps to enough right words, 2 pads over attention; None where one of them never had as many."""
    some = rows.where(lambda row: row.get("step") is not None, kind="reached")
    ours, theirs = (some.where(model=name)["step"] for name in ("eager 2", "attention"))
    return ours[0] / theirs[0] if ours and theirs else None


def memory(rows: Rows) -> float:
    """Return by how many bytes the state grows from 8 source words to 800."""
    found = rows.where(kind="memory")
    return float(np.max(np.subtract(found.where(length=800)["bytes"], found.where(length=8)["bytes"])))
