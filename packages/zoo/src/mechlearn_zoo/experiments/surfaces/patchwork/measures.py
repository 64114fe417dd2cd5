"""What the claims of the patchwork measure, of a seed's rows; the table has medians over seeds."""

from claimlab import Rows


def inconsistency(rows: Rows) -> float | None:
    """Return abs(L_B - L_A) at theta_6 = -0.5, a lower bound of J: that point lies in A's set for a tiny epsilon."""
    found = rows.where(kind="loss", version="printed", theta_6=-0.5)
    return abs(found["loss_b"][0] - found["loss_a"][0]) if found else None


def change_in_a(rows: Rows) -> float | None:
    """Return the largest change of A's loss over all values of theta_6."""
    losses = rows.where(kind="loss", version="printed")["loss_a"]
    return max(losses) - min(losses) if losses else None
