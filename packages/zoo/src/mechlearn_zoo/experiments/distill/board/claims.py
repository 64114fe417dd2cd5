"""What is claimed of the systems on one board; written before any judged run.

That every method is read where held-out boards are best, and at its end, was asked afterwards, see the earlier conditions.
"""

import numpy as np

from claimlab import Claim, Condition, EachSeed, Least, Measure, Paired, Rows, low_above

_SOURCE = "thesis chapter 5, limitations: 'LDT can bypass these limitations in principle'"
_TRIED = (
    "Seed 1000 alone, once, with these settings, but that a student without a teacher now has four times the steps: with as "
    "many as LDT's student it was behind. Other coefficients, longer trainings and other styles were not tried."
)


def ahead(ours: str, theirs: str, key: str = "accuracy") -> Paired:
    """Return a measure: one method's accuracy less another's, median over seeds."""
    return Paired(key, {"method": ours}, {"method": theirs})


def twice(ours: str, theirs: str, key: str = "accuracy") -> Least:
    """Return a measure: the least of `ahead` with both at their ends, with both where held-out boards are best, and as is.

    A student's accuracy is that where held-out boards are best, and `last` the one at its end; of a dynamics model the accuracy
    is that at its end: as is, the two are not read alike. That was asked before, and still is.
    """

    def number(rows: Rows, stopped: bool) -> float | None:
        found: list[float] = []
        for method in (ours, theirs):
            dynamics = method.startswith("asi")
            column = (f"stopped_{key}" if stopped else key) if dynamics else (key if stopped else "last")
            found += rows.where(lambda row, column=column: column in row, method=method)[column]
        return found[0] - found[1] if len(found) == 2 else None

    alike = (EachSeed(lambda rows, stopped=stopped: number(rows, stopped), np.median) for stopped in (False, True))
    return Least([*alike, ahead(ours, theirs, key)])


def _more(than: str, where: str = "new boards of known styles", by: float = 0.0) -> Condition:
    return low_above(by, of=f"accuracy on {where} less that of {than}, median over seeds,")


def _twice(than: str, earlier: tuple[str, Measure], where: str = "new boards of known styles") -> Condition:
    """Return a condition on `twice`, with the earlier one: whom it was held against, and its measure."""
    which = "the least of that at the ends, that where both stop and that asked before,"
    of = f"accuracy on {where} less that of {than}, median over seeds, {which}"
    return low_above(0.0, of=of).instead_of(
        _more(earlier[0], where), "Early stopping is a baseline of every comparison, and both sides are read alike.", earlier[1]
    )


def _claim(what: str, text: str, measure: Measure, condition: Condition, source: str = _SOURCE) -> Claim:
    kind = "control" if source.startswith("ours; a ") else "ours" if source.startswith("ours") else "hypothesis"
    return Claim(f"distill-board.{what}", text, source, measure, condition, kind=kind, tried=_TRIED)


CLAIMS = (
    _claim(
        "taught",
        "Taught by one who sees the fall, a student says more often from the first frame where the ball lands.",
        twice("ldt", "no-teacher"),
        _twice("no teacher", ("no teacher, stopped early", ahead("ldt", "no-teacher"))),
    ),
    _claim(
        "ldt-above-asi",
        "LDT says so more often than a dynamics model that ASI has trained and that must roll out.",
        twice("ldt", "asi"),
        _twice("ASI", ("ASI", ahead("ldt", "asi"))),
    ),
    _claim(
        "asi-above-no-teacher",
        "Modelling the fall by ASI does better than a map from first frames to outcomes.",
        twice("asi", "no-teacher"),
        _twice("no teacher", ("no teacher, stopped early", ahead("asi", "no-teacher"))),
        "thesis section 2.3; ours as a comparison",
    ),
    _claim(
        "joined",
        "The frames that ASI matched teach better than as many that are evenly spaced.",
        twice("ldt-asi", "ldt"),
        _twice("LDT with evenly spaced frames", ("LDT with evenly spaced frames", ahead("ldt-asi", "ldt"))),
        "ours; ASI's frames are those that can be predicted, thesis section 2.2",
    ),
    _claim(
        "placebo",
        "It is the fall that teaches: another board's does not.",
        twice("ldt", "ldt-placebo"),
        _twice("LDT with falls of other boards", ("LDT with falls of other boards", ahead("ldt", "ldt-placebo"))),
        "ours; a placebo",
    ),
    _claim(
        "and-mask",
        "Trained under the AND-mask over styles of board, ASI's dynamics do better in a style that they have not seen.",
        twice("asi-and-mask", "asi", "unseen"),
        _twice("ASI by averaging", ("ASI by averaging", ahead("asi-and-mask", "asi", "unseen")), "boards of an unseen style"),
        "ours; thesis chapter 3 on the dynamics of chapter 2",
    ),
    _claim(
        "constant",
        "ASI's roll-outs say more than the most frequent outcome does.",
        ahead("asi", "frequent"),
        _more("the most frequent outcome", by=0.2),
        "ours; a control",
    ),
)
