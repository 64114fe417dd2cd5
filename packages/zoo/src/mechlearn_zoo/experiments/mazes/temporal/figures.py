"""What is reached in seen and unseen levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, band, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHADES = {
    "adam": "baseline", "temporal-mask": "ours", "gradient-mask": "fifth", "random-mask": "fourth", "decay": "third",
    "no-textures": "reference",
}  # fmt: skip


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both for every arm."""
    figure, axes = panels(
        2, 1, height=3.0, caption="Exact value of the policy over the best, in the levels that were learned from and in "
        "levels that were never seen; median and range over seeds.",
    )  # fmt: skip
    for axis, key in zip(axes, ("seen", "unseen"), strict=True):
        for arm in [name for name in _SHADES if rows.where(arm=name)]:
            band(axis, *rows.where(arm=arm).curves("step", key), arm.replace("-", " "), COLOURS[_SHADES[arm]])
        axis.set(title=f"{key} levels", xlabel="steps")
    axes[0].set_ylabel("share of the best value")
    axes[0].legend(fontsize=6.5)
    return {"levels": figure}
