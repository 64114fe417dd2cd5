"""Shares of tasks that an arm builds at the end, mean over seeds."""

from claimlab import Scalar


def built(arm: str, tasks: str = "unseen") -> dict[str, Scalar]:
    """Return what an arm's rows hold."""
    return {"kind": "final", "arm": arm, "tasks": tasks}
