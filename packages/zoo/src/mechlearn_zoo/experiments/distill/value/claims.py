"""What is claimed of values learnt with a teacher; written before any judged run."""

from claimlab import Claim, Measure, Measurement, Rows, bootstrap, high_below, low_above, number

_SOURCE = "thesis section 4.4.1: the trajectory 'can in principle explain away part of the influence of chance'"
_TRIED = (
    "Seeds 1000 and 1001: with a split drawn once the teacher's student, which learns from half of the returns, was the worse "
    "one on both; drawn anew before every meta-step it was on a par on seed 1000. The latter was kept. Coefficients of "
    "3 and 30 and up to a hundred rounds made no clear difference there; no other student, teacher or trajectory was tried."
)


def ratio(ours: str, theirs: str) -> Measure:
    """Return a measure: one method's error over another's, each when held-out returns were best predicted; a median."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.by("seed").values():
            some, others = group.where(method=ours), group.where(method=theirs)
            if some and others:
                found.append(number(some[0], "selected") / max(number(others[0], "selected"), 1e-12))
        return bootstrap(found) if found else None

    return measure


def _beside(method: str) -> str:
    return f"error against exact values over that of {method}, median over seeds,"


CLAIMS = (
    Claim(
        id="distill-value.no-teacher",
        kind="hypothesis",
        text="A teacher that sees trajectories makes a student's values more exact than returns alone, stopped early.",
        source=_SOURCE,
        measure=ratio("ldt", "no-teacher"),
        condition=high_below(1.0, of=_beside("no teacher, stopped early")),
        tried=_TRIED,
    ),
    Claim(
        id="distill-value.ridge",
        kind="hypothesis",
        text="More exact than a ridge regression of returns on states.",
        source=_SOURCE,
        measure=ratio("ldt", "ridge"),
        condition=high_below(1.0, of=_beside("ridge")),
        tried=_TRIED,
    ),
    Claim(
        id="distill-value.auxiliary",
        kind="hypothesis",
        text="More exact than with an auxiliary head that predicts the trajectory.",
        source=_SOURCE,
        measure=ratio("ldt", "auxiliary"),
        condition=high_below(1.0, of=_beside("the auxiliary head")),
        tried=_TRIED,
    ),
    Claim(
        id="distill-value.placebo",
        kind="control",
        text="It is the trajectories that help: lying with other examples they do not.",
        source="ours; a placebo",
        measure=ratio("ldt", "ldt-placebo"),
        condition=high_below(1.0, of=_beside("a teacher with other examples' trajectories")),
        tried=_TRIED,
    ),
    Claim(
        id="distill-value.counted",
        kind="ours",
        text="Who may count the transitions in the trajectories needs no teacher: solving for values is far more exact.",
        source="ours; the classical use of the same data, certainty equivalence",
        measure=ratio("ldt", "counted"),
        condition=low_above(2.0, of=_beside("values solved from counted transitions")),
        tried=_TRIED,
    ),
    Claim(
        id="distill-value.constant",
        kind="control",
        text="There is something to learn: the teacher's student knows more than the mean return.",
        source="ours; a control",
        measure=ratio("ldt", "constant"),
        condition=high_below(0.8, of=_beside("the mean return")),
        tried=_TRIED,
    ),
)
