"""Best F1 by class: what distance is measured to, and whether sources must agree."""

import numpy as np

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.experiments.language.grammar.english import WAYS
from mechlearn_zoo.experiments.language.grammar.run import ARMS, METHODS
from mechlearn_zoo.learners.plots import Figure, columns


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both panels."""
    words = next((str(row["words"]) for row in rows if row["kind"] == "expansion" and row["arm"] == "sources agree"), "")
    shown = f" Where sources agree, `except {{error: KeyError ValueError}}` stands for: {words}." if words else ""
    caption = (
        "Best F1 of hidden words from two exemplars, bars: mean over seeds, points: seeds. Left by what distance is measured "
        "to, among all words; right by the text behind the vectors, among words that all sources have."
    )
    figure, axes = panels(2, caption=caption + shown, height=3.0)
    classes = [str(name) for name in rows.where(kind="class").by("class")]
    groups = ((METHODS, [{"arm": "all words", "method": method} for method in METHODS]), (ARMS, [{"arm": arm} for arm in ARMS]))
    for axis, (names, values) in zip(axes, groups, strict=True):
        found = {
            (name, colour(index)): [rows.where(**{"kind": "class", "class": one, **tags})["f1"] for one in classes]
            for index, (name, tags) in enumerate(zip(names, values, strict=True))
        }
        columns(axis, classes, found, bars=True)
        axis.set_ylim(0, 1)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("best F1")
    return {"classes": figure}


def english(rows: Rows) -> dict[str, Figure]:
    """Draw F1 by class and way, and by radius."""
    shown = rows.where(kind="words", seed=rows[0]["seed"])
    said = "; ".join(f"{row['class']}: {row['examples']} -> {row['words']}" for row in shown)
    caption = (
        "F1 of English sentences that a pattern with an open word should match, such as `my {kin}`, from two example "
        "sentences. Left: by way, bars: mean over seeds, points: seeds; the nearest sentence has its best threshold, balls "
        "the radius 0.6. Right: balls by radius, mean and range over seeds; at 0 it is the literal pattern. What two "
        f"examples match: {said}."
    )
    figure, axes = panels(2, caption=caption, height=3.2)
    ways = rows.where(kind="way")
    classes = [str(name) for name in ways.by("class")]
    looks = zip(WAYS, ("baseline", "ours", colour(2), "reference"), strict=True)
    f1 = {look: [ways.where(**{"way": look[0], "class": name})["f1"] for name in classes] for look in looks}
    columns(axes[0], classes, f1, bars=True)
    axes[0].set(ylabel="F1 of sentences", ylim=(0, 1.25))
    axes[0].legend(fontsize=8, ncols=2, loc="upper left")
    for index, name in enumerate(classes):
        radii, lines = rows.where(**{"kind": "radius", "class": name}).curves("radius", "f1")
        band(axes[1], np.asarray(radii), lines, name, colour(index))
    axes[1].axvline(0.6, color=COLOURS["reference"], linewidth=0.8)
    axes[1].set(xlabel="radius of the balls", ylim=(0, 1))
    axes[1].legend(fontsize=8)
    return {"english": figure}
