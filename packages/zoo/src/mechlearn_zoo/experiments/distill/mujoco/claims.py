"""What is claimed of each body: table C.7, the ratios of its errors, the generalisation gaps."""

from typing import Literal

from claimlab import Claim, Condition, between, high_below, low_above, within_factor
from mechlearn_zoo.experiments.distill.mujoco.measures import (
    Deepest,
    GapAtEqualFit,
    GapDifference,
    Growth,
    Least,
    Over,
    PrintedPlace,
)

TABLE = {
    "Swimmer": {"no-teacher": 0.0169, "auxiliary": 0.0146, "ldt": 0.00964},
    "Walker2d": {"no-teacher": 0.0238, "auxiliary": 0.0211, "ldt": 0.0164},
    "Hopper": {"no-teacher": 0.00270, "auxiliary": 0.00224, "ldt": 0.00132},
    "HalfCheetah": {"no-teacher": 0.0485, "auxiliary": 0.0477, "ldt": 0.0427},
}
"""Table C.7 (table 7 of the paper): minimum mean squared errors over eight seeds' runs, simulated with -v2."""

LABELS = {"no-teacher": "no teacher", "auxiliary": "auxiliary head", "ldt": "LDT"}
WITH = {"no-teacher": "no teacher", "auxiliary": "an auxiliary head"}


def _presets(environment: str) -> tuple[str, ...]:
    """Return the presets whose students of a body have grids where they have no teacher."""
    return ("quick", "faithful", f"faithful-{environment.lower()}", "paper")


_GAPS = "difference of the gaps at the selected time, median over seeds,"
_EQUAL_FIT = "LDT's gap at its selected time less the other's at the same training error, median over seeds,"


def _smaller_gap(environment: str, over: Literal["no-teacher", "auxiliary"]) -> Condition:
    return (
        high_below(0, of=_EQUAL_FIT)
        .instead_of(
            high_below(0, of=_GAPS).at(*_presets(environment)),
            "A student that has hardly been trained has a small gap and passed; two that were lost at a first look counted for "
            "LDT.",
            GapDifference(environment, over),
        )
        .at(*_presets(environment))
    )


_QUICK = (
    "The quick preset unrolls 16 steps instead of 96, with a smaller teacher, and ends after 200 rounds; on Walker2d and "
    "Hopper LDT's error is still falling then. The preset paper has not been run"
)
_TRIED = {
    "Swimmer": f"{_QUICK}. faithful-swimmer has the printed teacher, unrolls and step sizes, in 400 rounds; no unroll "
    "diverges, so that --nonfinite zero changes nothing. Two of its seeds had been seen before, of a run that was stopped.",
    "Walker2d": f"{_QUICK}. faithful-walker2d has the printed teacher, unrolls and step sizes, in 400 rounds: on two of six "
    "seeds an unroll diverges before the third look, and training ends there. Going on, as the released code would "
    "(--nonfinite zero), one of these two, in an unrecorded run, ends where the other four are, and one stays behind.",
    "Hopper": f"{_QUICK}. faithful-hopper has the printed teacher, unrolls and step sizes, in 400 rounds; no unroll diverges, "
    "so that --nonfinite zero changes nothing. LDT is below the auxiliary head on five of six seeds; on the sixth, which is "
    "far behind at the first look, its error still falls at the end.",
    "HalfCheetah": f"{_QUICK}. faithful-halfcheetah has the printed teacher, unrolls and step sizes, in 400 rounds; no unroll "
    "diverges, so that --nonfinite zero changes nothing. Five of six seeds have LDT's least error in the first fifth, and all "
    "students' errors rise after theirs.",
}
"""What was tried on each body."""


_LEAST = "least test error, of another version of the simulator,"


def _below(environment: str, over: str, key: Literal["selected", "as_printed"]) -> Claim:
    table = TABLE[environment]
    printed = key == "as_printed"
    return Claim(
        id=f"distill-mujoco.{environment.lower()}-below-{over}{'-as-printed' if printed else ''}",
        text=f"{environment}: LDT's test error lies below that of the student with {WITH[over]}"
        f"{' (chosen on test error, as printed)' if printed else ''}.",
        source="thesis figure 4.7, table C.7; paper figure 5, table 7",
        printed=f"{table['ldt'] / table[over]:.2f} of it",
        measure=Over(environment, "ldt", over, key),
        condition=high_below(1, of="ratio of the errors, median over seeds,").at(*_presets(environment)),
        tried=_TRIED[environment],
    )


def _gap(environment: str) -> Claim:
    return Claim(
        id=f"distill-mujoco.{environment.lower()}-gap",
        text=f"{environment}: LDT's generalisation gap is smaller than that of the student without a teacher.",
        source="thesis figure 4.8; paper figure 6",
        measure=GapAtEqualFit(environment),
        condition=_smaller_gap(environment, "no-teacher"),
    )


def _gap_auxiliary(environment: str) -> Claim:
    return Claim(
        id=f"distill-mujoco.{environment.lower()}-gap-auxiliary",
        text=f"{environment}: LDT's generalisation gap is smaller than that of the student with an auxiliary head.",
        source="thesis section 4.4.3, figure 4.8; paper figure 6",
        measure=GapAtEqualFit(environment, "auxiliary"),
        condition=_smaller_gap(environment, "auxiliary"),
        tried="Written after the rows of quick and of faithful-walker2d had been recorded, while faithful-hopper was running.",
    )


def _nearer(environment: str, method: str) -> Condition:
    """Return what is asked of a least error: that it lies nearer, by ratios, to its own place in the table than to others'."""
    own = TABLE[environment]
    if method == "ldt":  # half-way to what the table says of a student that nobody taught
        return within_factor((own["no-teacher"] / own["ldt"]) ** 0.5, own["ldt"], of=_LEAST)
    least = (own["auxiliary"] * own["ldt" if method == "auxiliary" else "no-teacher"]) ** 0.5
    most = 1.5 * own[method] if method == "no-teacher" else (own["auxiliary"] * own["no-teacher"]) ** 0.5
    return between(least, most, of=_LEAST)


def _table(environment: str, method: str) -> Claim:
    printed = TABLE[environment][method]
    before = within_factor(1.5, printed, of=_LEAST).at(*_presets(environment))
    why = (
        "On some bodies a student without a teacher would have passed."
        if method == "ldt"
        else "On each body a student that was taught otherwise would have passed."
    )
    return Claim(
        id=f"distill-mujoco.{environment.lower()}-{method}-table",
        text=f"{environment}, {LABELS[method]}: the least test error of table C.7.",
        source="thesis table C.7; paper table 7",
        printed=f"{printed:.3g}",
        measure=Least(environment, method),
        condition=_nearer(environment, method).at(*_presets(environment)).instead_of(before, why),
        tried=_TRIED[environment],
    )


def _claims(environment: str) -> list[Claim]:
    below = [_below(environment, over, key) for over in WITH for key in ("selected", "as_printed")]
    return [*below, _gap(environment), _gap_auxiliary(environment), *(_table(environment, method) for method in LABELS)]


_MODELS = "thesis appendix C.2.2.3; paper appendix B.2.3"
_RATIO = "ratio of the errors, median over seeds,"
_PRESETS = ("quick", "model-based", "paper")
_ONE_RUN = "The settings of the quick preset, on Swimmer alone; one record, nothing tried after it."


CLAIMS: tuple[Claim, ...] = (
    *(claim for environment in TABLE for claim in _claims(environment)),
    Claim(
        id="distill-mujoco.swimmer-stacked-diverges",
        text="Swimmer: a student stacked sixteen times tends to diverge as it gets deeper into the steps.",
        source=_MODELS,
        measure=Deepest("Swimmer", "stacked"),
        condition=low_above(1, of="error at depth 16 over that of the mean observation, median over seeds,")
        .instead_of(
            low_above(1, of="error at depth 16 over depth 1, each over that of the mean observation,").at(*_PRESETS),
            "Every model's error grows with depth, that of the state-space model, which fits, too; what diverges ends "
            "further off than the mean observation is.",
            Growth("Swimmer", "stacked"),
        )
        .at(*_PRESETS),
        tried=_ONE_RUN,
    ),
    Claim(
        id="distill-mujoco.swimmer-stacked-cannot-fit",
        text="Swimmer: the naive model-based student is worse than one without a teacher.",
        source=_MODELS,
        measure=Over("Swimmer", "stacked", "no-teacher"),
        condition=low_above(1, of=_RATIO).at(*_PRESETS),
        tried=_ONE_RUN,
    ),
    Claim(
        id="distill-mujoco.swimmer-stacked-underfits",
        text="Swimmer: the naive model-based student cannot fit the data: its training error is above that of one "
        "without a teacher.",
        source=_MODELS,
        measure=Over("Swimmer", "stacked", "no-teacher", "training"),
        condition=low_above(1, of="ratio of the training errors, median over seeds,").at(*_PRESETS),
        tried=f"Written after these rows had been recorded. {_ONE_RUN}",
    ),
    Claim(
        id="distill-mujoco.swimmer-pairs-better",
        text="Swimmer: trained on pairs of consecutive observations the model works much better than stacked.",
        source=_MODELS,
        printed="much better",
        measure=Over("Swimmer", "pairs", "stacked"),
        condition=high_below(0.5, of=_RATIO).at(*_PRESETS),
        tried=_ONE_RUN,
    ),
    Claim(
        id="distill-mujoco.swimmer-below-ssm",
        kind="hypothesis",
        text="Swimmer: a whole state-space model is harder to learn than necessary: LDT's error is below its.",
        source="thesis section 4.3.2",
        measure=Over("Swimmer", "ldt", "ssm"),
        condition=high_below(1, of=_RATIO).at(*_PRESETS),
        tried="Written after a trial of twenty rounds on seed 1000, in which the state-space model did well.",
    ),
    Claim(
        id="distill-mujoco.swimmer-grid",
        text="Swimmer: the setting of table C.5 is about the best of LDT's own grid (table C.4).",
        source="thesis tables C.4, C.5",
        printed="1",
        measure=PrintedPlace("Swimmer"),
        condition=high_below(1.1, of="test error of the printed setting over the selected one's, median over seeds,").at(
            "quick", "ldt-grid", "paper"
        ),
        tried="All 54 settings, each trained once a seed, on Swimmer alone, in a sixth of quick's rounds.",
    ),
)
