"""Test accuracy of every method on the rotated boards."""

from matplotlib.figure import Figure

from craik.experiments.conflict.rotated.run import BOARDS, COMPARED
from craik.lab import COLOURS, Rows, panels


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy, a line of points a method."""
    figure, axes = panels(
        len(BOARDS), 1, caption="Test accuracy with rotated inputs, a point a seed. Left: as many shortcuts as environments, "
        "which nobody can win. Right: four.", height=3.2,
    )  # fmt: skip
    methods = (*COMPARED, "subspace, first", "subspace, all")
    for axis, board in zip(axes, BOARDS, strict=True):
        for place, method in enumerate(methods):
            found = rows.where(kind="final", board=board, method=method)["accuracy"]
            role = "baseline" if method == "mean" else "third" if method.startswith("and") else "ours"
            axis.plot(found, [place] * len(found), "o", color=COLOURS[role], alpha=0.7)
        axis.set_yticks(range(len(methods)), methods)
        axis.axvline(0.5, color=COLOURS["reference"], linewidth=0.8)
        axis.set_xlim(0.4, 1.02)
        axis.set_title(board)
    return {"accuracy": figure}
