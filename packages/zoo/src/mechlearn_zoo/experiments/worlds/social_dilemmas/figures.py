"""What all agents of a world eat together at the end, beside scripts, and what is said to each other."""

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.worlds.social_dilemmas.settings import ARMS
from mechlearn_zoo.learners.plots import Figure, columns, level

_LABELS = {"none": "the reward", "influence": "and influence", "alone": "influence alone", "surprise": "and surprise"}
_TITLES = {"harvest": "Harvest", "cleanup": "Cleanup"}
_SCRIPTS = {"random": "reference", "greedy": "fourth", "careful": "ink"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both worlds, and influence at the end."""
    figure, axes = panels(
        3, 1, height=3.2,
        caption="At the end of training, a dot per seed. Left: apples that all agents of a world eat in an episode, paid for "
        "the speaker's reward alone, and those of three scripts. Middle: what they eat more if messages are paid for "
        "something else, bars are means. Right: influence of a message on all others' next actions.",
    )  # fmt: skip
    ends, scripts = rows.where(kind="final"), rows.where(kind="script")

    def apples(arm: str) -> list[list[float]]:
        return [[float(one) for one in ends.where(world=world, arm=arm)["reward"]] for world in _TITLES]

    eaten = {("trained", "ours"): apples("none")} | {
        (group, shade): [scripts.where(world=world, group=group)["reward"] for world in _TITLES]
        for group, shade in _SCRIPTS.items()
    }
    columns(axes[0], list(_TITLES.values()), eaten)
    axes[0].set(title="Apples", ylabel="apples of all", ylim=(0, None))
    axes[0].legend(fontsize=6)
    more = {
        (_LABELS[arm], colour(index)): [
            [one - other for one, other in zip(*pair, strict=True)] for pair in zip(apples(arm), apples("none"), strict=True)
        ]
        for index, arm in enumerate(ARMS)
        if arm != "none"
    }
    columns(axes[1], list(_TITLES.values()), more, bars=True)
    level(axes[1], 0, style="-")
    axes[1].set(title="More apples", ylabel="apples over the reward alone")
    last = axes[2]
    found = {
        (_LABELS[arm], colour(index)): [ends.where(world=world, arm=arm)["influence"] for world in _TITLES]
        for index, arm in enumerate(ARMS)
    }
    columns(last, list(_TITLES.values()), found)
    last.set(title="Influence", ylabel="nats per step", ylim=(0, None))
    last.legend(fontsize=6, title="paid for", title_fontsize=6)
    return {"dilemmas": figure}


def influence(rows: Rows) -> dict[str, Figure]:
    """Draw measured against true influence, every seed."""
    caption = "Influence measured by a model of others against the true one, a dot a seed and coupling; dotted, equal."
    figure, (axes,) = panels(caption=caption, width=3.6, height=3.0)
    top = max(rows["true"]) * 1.05 + 0.01
    axes.plot([0, top], [0, top], color=COLOURS["reference"], linestyle=":")
    axes.plot(rows["true"], rows["measured"], "o", color=COLOURS["ours"])
    axes.set(xlabel="true (nats)", ylabel="measured")
    return {"influence": figure}


def boxed(rows: Rows) -> dict[str, Figure]:
    """Draw how often the box is opened, and what both eat."""
    figure, axes = panels(
        2, 1, height=2.8,
        caption="After training, a dot per seed; bars are means. Left: share of episodes in which the box is opened. Right: "
        "apples of both agents in an episode, its own and the other's.",
    )  # fmt: skip
    names = ["apples\nalone", "apples,\ninfluence", "influence\nalone", "apples,\nsurprise"]
    for ax, key in zip(axes, ("opened", "reward"), strict=True):
        columns(ax, names, {("", "ours"): [rows.where(arm=arm)[key] for arm in ARMS]}, bars=True)
        ax.tick_params(axis="x", labelsize=7)
    axes[0].set(title="Opened, by what is paid", ylabel="share of episodes", ylim=(0, 1.05))
    own = [float(np.mean(rows.where(arm=arm)["own"])) for arm in ARMS]
    axes[1].bar(range(len(ARMS)), own, 0.72, color=COLOURS["baseline"], label="its own")
    axes[1].bar(0, 0, color=COLOURS["ours"], alpha=0.55, label="the other's")
    axes[1].set(title="Apples", ylabel="apples of both", ylim=(0, 52))
    axes[1].legend(fontsize=6.5, ncols=2, loc="upper right")
    return {"box": figure}
