"""Measured beside true influence, and the game on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from claimlab import COLOURS, Rows, colour, panels
from mechlearn_zoo.experiments.worlds.social_dilemmas.influence import GAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = {
    "none": "no influence paid",
    "printed": "paid as printed",
    "played": "paid over what is played",
    "alone": "as printed, no reward",
    "surprise": "paid for randomness",
}
_TITLES = {"equal": "equal states", "skewed": "one frequent state", "costly": "talk costs"}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both."""
    figure, (left, *games) = panels(
        4, 1, height=2.8,
        caption="Left: influence measured by a model of others against the true one, each seed. Beside it: mean reward, less "
        "what talk cost, of signalling games with equal states, with one state half of the time, and with equal states where "
        "the speaker pays for talk, by what it is paid for; medians over seeds. Dotted: the best there is.",
    )  # fmt: skip
    found = rows.where(kind="coupling")
    top = max(found["true"]) * 1.05 + 0.01
    left.plot([0, top], [0, top], color=COLOURS["reference"], linestyle=":")
    left.plot(found["true"], found["measured"], "o", color=COLOURS["ours"])
    left.set(xlabel="true (nats)", ylabel="measured")
    for axis, (game, arms) in zip(games, GAMES.items(), strict=True):
        for index, paid in enumerate(arms):
            some = rows.where(kind="curve", game=game, paid=paid)
            steps = sorted({int(step) for step in some["step"]})
            values = [float(np.median(some.where(step=step)["reward"])) for step in steps]
            axis.plot(steps, values, color=colour(index), label=_LABELS[paid])
        for best in rows.where(kind="game", game=game, paid="none")["best"][:1]:
            axis.axhline(float(best), color=COLOURS["reference"], linestyle=":")
        axis.set(title=_TITLES[game], xlabel="step", ylim=(-0.2, 1.2) if game == "costly" else (0, 1))
    games[0].set_ylabel("reward")
    games[-1].legend(fontsize=6, loc="upper right")
    return {"influence": figure}
