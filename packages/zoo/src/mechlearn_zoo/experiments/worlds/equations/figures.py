"""Errors inside and outside of the training range, by system."""

from claimlab import Rows, panels
from mechlearn_zoo.experiments.worlds.equations.run import SYSTEMS
from mechlearn_zoo.learners.plots import Figure, columns, legend_below

_TITLES = {"agreement": "formula on ranges", "skips": "pendulum", "distill": "few noisy examples"}
_ROLES = {"equations": ("third", "ours"), "perceptron": ("fourth", "baseline")}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every seed's errors inside and outside, a panel a system."""
    figure, axes = panels(
        3,
        caption="Errors inside and outside of the training range, a point a seed: as a "
        "share of the answers' variance (left, right), and over that of standing still (middle).",
        height=3.2,
    )
    for axis, (system, title) in zip(axes, _TITLES.items(), strict=True):
        arms = [arm for arm, of in SYSTEMS.items() if of == system and rows.where(arm=arm)]
        looks = {
            (f"{network}, {key}", role): [rows.where(arm=arm, network=network)[key] for arm in arms]
            for network, roles in _ROLES.items()
            for key, role in zip(("inside", "outside"), roles, strict=True)
        }
        columns(axis, arms, looks)
        axis.set(title=title, yscale="log")
    axes[0].set_ylabel("error")
    legend_below(figure, axes[0], 4)
    return {"errors": figure}
