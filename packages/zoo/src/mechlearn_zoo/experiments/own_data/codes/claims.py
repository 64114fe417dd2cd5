"""What is claimed of each board; written before any judged run."""

from functools import partial

from claimlab import Claim, at_least, high_below, low_above, low_at_least
from mechlearn_zoo.experiments.own_data.codes.run import CELLS
from mechlearn_zoo.experiments.own_data.comparing import TAUGHT
from mechlearn_zoo.experiments.own_data.measures import BY_SEED, POOLED, SOURCE, TWENTY, difference, least, share_of_gain

PEERS = ("IRM", "V-REx", "Fishr", "group DRO")
CODED = tuple(cell for cell in CELLS["codes"].values() if cell["code"])
FEW = tuple(cell for cell in CELLS["codes"].values() if cell["size"] == "8x53")
MAIN = CELLS["codes"]["8x179"]
CLINICS = tuple(CELLS["weak"].values())
WARD = CELLS["wards"]["8x53"]
REVERSED, SHUFFLED, KEPT = (
    tuple(cell for cell in CELLS["tag"].values() if cell["new"] == new) for new in ("reversed", "shuffled", "as before")
)
CALIBRATED = CELLS["calibration"]["8x40"]
WRITTEN, AS_THEY_ARE = CELLS["writers"]["with codes"], CELLS["writers"]["as they are"]

CODED_ALONE = (
    f"{TWENTY} Cells with codes count alone, all four. In the one without codes, 8 sites of 53 rows, the AND-mask gains 2.55 "
    "[2.04, 3.08], that of a mask over noise, and neither Gail-Simon's rule (-0.01 [-0.22, 0.18]) nor Cochran's Q (0.04 "
    "[-0.25, 0.29]) does."
)
CHANGED = (
    f"{TWENTY} With six seeds `reversed` and `cochran` held, and `as-before`, `cost`, `gains` and `filter` did not; with "
    "twenty it is `reversed` that does not."
)
_OF_GAIN = (
    "points over 80 % of the AND-mask's gain in the cell with codes whose mean over seeds is least, of those in which that "
    "gain is above 0 with its whole interval,"
)
_MEAN = "points over pooled, mean over seeds,"
_WORST = "points over pooled in the cell whose mean over seeds is worst,"
_OVER_OTHERS = "points of pooled over another way, in the cell and of the way whose mean over seeds is best,"

ours = partial(Claim, source=SOURCE, kind="ours", tried=TWENTY)
against = partial(ours, source=f"{SOURCE}; a claim against us")
control = partial(ours, kind="control")

CLAIMS = (
    ours(
        id="own-data-codes.pooled",
        text="With 8 sites of 179 rows the AND-mask is above early-stopped pooled training at a new site.",
        measure=difference("AND-mask", MAIN),
        condition=low_above(0.0, of=_MEAN),
    ),
    ours(
        id="own-data-codes.peers",
        text="It is above IRM, V-REx, Fishr and group DRO.",
        measure=least(("AND-mask",), PEERS, (MAIN,)),
        condition=low_above(0.0, of="points over the one of them whose mean over seeds is best,"),
    ),
    ours(
        id="own-data-codes.never-worse",
        text="Gail-Simon's rule is never a point worse than pooled training: few rows, with and without codes.",
        measure=least(("conflict rule",), (POOLED,), FEW),
        condition=low_at_least(-1.0, of="points over pooled in the cell whose mean over seeds is worse,"),
    ),
    ours(
        id="own-data-codes.cochran",
        text="Cochran's Q as a mask has 80 % of it, too.",
        measure=share_of_gain("Cochran's Q", "AND-mask", 0.8, CODED),
        condition=at_least(0.0, of=_OF_GAIN),
        tried=CODED_ALONE,
    ),
    against(
        id="own-data-codes.filter",
        text="In each of the four cells with codes dropping columns is at most a point behind the AND-mask.",
        measure=least(("screening",), ("AND-mask",), CODED),
        condition=low_at_least(
            -1.0,
            of="points of screening over the AND-mask in that one of the four cells with codes whose mean over seeds is least,",
        ),
        tried=f"{TWENTY} {BY_SEED} In the cell without codes screening drops nothing, and is 2.55 [2.04, 3.08] behind.",
    ),
)
WEAK = (
    ours(
        id="own-data-weak.null",
        text="The AND-mask is within two points of pooled training where there is nothing to gain.",
        measure=least(("AND-mask",), (POOLED,), CLINICS),
        condition=low_at_least(-2.0, of=_WORST).at("weak"),
    ),
    ours(
        id="own-data-weak.never-worse",
        text="Gail-Simon's rule is not a point worse than pooled training.",
        measure=least(("conflict rule",), (POOLED,), CLINICS),
        condition=low_at_least(-1.0, of=_WORST).at("weak"),
    ),
    ours(
        id="own-data-weak.never-worse-cochran",
        text="Nor is Cochran's Q as a mask.",
        measure=least(("Cochran's Q",), (POOLED,), CLINICS),
        condition=low_at_least(-1.0, of=_WORST).at("weak"),
        tried=f"{TWENTY} {BY_SEED}",
    ),
    control(
        id="own-data-weak.nothing",
        text="Every way to train is established to be at most a point above pooled training in every cell.",
        measure=least((POOLED,), TAUGHT, CLINICS),
        condition=low_at_least(-1.0, of=_OVER_OTHERS)
        .at("weak")
        .instead_of(
            at_least(-1.0, of=_OVER_OTHERS).at("weak"), "Of the mean alone: its interval holds gains of more than a point."
        ),
        tried=f"{TWENTY} {BY_SEED} Fishr's intervals exceed a point in all three cells; no other way's does.",
    ),
)
WARDS = (
    ours(
        id="own-data-wards.screening",
        text="Screening gains with 8 clinics of 53 rows.",
        measure=difference("screening", WARD),
        condition=low_above(0.0, of=_MEAN).at("wards"),
    ),
    control(
        id="own-data-wards.shortcut",
        text="There is something to gain: without the ward the pooled network is better at a new clinic.",
        measure=difference("oracle", WARD),
        condition=low_above(0.0, of="points of the oracle over pooled, mean over seeds,").at("wards"),
    ),
)
TAG = (
    ours(
        id="own-data-tag.reversed",
        text="Where the tag is reversed at the new site, the AND-mask is above pooled training, on cells and on digits.",
        measure=least(("AND-mask",), (POOLED,), REVERSED),
        condition=low_above(0.0, of="points over pooled on the board whose mean over seeds is least,").at("tag"),
        tried=CHANGED,
    ),
    against(
        id="own-data-tag.as-before",
        text="Where the tag is as before, the AND-mask loses on both.",
        measure=least((POOLED,), ("AND-mask",), KEPT),
        condition=low_above(0.0, of="points of pooled over the AND-mask on the board whose mean over seeds is least,").at(
            "tag"
        ),
        tried=CHANGED,
    ),
    against(
        id="own-data-tag.filter",
        text="Dropping columns is at most a point behind the AND-mask where the tag is reversed or shuffled, on both boards.",
        measure=least(("screening",), ("AND-mask",), (*REVERSED, *SHUFFLED)),
        condition=low_at_least(
            -1.0, of="points of screening over the AND-mask in that one of the four cells whose mean is least,"
        ).at("tag"),
        tried=f"{CHANGED} {BY_SEED}",
    ),
)
CALIBRATION = (
    ours(
        id="own-data-calibration.null",
        text="The AND-mask is within two points of pooled training: sites differ, and nothing that it looks for does.",
        measure=difference("AND-mask", CALIBRATED),
        condition=low_at_least(-2.0, of=_MEAN).at("calibration"),
    ),
)
WRITERS = (
    against(
        id="own-data-writers.codes-screening",
        text="Screening with an effect size is at least as good as the AND-mask there.",
        measure=difference("screening", WRITTEN, "AND-mask"),
        condition=low_at_least(0.0, of="points of screening over the AND-mask, mean over seeds,").at("writers"),
    ),
    ours(
        id="own-data-writers.null",
        text="Where nothing is planted the AND-mask is within two points of pooled training.",
        measure=difference("AND-mask", AS_THEY_ARE),
        condition=low_at_least(-2.0, of=_MEAN).at("writers"),
    ),
    ours(
        id="own-data-writers.never-worse",
        text="Gail-Simon's rule is not a point worse than pooled training there.",
        measure=difference("conflict rule", AS_THEY_ARE),
        condition=low_at_least(-1.0, of=_MEAN).at("writers"),
    ),
    control(
        id="own-data-writers.significance",
        text="Significance alone loses on writers: real differences are everywhere.",
        measure=difference("Q filter", AS_THEY_ARE),
        condition=high_below(-2.0, of=_MEAN).at("writers"),
    ),
)
