"""Test accuracy of every method on the two boards."""

from claimlab import Rows, panels
from mechlearn_zoo.experiments.agreement.conflict_spirals.run import BARE, PLANTED
from mechlearn_zoo.learners.plots import Figure, level, lines_of_dots


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's accuracy, a line of points a method."""
    figure, axes = panels(
        2,
        caption="Test accuracy on the spirals at the end of training, a point a seed. Left: each environment has shortcuts of "
        "its own. Right: there are none.",
        height=3.4,
    )
    for axis, board, methods in zip(axes, ("shortcuts", "none"), (PLANTED, BARE), strict=True):
        some = rows.where(kind="final", board=board)
        roles = ("baseline" if method == "mean" else "third" if method.startswith("and") else "ours" for method in methods)
        found = {method: (some.where(method=method)["accuracy"], role) for method, role in zip(methods, roles, strict=True)}
        lines_of_dots(axis, found)
        level(axis, 0.5, upright=True)
        title = "shortcuts" if board == "shortcuts" else "no shortcuts"
        axis.set(title=title, xlabel="test accuracy", xlim=(0.4, 1.02))
    return {"accuracy": figure}
