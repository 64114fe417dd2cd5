"""Returns in dream and world, how they were evolved, and a dream beside the world."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.worlds.take_cover import films
from craik.lab import COLOURS, Animation, Rows, colour, number, panels

WORDS = {"z": "z", "z-h": "[z, h]", "z-untrained": "[z, untrained h]"}
"""What a controller sees, by its method's name."""


def figures(rows: Rows) -> dict[str, Figure | Animation]:
    """Draw what each controller scores, the course of each evolution, and the film of the first seed that has one."""
    found: dict[str, Figure | Animation] = {}
    if rows.where(kind="final"):
        found = {"returns": draw_returns(rows), "evolution": draw_evolution(rows)}
    if film := draw_film(rows):
        found["dream-and-world"] = film
    return found


def label(name: str) -> str:
    """Return what stands below a controller that was evolved in the world, or in a dream of rooms."""
    return name.replace("rooms, ", "dream\nof rooms,\n") if name.startswith("rooms") else f"world,\n{WORDS[name]}"


def draw_returns(rows: Rows) -> Figure:
    """Draw each method's return in the world, and for dreams also that in the dream, a dot a seed."""
    names = list(dict.fromkeys(str(row["method"]) for row in rows.where(kind="final")))
    figure, (axes,) = panels(
        caption="Steps survived by each seed's controller: full dots in the world, open ones in the dream that it was "
        "evolved in. Grey lines: the random policy that was recorded, and standing still.",
        height=3.2,
    )
    for place, name in enumerate(names):
        ends = rows.where(kind="final", method=name)
        x = place + np.linspace(-0.15, 0.15, len(ends)) if len(ends) > 1 else np.array([place])
        dreamt = name.startswith(("dream", "rooms"))
        if dreamt:
            axes.plot(x, ends["virtual"], "o", mfc="none", color=COLOURS["ours"], label="in the dream" if not place else None)
        axes.plot(x, ends["actual"], "o", color=COLOURS["ours" if dreamt else "baseline"])
        axes.hlines(float(np.mean(ends["actual"])), place - 0.25, place + 0.25, color=COLOURS["ink"], linewidth=1.2)
    for name in ("random", "still"):
        level = float(np.mean(rows.where(kind="reference", method=name)["actual"]))
        axes.axhline(level, color=COLOURS["reference"], linestyle="--", linewidth=1)
        axes.annotate(name, (-0.45, level), va="bottom", fontsize=8, color=COLOURS["reference"])
    labels = [name.replace("dream", "dream,\ntemper-\nature") if name.startswith("dream") else label(name) for name in names]
    axes.set_xticks(range(len(names)), labels)
    axes.set(ylabel="return", ylim=(0, None), xlim=(-0.5, len(names) - 0.4))
    return figure


def draw_evolution(rows: Rows) -> Figure:
    """Draw each generation's mean fitness where it was evolved, mean over seeds."""
    curves = rows.where(kind="generation")
    figure, (axes,) = panels(
        caption="Mean return of a generation where it is evolved, in its dream (solid) or in the world (dashed); "
        "mean over seeds.",
        height=2.8,
    )
    for index, name in enumerate(dict.fromkeys(str(row["method"]) for row in curves)):
        some = curves.where(method=name)
        x = sorted({int(number(row, "generation")) for row in some})
        y = [float(np.mean(some.where(generation=g)["mean"])) for g in x]
        dreamt = name.startswith(("dream", "rooms"))
        axes.plot(x, y, "-" if dreamt else "--", color=colour(index), label=name if dreamt else label(name).replace("\n", " "))
    axes.set(xlabel="generation", ylabel="mean return", ylim=(0, None))
    axes.legend(fontsize=7.5)
    return figure


def draw_film(rows: Rows) -> Animation | None:
    """Animate the dream at the highest temperature beside the world, of the first seed that has both."""
    found = rows.where(kind="film")
    if not found:
        return None
    row = found[0]
    own = found.where(seed=row["seed"]) if "seed" in row else found
    name = str(own[-1]["method"])
    sides = {str(one["side"]): films.decode(str(one["pictures"]), int(number(one, "frames"))) for one in own.where(method=name)}
    caption = (
        "The same controller, evolved in the dream alone: on the left the dream, decoded by V, on the right the world, "
        "each with what the controller does in it. Both begin with the same frame; a side stands still when its episode is "
        "over. Balls red, agent blue."
    )
    return Animation(
        caption, films.beside(sides["dream"], sides["world"], (name.replace("dream", "dream, temperature"), "world"))
    )
