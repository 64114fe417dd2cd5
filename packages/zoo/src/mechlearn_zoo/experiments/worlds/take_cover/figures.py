"""Returns in dream and world, how they were evolved, a dream beside the world, and what V makes of a frame."""

import numpy as np

from claimlab import COLOURS, Animation, Rows, colour, number, panels
from mechlearn_zoo.experiments.worlds.take_cover import films
from mechlearn_zoo.learners.plots import Figure, first_seed, level, lines_of_dots, picture

WORDS = {"z": "z", "z-h": "[z, h]", "z-untrained": "[z, untrained h]"}
"""What a controller sees, by its method's name."""
SHOWN = 6
"""Frames of each side in the strip."""
LONGEST = 20
"""Steps from the first to the last frame of an episode in the fog: about a ball's way down."""


def figures(rows: Rows) -> dict[str, Figure | Animation]:
    """Draw what each controller scores, the course of each evolution, and the film of the first seed that has one."""
    found: dict[str, Figure | Animation] = {}
    if rows.where(kind="final"):
        found = {"returns": draw_returns(rows), "evolution": draw_evolution(rows)}
    if len(rows.where(kind="fog")):
        found["memory"] = draw_memory(rows)
    if len(rows.where(kind="film")):
        found |= {"dream-strip": draw_strip(rows), "dream-and-world": draw_film(rows)}
    if len(rows.where(kind="seen")):
        found["seen"] = draw_seen(rows)
    return found


def known(rows: Rows) -> list[str]:
    """Return the methods of some rows that the experiment has today; an older record may have more."""
    return [name for name in dict.fromkeys(str(row["method"]) for row in rows) if name.startswith("dream") or name in WORDS]


def label(name: str) -> str:
    """Return what stands below a controller that was evolved in the world."""
    return f"world,\n{WORDS[name]}"


def draw_returns(rows: Rows) -> Figure:
    """Draw each method's return in the world, and for dreams also that in the dream, a dot a seed."""
    names = known(rows.where(kind="final"))
    figure, (axes,) = panels(
        caption="Steps survived by each seed's controller: full dots in the world, open ones in the dream that it was "
        "evolved in. Grey lines: the random policy that was recorded, and standing still.",
        height=3.2,
    )
    for place, name in enumerate(names):
        ends = rows.where(kind="final", method=name)
        x = place + np.linspace(-0.15, 0.15, len(ends)) if len(ends) > 1 else np.array([place])
        dreamt = name.startswith("dream")
        if dreamt:
            axes.plot(x, ends["virtual"], "o", mfc="none", color=COLOURS["ours"], label="in the dream" if not place else None)
        axes.plot(x, ends["actual"], "o", color=COLOURS["ours" if dreamt else "baseline"])
        axes.hlines(float(np.mean(ends["actual"])), place - 0.25, place + 0.25, color=COLOURS["ink"], linewidth=1.2)
    for name in ("random", "still"):
        steps = float(np.mean(rows.where(kind="reference", method=name)["actual"]))
        level(axes, steps, style="--")
        axes.annotate(name, (-0.45, steps), va="bottom", fontsize=8, color=COLOURS["reference"])
    labels = [name.replace("dream", "dream,\ntemper-\nature") if name.startswith("dream") else label(name) for name in names]
    axes.set_xticks(range(len(names)), labels)
    axes.set(ylabel="steps survived", ylim=(0, None), xlim=(-0.5, len(names) - 0.4))
    return figure


def draw_evolution(rows: Rows) -> Figure:
    """Draw each generation's mean fitness where it was evolved, mean over seeds."""
    curves = rows.where(kind="generation")
    figure, (axes,) = panels(
        caption="Mean return of a generation where it is evolved, in its dream (solid) or in the world (dashed); "
        "mean over seeds.",
        height=2.8,
    )
    for index, name in enumerate(known(curves)):
        some = curves.where(method=name)
        x = sorted({int(number(row, "generation")) for row in some})
        y = [float(np.mean(some.where(generation=g)["mean"])) for g in x]
        dreamt = name.startswith("dream")
        axes.plot(x, y, "-" if dreamt else "--", color=colour(index), label=name if dreamt else label(name).replace("\n", " "))
    axes.set(xlabel="generation", ylabel="mean of steps survived", ylim=(0, None))
    axes.legend(fontsize=7.5)
    return figure


def draw_memory(rows: Rows) -> Figure:
    """Draw frames of an episode in the fog above the steps survived in it, a dot a seed."""
    row = first_seed(rows.where(kind="fog"))[0]
    count, fog = int(number(row, "frames")), number(row, "fog")
    shown, there = (films.decode(str(row[name]), count).astype(float) for name in ("shown", "there"))
    figure, (above, below) = panels(
        1, 2, height=3.8,
        caption="Above: an episode of a controller that sees [z, h]. Red: balls that the frame shows. Pale, in grey: balls "
        "that the fog hides. Blue: the agent. Below: steps survived by each seed's controllers; bars are medians, and the "
        "dashed line is the random policy. h: the state of M, trained or not.",
    )  # fmt: skip
    pixels = np.minimum(shown, 255 - 0.45 * (255 - there))
    pixels[:, int(fog * pixels.shape[1]) :] -= 32
    steps = np.linspace(0, min(count - 1, LONGEST), SHOWN).round().astype(int)
    side = pixels.shape[2] + 2
    strip = np.pad(pixels[steps], ((0, 0), (0, 0), (0, 2), (0, 0)), constant_values=255).clip(0, 255).astype(np.uint8)
    picture(above, np.concatenate(list(strip), 1)[:, :-2])
    above.set_xticks(side * np.arange(SHOWN) + side / 2 - 1.5, [f"step {step}" for step in steps])
    above.spines[:].set_visible(False)
    ends = {name: rows.where(kind="final", method=name)["actual"] for name in ("z", "z-untrained", "z-h")}
    shades = {"z": "baseline", "z-untrained": "baseline", "z-h": "ours"}
    lines_of_dots(below, {WORDS[name]: (values, shades[name]) for name, values in ends.items()})
    random = float(np.mean(rows.where(kind="reference", method="random")["actual"]))
    level(below, random, style="--", upright=True)
    below.annotate("random", (random, 2.42), ha="right", fontsize=8, color=COLOURS["reference"])
    below.set(xlabel="steps survived in the fog", xlim=(0, None))
    return figure


def filmed(rows: Rows) -> tuple[str, dict[str, np.ndarray]]:
    """Return the dream at the highest temperature of the first seed that has a film: its title, and both sides' pictures."""
    found = rows.where(kind="film")
    own = first_seed(found)
    name = str(own[-1]["method"])
    sides = {str(one["side"]): films.decode(str(one["pictures"]), int(number(one, "frames"))) for one in own.where(method=name)}
    return name.replace("dream", "dream, temperature"), sides


def draw_strip(rows: Rows) -> Figure:
    """Draw six frames of a dream above the world's at the same steps."""
    title, sides = filmed(rows)
    figure, axes = panels(
        SHOWN, 2, height=2.9,
        caption=f"One controller, evolved in the dream alone: above in the {title}, as V decodes it, below in the world, each "
        "with what the controller does in it, and from a first frame of its own. Balls red, agent blue. One seed; the last "
        "column is where the shorter of both films ends.",
    )  # fmt: skip
    steps = np.linspace(0, min(len(film) for film in sides.values()) - 1, SHOWN).round().astype(int)
    for index, (axis, step) in enumerate(zip(axes, [*steps, *steps], strict=True)):
        side = "dream" if index < SHOWN else "world"
        picture(axis, sides[side][step], framed=True)
        if index < SHOWN:
            axis.set_title(f"step {step}", fontsize=9, loc="center", pad=4)
        if index % SHOWN == 0:
            axis.set_ylabel(side)
    return figure


def draw_film(rows: Rows) -> Animation:
    """Animate a dream beside the world."""
    title, sides = filmed(rows)
    caption = (
        "The same controller, evolved in the dream alone: on the left the dream, decoded by V, on the right the world, "
        "each with what the controller does in it, and from a first frame of its own. A side stands still when its episode "
        "is over. Balls red, agent blue."
    )
    return Animation(caption, films.beside(sides["dream"], sides["world"], (title, "world")))


def draw_seen(rows: Rows) -> Figure:
    """Draw a frame beside what V makes of it, of the first seed that has both."""
    row = rows.where(kind="seen")[0]
    figure, axes = panels(
        2, 1, height=3.4,
        caption="A frame of an episode that V was not trained on, and what V makes of it: of these frames the one whose loss "
        f"is the median's, {100 * number(row, 'lost'):.0f} % of its energy. One seed, in sixteen shades a colour.",
    )  # fmt: skip
    pictures = films.decode_colours(str(row["pictures"]), int(number(row, "frames")))
    for axis, pixels, title in zip(axes, pictures, ("the world's frame", "V's picture of it"), strict=True):
        picture(axis, pixels, title, framed=True)
    return figure
