"""How the geometric mean is measured beside the AND-mask; medians over seeds."""

from claimlab import OverSeeds, Paired, Rows, number


def accuracy(method: str) -> OverSeeds:
    """Return a measure: a method's test accuracy under Adam."""
    return OverSeeds("accuracy", {"kind": "final", "optimizer": "adam", "method": method})


def apart(rows: Rows) -> float | None:
    """Return the distance of the geometric mean's test accuracy from the AND-mask's under Adam, either way, of one seed."""
    found = [rows.where(kind="final", optimizer="adam", method=method) for method in ("geometric", "and-mask")]
    if not all(found):
        return None
    one, other = (number(some[0], "accuracy") for some in found)
    return abs(one - other)


def _of(optimizer: str) -> dict[str, str]:
    return {"kind": "steps", "optimizer": "adam", "of": optimizer}


def steps(key: str) -> OverSeeds:
    """Return a measure: a number of Adam's steps along the AND-mask's path."""
    return OverSeeds(key, _of("adam"))


def adam_less_sgd(key: str) -> Paired:
    """Return a measure: a number of Adam's steps less that of SGD's, both along the path of the AND-mask under Adam.

    `length_geometric` is a length over that of the AND-mask's step.
    """
    return Paired(key, _of("adam"), _of("sgd"))
