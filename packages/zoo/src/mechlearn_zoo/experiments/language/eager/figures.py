"""Right sentences by length, for each number of start pads and for attention."""

import numpy as np

from claimlab import COLOURS, Rows, band, colour, panels
from mechlearn_zoo.learners.plots import Figure


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw a curve a model."""
    said = next((row for row in rows if row["kind"] == "sentence"), None)
    sentence = f" For example {said['source']} becomes {said['translation']}." if said else ""
    caption = (
        "Right sentences and right words by the clauses of a sentence; training had the shaded lengths. Median and "
        "range over seeds."
    )
    figure, axes = panels(2, caption=caption + sentence, height=3.0)
    found = rows.where(kind="final")
    for axis, key in zip(axes, ("exact", "words"), strict=True):
        for index, (model, some) in enumerate(found.by("model").items()):
            lengths = sorted(set(some["clauses"]))
            curves = [[group.where(clauses=int(c))[key][0] for c in lengths] for group in some.by("seed").values()]
            shade = COLOURS["ink"] if model == "attention" else colour(index)
            band(axis, lengths, np.array(curves), str(model), shade)
        axis.axvspan(0.8, 3.2, color=COLOURS["reference"], alpha=0.12, linewidth=0)
        axis.set(xlabel="clauses", ylabel="right sentences" if key == "exact" else "right words", ylim=(0, 1.02))
    axes[0].legend()
    return {"lengths": figure}
