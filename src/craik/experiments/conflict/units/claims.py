"""What is claimed of the linear unit tests; written before any recorded run."""

from collections.abc import Callable

from craik.lab import Claim, Measurement, Paired, Rows, above, bootstrap, high_at_most

_SOURCE = "ours; issue 'rules that test for conflict'"
_RULE = "homogeneous-decay"
_TRIED = (
    "On seeds 1000 to 1003, by formulas of their own: Gail-Simon's rule, random effects and tests that differences exceed 0.1, "
    "0.3 or 0.5 of the mean fail on cows; Cochran's rule without decay fails on either in most draws, since weights that are "
    "masked where they were drawn keep the environments different, and then everything differs; with decay 2 or 5 and "
    "levels 0.05 or 0.001 it solved cows and margins in every draw."
)


def worst(example: str, method: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: a method's largest test error on an example over the numbers of environments, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        groups = rows.where(kind="final", example=example, method=method).by("seed").values()
        found = [max(group["test_error"]) for group in groups]
        return bootstrap(found) if found else None

    return measure


_END = {"kind": "final", "example": "regression", "environments": 3}
OVER_CAUSES = Paired("test_error", _END | {"method": "homogeneous-decay, own units"}, _END | {"method": "mean"}, over=True)
"""The rule's error on the regression with three environments, over pooled training's."""

CLAIMS = (
    Claim(
        id="conflict-units.two",
        text="Cochran's test as a mask, with decay of what it masks, solves cows and camels, as no published method does.",
        source=f"{_SOURCE}; arXiv:2102.10867 table 1 (ERM .42, ANDMask .44, IRM .45, oracle .00)",
        measure=worst("cows", _RULE),
        condition=high_at_most(0.02, of="larger test error with 3 and 8 environments, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-units.three",
        text="The same rule solves the small invariant margin.",
        source=f"{_SOURCE}; arXiv:2102.10867 table 1 (ERM .48, ANDMask .34, IRM .49, oracle .01)",
        measure=worst("margin", _RULE),
        condition=high_at_most(0.05, of="larger test error with 3 and 8 environments, median over seeds,"),
        kind="ours",
        tried=_TRIED,
    ),
    Claim(
        id="conflict-units.decay",
        text="Without decay it fails there.",
        source=_SOURCE,
        measure=worst("margin", "homogeneous"),
        condition=above(0.1, of="larger test error without decay, median over seeds,"),
        kind="control",
    ),
    Claim(
        id="conflict-units.one",
        text="With every environment's loss in units of its own it beats pooled training on the regression as well.",
        source=f"{_SOURCE}; arXiv:2102.10867 table 1 (ERM 13.4, ANDMask 10.6, oracle 10.4)",
        measure=OVER_CAUSES,
        condition=high_at_most(0.95, of="test error over pooled training's, 3 environments, median over seeds,"),
        kind="ours",
        tried="Plain pooled training in such units does as well (seeds 1000 to 1003); with 8 environments the rule masks all.",
    ),
)
