"""Test accuracy of each basis on each board."""

from matplotlib.figure import Figure

from craik.experiments.conflict.basis.run import BASES, BOARDS
from craik.lab import COLOURS, Rows, panels

TITLES = {"16": "16 shortcuts", "4 rotated": "4 rotated", "none": "no shortcuts"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy, a line of points a basis."""
    figure, axes = panels(
        len(BOARDS), 1, caption="Test accuracy on the spirals with every layer's mask in one basis, or in the one that leaves "
        "less disagreement in environments held out; a point a seed.", height=2.4,
    )  # fmt: skip
    bases = [basis for basis in BASES if rows.where(kind="final", method=basis)]
    for axis, board in zip(axes, BOARDS, strict=True):
        for place, basis in enumerate(bases):
            found = rows.where(kind="final", board=board, method=basis)["accuracy"]
            role = "ours" if basis == "chosen" else "third"
            axis.plot(found, [place] * len(found), "o", color=COLOURS[role], alpha=0.7)
        axis.set_yticks(range(len(bases)), bases if axis is axes[0] else [""] * len(bases))
        axis.axvline(0.5, color=COLOURS["reference"], linewidth=0.8)
        axis.set_xlim(0.4, 1.02)
        axis.set_ylim(-0.5, len(bases) - 0.5)
        axis.set_title(TITLES[board])
    return {"basis": figure}
