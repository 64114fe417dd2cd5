"""What is claimed of LDT less one part, and of other uses of the same privileged data."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from claimlab import (
    Claim,
    Condition,
    Measurement,
    Rows,
    Scalar,
    above,
    at_least,
    below,
    between,
    bootstrap,
    high_below,
    low_above,
)
from mechlearn_zoo.experiments.distill.measured import best_of_seeds, pairs, ratio


def best_finals(rows: Rows, variant: str) -> Rows:
    """Return for each seed the final row of a variant's setting that is best on held-out examples."""
    return best_of_seeds(rows.where(kind="final", variant=variant), "selection")


@dataclass(frozen=True)
class Ratio:
    """A measure for `Claim`: a test error over another variant's on one body, both selected; the median over seeds.

    Of several others that one counts, for each seed, which is best on held-out examples.
    """

    variant: str
    over: str | tuple[str, ...]
    environment: str = "Walker2d"

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where a variant was not trained."""
        own = rows.where(lambda row: row.get("environment", self.environment) == self.environment)
        finals = [best_finals(own, one) for one in ((self.over,) if isinstance(self.over, str) else self.over)]
        if not all(finals):
            return None
        others = best_of_seeds(Rows(row for found in finals for row in found), "selection")
        return ratio(best_finals(own, self.variant), others, "selected")


IGNORANCE = 1 / 12
"""The squared error of always predicting 1/2, of labels that are spread evenly over [0, 1]."""


@dataclass(frozen=True)
class Unlearnt:
    """A measure for `Claim`: how much of what no teacher learns of a body a variant does not; the median over seeds.

    The test error above no teacher's, as a share of how far knowing nothing lies above it: 1 for a student that learns nothing.
    """

    variant: str
    environment: str = "Walker2d"

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the share, or None where one of the two was not trained."""
        own = rows.where(lambda row: row.get("environment", self.environment) == self.environment)
        found = pairs(best_finals(own, self.variant), best_finals(own, "no-teacher"), "selected")
        return bootstrap([(error - plain) / (IGNORANCE - plain) for error, plain in found]) if found else None


ORDER = (
    ("no-teacher", "ldt"),
    ("no-teacher", "permuted"),
    ("untrained", "no-teacher"),
    ("noise-16", "no-teacher"),
    ("redrawn", "no-teacher"),
)
"""Pairs of variants as figure 4.9 orders them on Walker2d: the first has the larger error, or one that is hardly less."""

HARDLY_LESS = 0.95
"""Above this ratio an error is larger than another, or hardly less."""

CLEARLY = (1.0, 1.0, HARDLY_LESS, HARDLY_LESS, HARDLY_LESS)
"""For each pair of `ORDER` the ratio that it must exceed: the figure has LDT and PT clearly below no teacher."""


@dataclass(frozen=True)
class InOrder:
    """A measure for `Claim`: on one body, how many pairs of `ORDER` come in order, by medians of ratios over seeds."""

    environment: str
    least: tuple[float, ...] = CLEARLY

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the number with its interval over seeds, or None where another body was run or a variant is missing."""
        own = rows.where(lambda row: row.get("environment") == self.environment)
        finals = {variant: best_finals(own, variant) for pair in ORDER for variant in pair}
        common = set[Scalar].intersection(*(set(found.values("seed")) for found in finals.values()))
        if not common:
            return None
        errors = {variant: found.where(lambda row: row["seed"] in common)["selected"] for variant, found in finals.items()}
        ratios = np.array([np.divide(errors[worse], errors[better]) for worse, better in ORDER])

        def count(seeds: np.ndarray[Any, np.dtype[Any]], axis: int) -> Any:  # noqa: ANN401  # an array, or a scalar of numpy
            medians = np.median(ratios[:, seeds.astype(int)], axis=axis)
            return np.greater(medians.T, self.least).sum(axis=-1)

        return bootstrap(range(ratios.shape[1]), count)


@dataclass(frozen=True)
class LeastOfOrder:
    """A measure for `Claim`: on one body, the least ratio of test errors over the pairs of `ORDER`, medians over seeds."""

    environment: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where another body was run or a variant is missing."""
        found = [Ratio(worse, better, self.environment)(rows) for worse, better in ORDER]
        if not all(found):
            return None
        return min((one for one in found if one), key=lambda one: one.value)


_FIGURE = "thesis section 4.4.4, figure 4.9; paper section 4.4, figure 7"

_APPENDIX = "thesis appendix C.2.2.2"
_OF = "LDT's error over the variant's"
_WITH_PARTS = ("quick", "parts", "paper")
_WITH_BODIES = ("quick", "bodies", "paper")
_WITH_INPUTS = ("quick", "inputs", "paper")
_WITH_FIGURE = ("quick", "faithful", "paper")


def _fails(body: str, *presets: str) -> Condition:
    """Return what is asked of a student that essentially fails to learn: that it lacks more than half of what one learns."""
    return (
        low_above(
            0.5,
            of="error above no teacher's, as a share of how far 1/12 lies above it, what always predicting 1/2 costs of labels "
            "spread evenly over [0, 1],",
        )
        .instead_of(
            low_above(1.5, of="error as a multiple of no teacher's").at(*presets),
            "Half as much again as no teacher's error can be a tenth of what knowing nothing costs: such a student has learnt.",
            Ratio("untrained", "no-teacher", body),
        )
        .at(*presets)
    )


_PARTS = (
    Claim(
        id="distill-ablations.gate",
        text="Scaling and shifting the gate before its sigmoid is helpful.",
        source=_APPENDIX,
        measure=Ratio("ldt", "plain-gate"),
        condition=high_below(1, of=_OF).at(*_WITH_PARTS),
        tried="The settings of the quick preset on Walker2d; nothing was searched for a variant.",
    ),
    Claim(
        id="distill-ablations.weight-norm",
        kind="hypothesis",
        text="Weight norm in the student is helpful.",
        source=f"{_APPENDIX} (used, following Such et al.)",
        measure=Ratio("ldt", "no-weight-norm"),
        condition=high_below(1, of=_OF).at(*_WITH_PARTS),
        tried="The settings of the quick preset on Walker2d; nothing was searched for a variant.",
    ),
    Claim(
        id="distill-ablations.batch-norm",
        kind="hypothesis",
        text="BatchNorm in the teacher is helpful.",
        source=f"{_APPENDIX} (used, following Such et al.)",
        measure=Ratio("ldt", "no-batch-norm"),
        condition=high_below(1, of=_OF).at(*_WITH_PARTS),
    ),
)

OTHER_BODIES = ("Swimmer", "Hopper", "HalfCheetah")

_FIVE_OF_FIVE = at_least(
    len(ORDER),
    of=f"pairs of errors with a median ratio above {HARDLY_LESS:g}, of five (no teacher over LDT, no teacher over PT, and FT, "
    "RT-16, AR over no teacher),",
)


_LEVEL = {("Swimmer", "permuted"), ("Hopper", "permuted")}
_NOTHING_TO_DEGRADE = " LDT itself is not below no teacher there after these 100 rounds, so that there is little to degrade."


def _body_claims(body: str) -> list[Claim]:
    """Return Walker2d's four sentences of another body, with Walker2d's conditions."""
    sentences: tuple[tuple[str, str, Ratio | Unlearnt, Condition], ...] = (
        (
            "untrained",
            "with a teacher that keeps its initial weights (FT) the student essentially fails to learn",
            Unlearnt("untrained", body),
            _fails(body, *_WITH_BODIES),
        ),
        (
            "permuted",
            "permuting each trajectory in time (PT) degrades LDT only slightly",
            Ratio("permuted", "ldt", body),
            below(1.2, of="error as a multiple of LDT's, median over seeds,"),
        ),
        (
            "noise",
            "with noise instead of trajectories (RT-16) LDT is comparable to no teacher, or slightly worse",
            Ratio("noise-16", "no-teacher", body),
            between(0.95, 1.25, of="error as a multiple of no teacher's, median over seeds,"),
        ),
        (
            "redrawn",
            "with a split that is redrawn at every meta-step (AR) LDT is slightly worse than no teacher",
            Ratio("redrawn", "no-teacher", body),
            at_least(1, of="error as a multiple of no teacher's, median over seeds,"),
        ),
    )
    return [
        Claim(
            id=f"distill-ablations.{body.lower()}-{name}",
            text=f"{body}: {text}.",
            source="paper section 4.4, appendix B.2.4 and figure 8",
            measure=measure,
            condition=condition.at(*_WITH_BODIES),
            tried="Measured by the preset bodies." + (_NOTHING_TO_DEGRADE if (body, name) in _LEVEL else ""),
        )
        for name, text, measure, condition in sentences
    ]


CLAIMS = (
    Claim(
        id="distill-ablations.untrained",
        text="FT: with a teacher that keeps its initial weights the student essentially fails to learn.",
        source=_FIGURE,
        measure=Unlearnt("untrained"),
        condition=_fails("Walker2d", *_WITH_FIGURE),
        tried="In quick, with a smaller teacher, 16 inner steps and 160 rounds, an untrained teacher does harm on every seed, "
        "by 1.2 to 1.5 times, and the student still learns. At the printed size of teacher and unroll, in 400 rounds, its "
        "error is 1.09 [1.01, 1.13] times no teacher's at the selected time. The printed 1000 rounds were not run; "
        "its error is level from half of the 400 on.",
    ),
    Claim(
        id="distill-ablations.permuted",
        text="PT: permuting each trajectory in time degrades LDT only slightly.",
        source=_FIGURE,
        measure=Ratio("permuted", "ldt"),
        condition=below(1.2, of="error as a multiple of LDT's, median over seeds,").at(*_WITH_FIGURE),
    ),
    Claim(
        id="distill-ablations.noise",
        text="RT-16: with noise instead of trajectories LDT is comparable to no teacher, or slightly worse.",
        source=_FIGURE,
        measure=Ratio("noise-16", "no-teacher"),
        condition=between(0.95, 1.25, of="error as a multiple of no teacher's, median over seeds,").at(*_WITH_FIGURE),
        tried="The quick preset only. A teacher that reads noise does harm here, most on the seed where LDT does worst: "
        "in 160 rounds it does not learn to be silent. At the paper's size it was not run.",
    ),
    *(
        Claim(
            id=f"distill-ablations.noise-{frames}",
            text=f"RT-{frames}: with the last {frames} frames replaced by noise LDT does better than with noise alone (RT-16).",
            source=_FIGURE,
            measure=Ratio(f"noise-{frames}", ("noise-16", "no-teacher")),
            condition=high_below(1, of="error as a multiple of the better of RT-16's and no teacher's")
            .instead_of(
                high_below(1, of="error as a multiple of RT-16's").at(*_WITH_INPUTS),
                "A student without a teacher passed, with 0.59 of RT-16's error in the median. By the same sentences RT-16 is "
                "about as good as no teacher.",
                Ratio(f"noise-{frames}", "noise-16"),
            )
            .at(*_WITH_INPUTS),
            tried="Not run in the quick preset; measured by the preset inputs, in 100 rounds. A teacher that reads noise does "
            "harm there, as RT-16's error shows, which is 1.5 to 3 times no teacher's.",
        )
        for frames in (4, 8)
    ),
    Claim(
        id="distill-ablations.redrawn",
        text="AR: with a split that is redrawn at every meta-step LDT is slightly worse than no teacher.",
        source=_FIGURE,
        measure=Ratio("redrawn", "no-teacher"),
        condition=at_least(1, of="error as a multiple of no teacher's, median over seeds,").at(*_WITH_FIGURE),
        tried="As on task A, and as in the released code, redrawing helps: every example then teaches the student. So it does "
        "in quick, and at the printed size of teacher and unroll, in 400 rounds: on four seeds of six the error is 0.66 to "
        "0.85 of no teacher's; on two an unroll diverges before the fortieth round, and the student counts as far as it came "
        "(1.6 and 2.1 times).",
    ),
    *(
        Claim(
            id=f"distill-ablations.{body.lower()}",
            text=f"On {body} the ablations come in the order that Walker2d shows.",
            source="paper section 4.4, appendix B.2.4 and figure 8",
            measure=InOrder(body),
            condition=at_least(
                len(ORDER),
                of="pairs of errors in order by their median ratio, of five (no teacher over LDT and over PT, above 1, and FT, "
                f"RT-16, AR over no teacher, above {HARDLY_LESS:g}),",
            )
            .instead_of(
                _FIVE_OF_FIVE.instead_of(
                    above(
                        HARDLY_LESS,
                        of="least of the ratios of errors no teacher over LDT, no teacher over PT, and FT, RT-16, AR over no "
                        "teacher,",
                    ).at(*_WITH_BODIES),
                    "The least ratio is mostly that of AR, which has a claim of its own: one number stood in two rows. How "
                    "many pairs are in order asks the same of the medians.",
                    LeastOfOrder(body),
                ).at(*_WITH_BODIES),
                "Five students that are alike passed: of no teacher over LDT and over PT, too, no more was asked than "
                f"{HARDLY_LESS:g}.",
                InOrder(body, (HARDLY_LESS,) * len(ORDER)),
            )
            .at(*_WITH_BODIES),
            tried="Measured by the preset bodies.",
        )
        for body in OTHER_BODIES
    ),
    *(claim for body in OTHER_BODIES for claim in _body_claims(body)),
    Claim(
        id="distill-ablations.actions",
        text="It does not help to feed the actions along the trajectory to the teacher, too.",
        source=f"{_APPENDIX}, footnote",
        measure=Ratio("actions", "ldt"),
        condition=at_least(HARDLY_LESS, of="error as a multiple of LDT's, median over seeds,").at("inputs", "paper"),
        tried="Written before any run with actions. Measured by the preset inputs, in 100 rounds.",
    ),
    *_PARTS,
)
