"""What is claimed of streams of sub-tasks; written before any judged run. The thesis only proposes: hypotheses."""

import numpy as np

from claimlab import Claim, EachSeed, Least, Rows, high_below, low_above, number

_SOURCE = "thesis chapter 5, outlook: once sub-tasks are solved 'there is no learning signal left for the teacher'"
_TRIED = (
    "Seed 1000 alone, once, with half the rounds and steps: the fixed sub-task was not solved in them, so both were doubled. "
    "In these the meta-gradient grows as the student learns, in either domain; training until it is solved was not tried. "
    "In a record before, whose fresh student began with the weights of the one that had trained the teacher, as both came of "
    "one stream of random numbers, `useful`, `above-fixed` and `untrained` held (README), asked of the ends alone."
)


def _ends(group: Rows, domain: str, key: str) -> tuple[float, float] | None:
    """A number in the first stage and in the last."""
    some = [row for row in group.where(domain=domain) if row.get(key) is not None]
    ordered = sorted(some, key=lambda row: number(row, "stage"))
    return (number(ordered[0], key), number(ordered[-1], key)) if ordered else None


def gain(group: Rows) -> float | None:
    """Return what the stream's teacher is worth at the end."""
    found = _ends(group, "stream", "gain")
    return None if found is None else found[1]


def against_fixed(group: Rows) -> float | None:
    """Return what it is worth more than the fixed domain's."""
    found = [_ends(group, domain, "gain") for domain in ("stream", "fixed")]
    return None if found[0] is None or found[1] is None else found[0][1] - found[1][1]


def against_untrained(group: Rows) -> float | None:
    """Return what it is worth more than before it was trained."""
    found = _ends(group, "stream", "gain")
    return None if found is None else found[1] - found[0]


def fading(group: Rows) -> float | None:
    """Return the meta-gradient's length in the last stage of the fixed domain over that in the first."""
    found = _ends(group, "fixed", "signal")
    return None if found is None else found[1] / max(found[0], 1e-12)


def staying(group: Rows) -> float | None:
    """Return the meta-gradient's length in the stream's last stage over that in the fixed domain's."""
    found = [_ends(group, domain, "signal") for domain in ("stream", "fixed")]
    return None if found[0] is None or found[1] is None else found[0][1] / max(found[1][1], 1e-12)


CLAIMS = (
    Claim(
        id="distill-stream.useful",
        kind="hypothesis",
        text="Over a stream of sub-tasks a teacher stays useful to a fresh student of another one.",
        source=_SOURCE,
        measure=EachSeed(gain, np.median),
        condition=low_above(0.0, of="accuracy less that without a teacher, after the last stage, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least),
    Claim(
        id="distill-stream.above-fixed",
        kind="hypothesis",
        text="It is worth more than a teacher of one sub-task, trained as long.",
        source=_SOURCE,
        measure=EachSeed(against_fixed, np.median),
        condition=low_above(0.0, of="gain less that of the fixed domain's teacher, after the last stage, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least),
    Claim(
        id="distill-stream.fades",
        kind="hypothesis",
        text="In a fixed domain the teacher's learning signal fades.",
        source=_SOURCE,
        measure=EachSeed(fading, np.median),
        condition=high_below(
            0.5, of="length of the meta-gradient in the last stage over that in the first, median over seeds,"
        ),
        tried=_TRIED,
    ),
    Claim(
        id="distill-stream.stays",
        kind="hypothesis",
        text="In a stream it stays.",
        source=_SOURCE,
        measure=EachSeed(staying, np.median),
        condition=low_above(
            1.0, of="length of the meta-gradient in the last stage over the fixed domain's, median over seeds,"
        ),
        tried=_TRIED,
    ),
    Claim(
        id="distill-stream.untrained",
        kind="control",
        text="It is what the teacher has learnt: before training it is worth less.",
        source="ours; a control",
        measure=EachSeed(against_untrained, np.median),
        condition=low_above(0.0, of="gain after the last stage less that of the untrained teacher, median over seeds,"),
        tried=_TRIED,
    ).also_stopped(Least),
)
