"""The figure of `coloured_digits`, and what is claimed of it."""

import numpy as np
from matplotlib.figure import Figure

from craik.lab import Claim, Measurement, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, panels

SELECTIONS = ("training-domain", "leave-one-out", "oracle")


def selected(rows: Rows, method: str, selection: str) -> list[float]:
    """Return, seed by seed, the test accuracy of the trial that a rule selects."""
    groups = rows.where(method=method).by("seed").values()
    return [number(max(group, key=lambda row: number(row, selection)), "test_accuracy") for group in groups]


def methods(rows: Rows) -> Figure:
    """Draw test accuracy of every method under each selection rule."""
    names = list(dict.fromkeys(str(row["method"]) for row in rows))
    figure, all_axes = panels(
        3,
        caption="Test accuracy of the trial that a rule selects; dots: seeds, bar: median. The same draws and budget for every "
        "method. Dotted: chance, 0.5, and the shape alone, 0.75.",
        height=3.0,
    )
    for axes, selection in zip(all_axes, SELECTIONS, strict=True):
        for index, method in enumerate(names):
            found = selected(rows, method, selection)
            colour = COLOURS["ours"] if "mask" in method else COLOURS["baseline"]
            axes.barh(index, float(np.median(found)), color=colour, alpha=0.35)
            axes.plot(found, [index] * len(found), ".", color=colour)
        for level in (0.5, 0.75):
            axes.axvline(level, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
        axes.set_yticks(range(len(names)), names if axes is all_axes[0] else [])
        axes.set(title=selection, xlim=(0, 0.85), xlabel="test accuracy")
        axes.grid(visible=False)
    return figure


def over(method: str, selection: str, rows: Rows) -> Measurement | None:
    """Return a method's test accuracy less that of plain training, both selected by a rule; median over seeds."""
    ours, plain = selected(rows, method, selection), selected(rows, "erm", selection)
    return bootstrap([a - b for a, b in zip(ours, plain, strict=True)]) if ours and plain else None


def plain(rows: Rows) -> Measurement | None:
    """Return plain training's test accuracy under training-domain selection."""
    found = selected(rows, "erm", "training-domain")
    return bootstrap(found) if found else None


def agreeing_colour(rows: Rows) -> Measurement | None:
    """Return the AND-mask's training accuracy under training-domain selection: above 0.75 it uses the colour."""
    groups = rows.where(method="and-mask").by("seed").values()
    best = [max(group, key=lambda row: number(row, "training-domain")) for group in groups]
    return bootstrap(best["training-domain"]) if best else None


_TRIED = (
    "4 and 12 draws of settings, 150 and 400 steps. Colour and label go together in both training environments, so that signs "
    "agree and the mask lets the colour through (coloured-digits.signs-agree)."
)
_SOURCE = "ours; the construction is Arjovsky et al. 2019, section 5.2"

CLAIMS = (
    Claim(
        id="coloured-digits.erm",
        text="Plain training follows the colour: below chance where it misleads.",
        source=_SOURCE,
        printed=None,
        measure=plain,
        holds=lambda measured: measured.high < 0.5,
        condition="test accuracy under training-domain selection below 0.5, its interval too",
    ),
    Claim(
        id="coloured-digits.and-mask",
        text="The AND-mask does better than plain training on the test environment.",
        source=_SOURCE,
        printed=None,
        measure=lambda rows: over("and-mask", "training-domain", rows),
        holds=lambda measured: measured.low > 0,
        condition="difference of test accuracies under training-domain selection above 0, its interval too",
        tried=_TRIED,
    ),
    Claim(
        id="coloured-digits.and-mask-oracle",
        text="It does so when settings are selected on the test environment.",
        source=_SOURCE,
        printed=None,
        measure=lambda rows: over("and-mask", "oracle", rows),
        holds=lambda measured: measured.low > 0,
        condition="difference of test accuracies under oracle selection above 0, its interval too",
        tried=_TRIED,
    ),
    Claim(
        id="coloured-digits.signs-agree",
        text="The mask lets the colour through, since both training environments agree on its sign.",
        source=_SOURCE,
        printed=None,
        measure=agreeing_colour,
        holds=lambda measured: measured.low > 0.78,
        condition="the AND-mask's accuracy on held-out training examples above 0.78, its interval too, where the shape alone "
        "gives 0.75",
    ),
    Claim(
        id="coloured-digits.irm-oracle",
        text="IRM does better than plain training when settings are selected on the test environment.",
        source="Arjovsky et al. 2019, section 5.2, whose settings are selected so",
        printed=None,
        measure=lambda rows: over("irm", "oracle", rows),
        holds=lambda measured: measured.low > 0,
        condition="difference of test accuracies under oracle selection above 0, its interval too",
    ),
)
