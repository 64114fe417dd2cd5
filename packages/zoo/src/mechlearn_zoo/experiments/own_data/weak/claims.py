"""What is claimed where clinics are exchangeable; written before any judged run."""

from claimlab import Claim, at_least, low_at_least
from mechlearn_zoo.experiments.own_data.comparing import TAUGHT
from mechlearn_zoo.experiments.own_data.measures import BY_SEED, POOLED, SOURCE, TWENTY, least
from mechlearn_zoo.experiments.own_data.weak.run import CELLS

ALL = tuple(CELLS.values())
_OVER_OTHERS = "points of pooled over another way, in the cell and of the way whose mean over seeds is best,"

CLAIMS = (
    Claim(
        id="own-data-weak.null",
        text="The AND-mask is within two points of pooled training where there is nothing to gain.",
        source=SOURCE,
        measure=least(("AND-mask",), (POOLED,), ALL),
        condition=low_at_least(-2.0, of="points over pooled in the cell whose mean over seeds is worst,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-weak.never-worse",
        text="Gail-Simon's rule is not a point worse than pooled training.",
        source=SOURCE,
        measure=least(("conflict rule",), (POOLED,), ALL),
        condition=low_at_least(-1.0, of="points over pooled in the cell whose mean over seeds is worst,"),
        kind="ours",
        tried=TWENTY,
    ),
    Claim(
        id="own-data-weak.never-worse-cochran",
        text="Nor is Cochran's Q as a mask.",
        source=SOURCE,
        measure=least(("Cochran's Q",), (POOLED,), ALL),
        condition=low_at_least(-1.0, of="points over pooled in the cell whose mean over seeds is worst,"),
        kind="ours",
        tried=f"{TWENTY} {BY_SEED}",
    ),
    Claim(
        id="own-data-weak.nothing",
        text="Every way to train is established to be at most a point above pooled training in every cell.",
        source=SOURCE,
        measure=least((POOLED,), TAUGHT, ALL),
        condition=low_at_least(-1.0, of=_OVER_OTHERS).instead_of(
            at_least(-1.0, of=_OVER_OTHERS), "Of the mean alone: its interval holds gains of more than a point."
        ),
        kind="control",
        tried=f"{TWENTY} {BY_SEED} Fishr's intervals exceed a point in all three cells; no other way's does.",
    ),
)
