"""What is reached in seen and unseen levels."""

from claimlab import Rows, panels
from mechlearn_zoo.learners.plots import Figure, curves

_LOOKS = {
    "adam": ("adam", "baseline"), "temporal-mask": ("temporal mask", "ours"), "gradient-mask": ("gradient mask", "fifth"),
    "random-mask": ("random mask", "fourth"), "decay": ("decay", "third"), "no-textures": ("no textures", "reference"),
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both for every arm."""
    figure, axes = panels(
        2, 1, height=3.0, caption="Exact value of the policy over the best, in the levels that were learned from and in "
        "levels that were never seen; median and range over seeds.",
    )  # fmt: skip
    for axis, key in zip(axes, ("seen", "unseen"), strict=True):
        curves(axis, rows, "step", key, "arm", _LOOKS)
        axis.set(title=f"{key} levels", xlabel="steps")
    axes[0].set_ylabel("share of the best value")
    axes[0].legend(fontsize=6.5)
    return {"levels": figure}
