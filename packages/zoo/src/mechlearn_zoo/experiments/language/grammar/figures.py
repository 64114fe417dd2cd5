"""Best F1 by class: what distance is measured to, and whether sources must agree."""

from claimlab import Rows, colour, panels
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
    groups = (
        (METHODS, [{"arm": "all words", "method": method} for method in METHODS]),
        (ARMS, [{"arm": arm} for arm in ARMS]),
    )
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
