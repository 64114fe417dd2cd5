"""What is claimed of ASI's choices; written before any judged run. Differences are within a seed: same boards, same start."""

import numpy as np

from claimlab import (
    Claim,
    Condition,
    Least,
    Measure,
    Measurement,
    OverSeeds,
    Rows,
    at_least,
    bootstrap,
    high_at_most,
    low_above,
    number,
    where_stopped,
)
from mechlearn_zoo.experiments.skips.comparing.measures import above_frequent, ahead
from mechlearn_zoo.experiments.skips.comparing.outcomes import LEARNT

_ALIGNMENT = "thesis sections 2.2 and 2.5: instead of a greedy matching, a global alignment; no numbers"
_TRIED = "Settings were fixed before ten of eleven methods ran once on seed 1000, which changed none of them."
_DIFFERENCE = "label accuracy, median over seeds,"
_ALIKE = f"Of two that are never right it said that they are alike; now one must have a median accuracy of {LEARNT:g}."


def reader_difference(rows: Rows) -> Measurement | None:
    """Return how far ASI's accuracies by the learnt and by the hand-written reader lie apart, seed by seed."""
    some = rows.where(method="asi")
    apart = [abs(number(row, "learnt") - number(row, "accuracy")) for row in some if row["learnt"] is not None]
    return bootstrap(apart) if apart else None


def ahead_where_learnt(method: str, over: str) -> Measure:
    """Return the measure `ahead`; None where neither has learnt anything: by the median over seeds, as in `skips-accuracy`."""

    def measure(rows: Rows) -> Measurement | None:
        found = [rows.where(method=name)["accuracy"] for name in (method, over)]
        learnt = [values for values in found if values and float(np.median(values)) >= LEARNT]
        return ahead(method, over)(rows) if learnt else None

    return measure


def _hypothesis(name: str, text: str, source: str, measure: Measure, condition: Condition, tried: str = _TRIED) -> Claim:
    return Claim(
        id=f"skips-matchings.{name}",
        kind="hypothesis",
        text=text,
        source=source,
        measure=measure,
        condition=condition,
        tried=tried,
    )


_NEVER_LANDS = (
    f"{_TRIED} Trained from true frames alone, it lands nowhere when it rolls out, on any seed: the difference is ASI's "
    "accuracy."
)

CLAIMS = (
    *(
        _hypothesis(
            method,
            f"Aligning all predictions of a trajectory at once, {words}, shows the right outcome more often than ASI's greedy "
            "matching.",
            _ALIGNMENT,
            ahead(method, "asi"),
            low_above(0, of=f"that of {method} less ASI's {_DIFFERENCE}"),
            _NEVER_LANDS if method == "aligned-frames" else _TRIED,
        ).also_stopped(Least)
        for method, words in (
            ("aligned-frames", "each made from a true frame"),
            ("aligned-predictions", "each made from the one before"),
        )
    ),
    Claim(
        id="skips-matchings.soft-greedy",
        kind="ours",
        text="A soft minimum in the place of the least loss is right more often: soft-greedy beside asi.",
        source="ours, after Cuturi and Blondel, 2017",
        measure=ahead_where_learnt("soft-greedy", "asi"),
        condition=low_above(
            0, of=f"where one of the two has learnt something, that of soft-greedy less that of asi, {_DIFFERENCE}"
        ).instead_of(
            low_above(0, of=f"that of soft-greedy less that of asi, {_DIFFERENCE}"), _ALIKE, ahead("soft-greedy", "asi")
        ),
        tried=_TRIED,
    ).also_stopped(Least, where_stopped(ahead("soft-greedy", "asi"))),
    _hypothesis(
        "horizon",
        "A horizon is worth having: ASI is right more often than predictions matched with whichever later frame is the "
        "easiest, however far.",
        "thesis section 2.4 (time-agnostic prediction)",
        ahead("asi", "time-agnostic"),
        low_above(0, of=f"that of ASI less that without a horizon, {_DIFFERENCE}"),
    ).also_stopped(Least),
    *(
        _hypothesis(
            method,
            f"ASI works {words}, too: roll-outs say more than the most frequent outcome does.",
            "thesis sections 2.1.1 and 2.5 (stochastic models, latent spaces)",
            above_frequent(method),
            low_above(0.2, of="accuracy less that of the most frequent outcome, median over seeds,"),
        )
        for method, words in (("gaussian", "under a Gaussian likelihood"), ("latent", "in a latent space"))
    ),
    _hypothesis(
        "memory",
        "Where frames have no trace of where the ball was, a memory from match to match that is shown two first frames makes "
        "roll-outs right more often.",
        "thesis sections 2.1.1 (x_0 to x_k), 2.1.2 and 2.3.1 (the trace)",
        ahead("untraced-memory", "untraced"),
        low_above(0, of=f"that with a memory less that without, {_DIFFERENCE}"),
    ).also_stopped(Least),
    Claim(
        id="skips-matchings.reader",
        text="The classifier can be trained on true frames: it reads ASI's roll-outs as the hand-written one does.",
        source="thesis section 2.2",
        measure=reader_difference,
        condition=high_at_most(0.05, of="difference of the two label accuracies, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-matchings.reader-true",
        kind="control",
        text="The trained classifier is right on true last frames.",
        source="thesis section 2.2",
        measure=OverSeeds("psi", {"method": "asi"}),
        condition=at_least(0.98, of="share of true last frames, median over seeds,"),
        tried=_TRIED,
    ),
    Claim(
        id="skips-matchings.learnt",
        kind="control",
        text="On this budget ASI says more than the most frequent outcome does.",
        source="ours; a control",
        measure=above_frequent("asi"),
        condition=low_above(0.2, of="accuracy less that of the most frequent outcome, median over seeds,"),
        tried=_TRIED,
    ),
)
