"""What is claimed of the systems on one board; written before any judged run."""

from collections.abc import Callable

from craik.lab import Claim, Condition, Measurement, Paired, Rows, low_above

_SOURCE = "thesis chapter 5, limitations: 'LDT can bypass these limitations in principle'"
_TRIED = (
    "Seed 1000 alone, once, with these settings, but that a student without a teacher now has four times the steps: with as "
    "many as LDT's student it was behind. Other coefficients, longer trainings and other styles were not tried."
)

Measure = Callable[[Rows], Measurement | None]


def ahead(ours: str, theirs: str, key: str = "accuracy") -> Paired:
    """Return a measure: one method's accuracy less another's, median over seeds."""
    return Paired(key, {"method": ours}, {"method": theirs})


def _more(than: str, where: str = "new boards of known styles", by: float = 0.0) -> Condition:
    return low_above(by, of=f"accuracy on {where} less that of {than}, median over seeds,")


def _claim(what: str, text: str, measure: Measure, condition: Condition, source: str = _SOURCE) -> Claim:
    kind = "control" if source.startswith("ours; a ") else "ours" if source.startswith("ours") else "hypothesis"
    return Claim(f"distill-board.{what}", text, source, measure, condition, kind=kind, tried=_TRIED)


CLAIMS = (
    _claim(
        "taught",
        "Taught by one who sees the fall, a student says more often from the first frame where the ball lands.",
        ahead("ldt", "no-teacher"),
        _more("no teacher, stopped early"),
    ),
    _claim(
        "ldt-above-asi",
        "LDT says so more often than a dynamics model that ASI has trained and that must roll out.",
        ahead("ldt", "asi"),
        _more("ASI"),
    ),
    _claim(
        "asi-above-no-teacher",
        "Modelling the fall by ASI does better than a map from first frames to outcomes.",
        ahead("asi", "no-teacher"),
        _more("no teacher, stopped early"),
        "thesis section 2.3; ours as a comparison",
    ),
    _claim(
        "joined",
        "The frames that ASI matched teach better than as many that are evenly spaced.",
        ahead("ldt-asi", "ldt"),
        _more("LDT with evenly spaced frames"),
        "ours; ASI's frames are those that can be predicted, thesis section 2.2",
    ),
    _claim(
        "placebo",
        "It is the fall that teaches: another board's does not.",
        ahead("ldt", "ldt-placebo"),
        _more("LDT with falls of other boards"),
        "ours; a placebo",
    ),
    _claim(
        "and-mask",
        "Trained under the AND-mask over styles of board, ASI's dynamics do better in a style that they have not seen.",
        ahead("asi-and-mask", "asi", "unseen"),
        _more("ASI by averaging", "boards of an unseen style"),
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
