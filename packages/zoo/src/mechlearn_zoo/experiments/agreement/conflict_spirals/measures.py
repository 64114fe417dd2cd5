"""How conflict rules on the spirals are measured."""

from claimlab import OverSeeds


def accuracy(method: str, board: str = "shortcuts") -> OverSeeds:
    """Return a measure: a method's test accuracy, median over seeds."""
    return OverSeeds("accuracy", {"kind": "final", "board": board, "method": method})
