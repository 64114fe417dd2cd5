"""What is claimed of codes, and of sites that have none; written before any recorded run."""

import numpy as np

from claimlab import Claim, Least, Paired, low_above, low_at_least

_SOURCE = "ours; issue 'rules that test for conflict'"
_BEFORE = (
    "Of a record before, whose first weights and batches came of the board's stream of random numbers, {} on the same seeds."
)


def gain(method: str, over: str = "mean", **cell: int) -> Paired:
    """Return a measure: how much more accurate one method is than another at a new site, mean over seeds."""
    one, other = ({"kind": "final", **cell, "method": name} for name in (method, over))
    return Paired("accuracy", one, other, np.mean)


CLAIMS = (
    Claim(
        id="conflict-codes.gains",
        text="Gail-Simon's rule gains at a site with a code of its own.",
        source=_SOURCE,
        measure=gain("qualitative", sites=8, rows=128),
        condition=low_above(0.0, of="accuracy less averaging's, 8 sites of 128 rows, mean over seeds,"),
        kind="ours",
        tried=_BEFORE.format("0.032 [0.020, 0.044]"),
    ).also_stopped(Least),
    Claim(
        id="conflict-codes.decay",
        text="With decay of what it masks it gains more.",
        source=_SOURCE,
        measure=gain("qualitative-decay", "qualitative", sites=8, rows=128),
        condition=low_above(0.0, of="accuracy with decay less without, 8 sites of 128 rows, mean over seeds,"),
        kind="ours",
        tried=_BEFORE.format("0.061 [0.045, 0.079]"),
    ).also_stopped(Least),
    Claim(
        id="conflict-codes.and-mask",
        text="With decay it reaches the AND-mask.",
        source=_SOURCE,
        measure=gain("qualitative-decay", "and-mask", sites=8, rows=128),
        condition=low_at_least(-0.02, of="accuracy less the AND-mask's, 8 sites of 128 rows, mean over seeds,"),
        kind="ours",
        tried="On seeds 1000 and 1001, with the former streams, it did not: the AND-mask was 0.07 ahead there, as it also "
        "keeps this small network from fitting noise. " + _BEFORE.format("-0.085 [-0.103, -0.067]"),
    ).also_stopped(Least),
    Claim(
        id="conflict-codes.few-rows",
        text="With few rows and with decay it is not worse than averaging, as it then averages.",
        source=_SOURCE,
        measure=gain("qualitative-decay", sites=3, rows=16),
        condition=low_at_least(-0.01, of="accuracy with decay less averaging's, 3 sites of 16 rows, mean over seeds,"),
        kind="ours",
        tried="The default level with decay, at one setting as in the other cells. Without decay the rule is at 0.0009 "
        "[-0.0036, 0.0061] there, which would meet the condition, too. "
        + _BEFORE.format("-0.0027 [-0.0132, 0.0084]")
        + " That did not hold; on the first three of these seeds it had held so far.",
    ).also_stopped(Least),
)

_NOT_WORSE = low_at_least(-0.01, of="difference of accuracy from averaging, mean over seeds,").at("null", "null-paper")

NULL = (
    Claim(
        id="conflict-null.never-worse",
        text="On exchangeable sites Gail-Simon's rule is never worse than averaging.",
        source=_SOURCE,
        measure=gain("qualitative"),
        condition=_NOT_WORSE,
        kind="ours",
        tried="A hundredth is allowed for: at the end it is worse by 0.0029 [0.0001, 0.0058]. "
        + _BEFORE.format("0.0045 [0.0011, 0.0077]"),
    ).also_stopped(Least),
    Claim(
        id="conflict-null.never-worse-cochran",
        text="Nor is Cochran's rule with decay.",
        source=_SOURCE,
        measure=gain("homogeneous-decay"),
        condition=_NOT_WORSE,
        kind="ours",
        tried=_BEFORE.format("0.0053 [-0.0003, 0.0111]"),
    ).also_stopped(Least),
)
