"""What several walks share."""


def double(x: float) -> float:
    """Return twice the number."""
    return 2 * x
