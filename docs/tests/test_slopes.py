"""The page of slopes is the one that its script writes; the script reads conditions as they are judged, and keeps its rule."""

import importlib.util
from pathlib import Path

import pytest

from claimlab import Measurement, Rows, above, at_least, at_most, below, between, equal, high_below, low_above, within_factor

TABLES = Path(__file__).parents[2] / "docs" / "tables"


@pytest.fixture(scope="module")
def slopes():
    spec = importlib.util.spec_from_file_location("slopes", TABLES / "slopes.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def found(slopes):
    return [(one, slopes.measured(one)) for one in slopes.failing()]


def line(slopes, *values, at=None):
    """Points at all shares with one measured value each; None for one that could not be measured."""
    found = [None if value is None else Measurement(value, value, value, 6) for value in values]
    return [slopes.Point(*point) for point in zip(slopes.SHARES, at or slopes.SHARES, found, strict=True)]


def test_the_page_is_up_to_date(slopes, found):
    text = slopes.PAGE.read_text(encoding="utf-8")
    assert text == slopes.page(found), "make pages"


def test_all_of_a_training_gives_the_recorded_number(found):
    """But where validation episodes stand for test ones, and where a number is measured at the end alone."""
    others = (
        "skips-accuracy.",
        "distill-noisy-labels.ldt-calibrated",
        "distill-mujoco.swimmer-stacked-diverges",
        "coinrun.decoupled-better",
    )
    for one, points in found:
        whole, recorded = points[-1].measured, one.claim
        if recorded.id.startswith(others):
            continue
        assert whole is not None, recorded.id
        said = (recorded.measured, recorded.low, recorded.high)
        assert (whole.value, whole.low, whole.high) == pytest.approx(said), recorded.id


@pytest.mark.parametrize(
    "condition",
    [
        above(1),
        at_least(1),
        below(1),
        at_most(1),
        between(1, 2),
        within_factor(2, 0.5),
        low_above(1),
        high_below(1, of="above 3"),
    ],
    ids=lambda condition: condition.words,
)
def test_conditions_are_read_as_they_are_judged(slopes, condition):
    asked = slopes.asked(condition.words)
    for value in (0.1, 0.3, 0.9, 1.1, 2.1):
        for spread in (0.0, 0.5):
            found = Measurement(value, value - spread, value + spread, 6)
            assert (asked.way(getattr(found, asked.reads)) == 0) == condition.test(found), (value, spread)


def test_an_exact_number_and_words_that_are_unknown(slopes):
    exact = slopes.asked(equal(0.2).words)
    assert (exact.reads, exact.way(0.2), exact.way(0.3)) == ("value", 0, pytest.approx(0.1))
    with pytest.raises(ValueError, match="teach `asked`"):
        slopes.asked("as it pleases")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ((5.0, 4.0, 3.5, 3.0), "toward (budget): 2.0 times"),  # two left, at two a budget
        ((5.0, 3.0, 2.5, 1.05), "toward (budget): 1.1 times"),
        ((5.0, 4.0, 3.3, 3.0), "toward (budget): 2.7 times"),  # two left, the last quarter's pace is 1.2 a budget
        ((5.0, 3.0, 3.5, 2.0), "flat"),  # one jump at the end is no slope
        ((5.0, 4.0, 3.9, 3.8), "flat"),  # toward, in eight budgets
        ((5.0, 4.0, 2.5, 3.0), "flat"),  # it was nearer before
        ((0.5, 4.0, 3.5, 3.0), "flat"),  # it held before
        ((1.0, 1.5, 2.0, 3.0), "away"),
        ((1.0, 2.9, 2.9, 3.0), "flat"),
        ((2.0, 1.0, 1.5, 1.9), "flat"),
        ((None, 4.0, 3.5, 3.0), "too few looks"),
        ((None, 2.9, 2.9, 3.0), "flat"),
        ((None, None, 3.5, 3.0), "too few looks"),
    ],
)
def test_the_rule(slopes, values, said):
    assert slopes.says(slopes.asked(below(1).words), line(slopes, *values)) == said


def test_a_look_that_came_early_was_longer_ago(slopes):
    points = line(slopes, 5.0, 4.0, 3.5, 3.0, at=(0.2, 0.2, 0.6, 1.0))
    assert slopes.says(slopes.asked(below(1).words), points) == "toward (budget): 2.6 times"
    assert points[1].cell(slopes.asked(below(1).words)) == "4 at 0.20"


def test_an_interval_that_narrows_around_a_number_that_stays_is_not_toward(slopes):
    found = [Measurement(-0.1, -0.1 - spread, 0.2, 6) for spread in (0.4, 0.3, 0.2, 0.1)]
    points = [slopes.Point(share, share, one) for share, one in zip(slopes.SHARES, found, strict=True)]
    asked = slopes.asked(low_above(0).words)
    assert slopes.says(asked, points) == "flat"
    assert points[-1].cell(asked) == "-0.1 (-0.2)"


def test_classifiers_end_at_their_last_look(slopes):
    rows = Rows(
        {"kind": "final" if epoch == 4 else "curve", "seed": 0, "threshold": t, "epoch": epoch, "test_accuracy": t + epoch}
        for t in (0.0, 0.2)
        for epoch in (1, 2, 4)
    )
    assert slopes.last_looks(rows, 1.0) == rows
    assert slopes.last_looks(rows, 0.75).where(kind="final")["test_accuracy"] == [2.0, 2.2]
    assert len(slopes.last_looks(rows, 0.75)) == 4


def test_finalists_are_those_of_the_first_epochs_or_trials(slopes):
    of = {"seed": 0, "method": "adam"}
    rows = Rows(
        [
            *(
                {**of, "kind": "trial", "trial": n, "lr": n, "validation": v}
                for n, v in ((1, 0.3), (2, 0.2), (3, 0.4), (4, 0.1))
            ),
            *({**of, "kind": "curve", "rank": 1, "epoch": n, "validation": 1 / n, "test": 2 + n % 2} for n in (1, 2, 3, 4)),
            {**of, "kind": "finalist", "rank": 1, "lr": 4, "test": 2, "least_test": 2},
        ]
    )
    assert [slopes.best_trials(rows, share)["lr"] for share in slopes.SHARES] == [[1], [2], [2], [4]]
    assert [(row["test"], row["least_test"]) for row in slopes.finalists(rows, 0.75)] == [(3, 2)]


def test_a_search_s_trials_are_looked_at_earlier(slopes):
    rows = Rows(
        [
            *({"seed": 0, "kind": "curve", "steps": 10, "step": n, "validation_accuracy": n / 10} for n in (2, 4, 8)),
            {"seed": 0, "kind": "trial", "steps": 10, "step": 10, "validation_accuracy": 1.0},
            {"seed": 1, "kind": "trial", "steps": 10, "step": 0, "validation_accuracy": 0.0, "outcome": "diverged"},
        ]
    )
    assert slopes.checked(rows, 0.5).where(kind="trial")["validation_accuracy"] == [0.4, 0.0]
    assert slopes.checked(rows, 0.5).where(kind="curve")["step"] == [2, 4]
    assert slopes.checked(rows, 1.0).where(kind="trial") == rows.where(kind="trial")
