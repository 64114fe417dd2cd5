"""The ILC-regularised loss of a learning algorithm (paper equation 4)."""

from collections.abc import Sequence
from math import isfinite

from mechlearn.arguments import check_finite, check_kind, check_not_negative
from mechlearn.surfaces.consistency.score import LearningConsistency


def ilc_regularised(losses: Sequence[Sequence[float]], ilc: LearningConsistency | float, weight: float) -> float:
    """Return E[mean_e L_e(A(theta^0))] - weight * ILC(A), an expectation over initialisations theta^0 (paper equation 4).

    It ranks algorithms and hypothesis classes; nothing is differentiated through it, as consistency is that of the points to
    which an algorithm has converged. ILC is at most 0, so that an inconsistent algorithm pays. Not for networks that have not
    been trained: a constant is consistent, and only a weight that is small beside the losses' scale lets the first term say so.

    Args:
        losses: L_e, a row an initialisation and in it a number an environment: `Score.losses` of each score, for example.
        ilc: what `mechlearn.surfaces.ilc` returns for the same initialisations, or its value.
        weight: the paper's lambda, in losses per unit of consistency; with 0 the losses alone count.

    Raises:
        TypeError: numbers that are none.
        ValueError: no initialisation, rows of different lengths or none, another number of initialisations than the ILC's,
            losses that are not finite, a negative weight.

    Example:
        >>> ilc_regularised([[0.1, 0.3], [0.0, 0.2]], -0.5, weight=0.1)
        0.2
    """
    check_kind("losses", losses, (list, tuple), "a list of rows, one for each initialisation")
    for place, row in enumerate(losses):
        check_kind(f"losses[{place}]", row, (list, tuple), "a list of losses, one for each environment")
    check_not_negative("weight", weight)
    rows = [list(row) for row in losses]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        found = [len(row) for row in rows]
        raise ValueError(
            "`losses` should hold a row for each initialisation, and each row a number for each environment. Found rows of "
            f"{found}. Take Score.losses of each score."
        )
    if isinstance(ilc, LearningConsistency) and len(ilc.scores) != len(rows):
        raise ValueError(
            f"`losses` should be of the initialisations that the ILC is of. Found {len(rows)} and {len(ilc.scores)}."
        )
    for row in rows:
        for loss in row:
            check_finite("losses", loss, why="a point whose loss is not finite is no minimum")
    value = ilc.value if isinstance(ilc, LearningConsistency) else ilc
    check_finite("ilc", value)
    found = sum(sum(row) / len(row) for row in rows) / len(rows) - weight * value
    if not isfinite(found):
        raise ValueError(f"The regularised loss should be finite. Found {found}. Choose a smaller weight.")
    return found
