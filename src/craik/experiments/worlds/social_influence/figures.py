"""Measured beside true influence, and the game on the way."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.worlds.social_influence.run import PAID
from craik.lab import COLOURS, Rows, colour, panels

_LABELS = {"none": "no influence paid", "printed": "paid as printed", "played": "paid over what is played"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both."""
    figure, (left, *games) = panels(
        3, 1, height=2.8,
        caption="Left: influence measured by a model of others against the true one, each seed. Middle, right: mean reward of "
        "a signalling game with equal states, and with one state half of the time, by what the speaker is paid; medians.",
    )  # fmt: skip
    found = rows.where(kind="coupling")
    top = max(found["true"]) * 1.05 + 0.01
    left.plot([0, top], [0, top], color=COLOURS["reference"], linestyle=":")
    left.plot(found["true"], found["measured"], "o", color=COLOURS["ours"])
    left.set(xlabel="true (nats)", ylabel="measured")
    for axis, skewed in zip(games, (False, True), strict=True):
        for index, paid in enumerate(PAID):
            some = rows.where(kind="curve", skewed=skewed, paid=paid)
            steps = sorted({int(step) for step in some["step"]})
            values = [float(np.median(some.where(step=step)["reward"])) for step in steps]
            axis.plot(steps, values, color=colour(index), label=_LABELS[paid])
        axis.set(title="one state half of the time" if skewed else "equal states", xlabel="step", ylim=(0, 1))
    games[0].set_ylabel("reward")
    games[0].legend(fontsize=6.5)
    return {"influence": figure}
