"""What is claimed of networks of formulas; written before any judged run. The thesis only proposes: all are hypotheses."""

from claimlab import Claim, Condition, Greatest, Measure, Measurement, Rows, bootstrap, high_below, number

_SOURCE = "thesis chapter 5, outlook: hypothesis classes such as equation learners, combined with its methods"
_TRIED = (
    "Seeds 1000 and 1001 chose the number of units, the penalty, the steps and the sensor's slopes, a handful of runs: "
    "with a sensor whose sign alternated, averaging left it alone by itself. Unanimity of the four ranges also slows what "
    "they share; other thresholds, coefficients and several starts, which Martius and Lampert choose from by held-out "
    "data, were not tried. Recorded twice before, with six seeds: with weights that were the sizes of the first inputs, "
    "as both came of one stream of random numbers, and then apart, where the verdicts of `and-mask` and `ldt` hung on the "
    "draw. So it has twenty."
)

LEARNT = 0.9
"""An error inside of the range, as a share of the answers' variance, below which something has been learnt."""

Cell = tuple[str, str]


def ratio(ours: Cell, theirs: Cell) -> Measure:
    """Return a measure: one (arm, network)'s error over another's, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.by("seed").values():
            some, others = (group.where(arm=arm, network=network) for arm, network in (ours, theirs))
            if some and others:
                found.append(number(some[0], "outside") / max(number(others[0], "outside"), 1e-12))
        return bootstrap(found) if found else None

    return measure


def over_learnt(ours: Cell, theirs: Cell, key: str = "outside") -> Measure:
    """Return a measure: one's error over the lesser of another's and a constant's, on seeds on which the other has learnt.

    Whether it has is read at its end, so that both comparisons are of the same seeds.
    """

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.by("seed").values():
            some, others = (group.where(arm=arm, network=network) for arm, network in (ours, theirs))
            if some and others and key in some[0] and key in others[0] and number(others[0], "inside") < LEARNT:
                found.append(number(some[0], key) / min(number(others[0], key), 1.0))
        return bootstrap(found) if found else None

    return measure


def level(cell: Cell) -> Measure:
    """Return a measure: an error outside of the range, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = rows.where(arm=cell[0], network=cell[1])["outside"]
        return bootstrap(found) if found else None

    return measure


def _below(of: str) -> Condition:
    return high_below(1.0, of=f"error outside of the training range over that of {of}, median over seeds,")


_UNLEARNT = (
    "On 11 of 20 seeds the perceptron under the AND-mask has learnt nothing: its error inside of the range is 1 to 1.14 of the "
    "answers' variance. Asked of the others, and of a constant, after these rows had been read."
)
_JUMPS = (
    "Either error is divided by how far the frame that was hit lies off: a longer jump has a larger denominator, and ASI may "
    "choose among several frames where steps of 1 have the next alone."
)


def _extrapolates(arm: str, what: str, more: str = "") -> Claim:
    ours, theirs = (arm, "equations"), (arm, "perceptron")
    return Claim(
        id=f"equations.{arm}",
        kind="hypothesis",
        text=f"{what}, a network of formulas errs less outside of the training range than a perceptron.",
        source=_SOURCE,
        measure=over_learnt(ours, theirs),
        condition=high_below(
            1.0,
            of="error outside of the training range over the lesser of the perceptron's and a constant's, on seeds on which "
            f"the perceptron's inside is below {LEARNT:g} of the variance, median over seeds,",
        ).instead_of(
            _below("the perceptron"),
            "A constant would have passed, whose error outside is 1, beside perceptrons that err more, and whatever has learnt "
            "something beside those that have not: under the AND-mask that is 11 of 20.",
            ratio(ours, theirs),
        ),
        tried=f"{_TRIED} {more}".strip(),
    ).also_stopped(Greatest, over_learnt(ours, theirs, "stopped_outside"))


def _helps(arm: str, over: str, text: str, of: str, more: str = "") -> Claim:
    ours, theirs = (arm, "equations"), (over, "equations")
    return Claim(
        id=f"equations.{arm}-helps",
        kind="hypothesis",
        text=text,
        source=_SOURCE,
        measure=ratio(ours, theirs),
        condition=_below(of),
        tried=f"{_TRIED} {more}".strip(),
    ).also_stopped(Greatest)


CLAIMS = (
    _extrapolates("and-mask", "Under the AND-mask over ranges", _UNLEARNT),
    _extrapolates("asi", "As a model of dynamics trained by ASI"),
    _extrapolates("ldt", "As LDT's student"),
    _helps(
        "and-mask", "mean", "A network of formulas extrapolates better under the AND-mask than under averaging.", "averaging"
    ),
    _helps(
        "asi",
        "fixed-1",
        "A network of formulas extrapolates better when trained by ASI than frame by frame.",
        "steps of 1, each a share of the way to the frame that is hit",
        _JUMPS,
    ),
    _helps("ldt", "no-teacher", "A network of formulas extrapolates better with a teacher than without one.", "no teacher"),
    Claim(
        id="equations.constant",
        kind="control",
        text="What is learnt by ASI's equations outside of the range is more than standing still.",
        source="ours; a control",
        measure=level(("asi", "equations")),
        condition=high_below(
            0.5, of="squared distance to the nearest next frame over that of standing still, median over seeds,"
        ),
        tried=_TRIED,
    ),
)
