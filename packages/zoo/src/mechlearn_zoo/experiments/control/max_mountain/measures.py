"""Coverage by method."""

from claimlab import Scalar


def at(method: str) -> dict[str, Scalar]:
    """Return what a method's row of a seed holds after 1,000 steps."""
    return {"kind": "coverage", "step": 1000, "method": method}
