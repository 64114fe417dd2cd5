"""What is claimed of options and actions; written before any judged run. Differences are within a seed: same walks."""

import numpy as np

from craik.lab import Claim, EachSeed, Paired, Rows, high_below, low_above, number

_SOURCE = "thesis section 2.5: options with skips learnt jointly; no numbers"
_ACTIONS = "thesis sections 2.1.1 and 2.5: actions; no numbers"
_TRIED = "The length of training was chosen on seed 1000 alone; see the experiment's README."


def ahead(method: str, over: str) -> Paired:
    """Return the measure of how much more often one method's roll-outs end right than another's."""
    return Paired("accuracy", {"method": method}, {"method": over})


def above_frequent(method: str) -> EachSeed:
    """Return the measure of a method's accuracy less that of the cell in which most walks end."""

    def above(rows: Rows) -> float | None:
        some = rows.where(method=method)
        return number(some[0], "accuracy") - number(some[0], "frequent") if some else None

    return EachSeed(above, np.median)


CLAIMS = (
    Claim(
        id="skips-options.joint",
        kind="hypothesis",
        text="One model of all options, its skips learnt with their ends, ends right more often than a model each on as many "
        "evaluations together.",
        source=_SOURCE,
        measure=ahead("joint", "separate"),
        condition=low_above(0, of="share of right ends less that of separate models, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-options.skips",
        kind="hypothesis",
        text="It ends right more often than a model of all options that predicts every frame.",
        source=_SOURCE,
        measure=ahead("joint", "every-frame"),
        condition=low_above(0, of="share of right ends less that of steps of 1, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-options.switches",
        kind="hypothesis",
        text="Skips that may stop on the way end right more often than those that only options' ends stop, as in value "
        "prediction networks.",
        source=_SOURCE,
        measure=ahead("joint", "ends"),
        condition=low_above(0, of="share of right ends less that of skips to options' ends alone, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-options.reach",
        kind="ours",
        text="An option's end as a legal match beyond the horizon saves evaluations in a roll-out.",
        source=_SOURCE,
        measure=Paired("rollout", {"method": "joint"}, {"method": "within"}, over=True),
        condition=high_below(0.9, of="evaluations of a roll-out over those within the horizon, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-options.actions",
        kind="hypothesis",
        text="With the coming actions known, ASI ends right more often than steps of 4 frames.",
        source=_ACTIONS,
        measure=ahead("actions", "actions-fixed-4"),
        condition=low_above(0, of="share of right ends less that of steps of 4, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-options.actions-every-frame",
        kind="hypothesis",
        text="With the coming actions known, ASI ends right more often than a model of every frame.",
        source=_ACTIONS,
        measure=ahead("actions", "actions-fixed-1"),
        condition=low_above(0, of="share of right ends less that of steps of 1, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-options.window",
        kind="ours",
        text="A model that skips should see the actions that it may skip over: the one that acts is not enough.",
        source="ours; `Actions` gives a window",
        measure=ahead("actions", "actions-blind"),
        condition=low_above(0, of="share of right ends less that with the acting push alone, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-options.learnt",
        kind="control",
        text="On this budget the model of all options ends right more often than the most frequent cell does.",
        source="ours; a control",
        measure=above_frequent("joint"),
        condition=low_above(0.2, of="share of right ends less that of the most frequent cell, median over seeds,"),
        tried=_TRIED,
    ),
)
