"""How the rules' steps compare along the AND-mask's path, and where training ends."""

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, columns, legend_below, level

_RULES = {"geometric": ("geometric mean", "ours"), "sign": ("unanimous sign", "third"), "mean": ("averaging", "baseline")}
_METHODS = {"and-mask": "AND-mask", "geometric": "geometric mean", "mean": "averaging"}
_OPTIMIZERS = {"adam": "Adam", "sgd": "SGD"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw cosines and lengths of steps beside the AND-mask's, and final accuracies, a point a seed."""
    figure, axes = panels(
        3,
        caption="Left and middle: steps of Adam and of SGD by three rules, beside the AND-mask's step by the same optimiser, "
        "on the path on which the AND-mask leads Adam: cosine, and length over the AND-mask's. Right: test accuracy of "
        "networks trained by Adam and by SGD. A point a seed.",
        height=3.2,
    )
    steps = rows.where(kind="steps", optimizer="adam")
    for axis, key, title in zip(axes[:2], ("cosine", "length"), ("cosine", "length, relative"), strict=True):
        found = {look: [steps.where(of=one)[f"{key}_{rule}"] for one in _OPTIMIZERS] for rule, look in _RULES.items()}
        columns(axis, list(_OPTIMIZERS.values()), found)
        axis.set_title(title)
        level(axis, 1.0)
    axes[0].set(ylim=(-0.05, 1.05))
    axes[1].set_yscale("log")
    ends, roles = rows.where(kind="final"), {"adam": ("trained by Adam", "ours"), "sgd": ("by SGD", "third")}
    trained = {look: [ends.where(optimizer=o, method=m)["accuracy"] for m in _METHODS] for o, look in roles.items()}
    columns(axes[2], [label.replace(" ", "\n") for label in _METHODS.values()], trained)
    level(axes[2], 0.5)
    axes[2].set(title="trained", ylabel="test accuracy", ylim=(0.4, 1.03))
    axes[2].legend(fontsize=7)
    legend_below(figure, axes[0], 3)
    return {"steps": figure}
