"""Claims of trained methods: asked at the ends, and where validation stops."""

import pytest

from claimlab import Rows, judge, where_stopped
from mechlearn_zoo.experiments.conflict import basis, colours, needs, peers, rotated, spirals, units


def test_of_peers_those_count_that_are_best_at_their_ends_and_those_that_are_best_stopped():
    found = [
        {"seed": 0, "kind": "final", "board": "codes", "method": method, "strength": strength, "accuracy": end,
         "stopped_accuracy": stopped}
        for method, strength, end, stopped in (
            ("AND 1", 0.0, 0.75, 0.75), ("Fish", 0.01, 0.5, 0.25), ("Fish", 0.1, 0.25, 0.625)
        )
    ]  # fmt: skip
    measure = peers.claims.less(("AND 1",), ("Fish",))
    assert (measure(Rows(found)).value, where_stopped(measure)(Rows(found)).value) == (0.25, 0.125)


def test_a_ratio_of_errors_counts_where_it_is_greater_and_each_earlier_condition_stays():
    found = [
        {"seed": 0, "kind": "final", "example": "regression", "environments": 3, "method": method, "test_error": end,
         "stopped_test_error": stopped}
        for method, end, stopped in (
            ("homogeneous-decay, own units", 1.0, 3.0), ("mean, own units", 2.0, 2.0), ("mean", 4.0, 2.0)
        )
    ]  # fmt: skip
    claim = next(claim for claim in units.claims.CLAIMS if claim.id == "conflict-units.one")
    judged = judge(claim, found, "quick")
    assert (judged.measured, judged.verdict) == (1.5, "does not hold so far")
    assert [(one.measured, one.verdict) for one in judged.earlier] == [(0.25, "holds so far"), (0.5, "holds so far")]


def test_a_rule_selects_among_trials_at_their_ends_and_among_those_that_it_stops():
    found = Rows(
        {"seed": 0, "method": "mean", "oracle": end, "test_accuracy": test, "stopped_selection_oracle": best,
         "stopped_test_accuracy_oracle": stopped}
        for end, test, best, stopped in ((0.5, 0.25, 0.75, 0.625), (0.625, 0.375, 0.625, 0.5))
    )  # fmt: skip
    assert colours.claims.selected(found, "mean", "oracle") == {0: 0.375}
    assert colours.claims.selected(found, "mean", "oracle", stopped=True) == {0: 0.625}


FAILS = {
    "conflict-spirals.decay": ("shortcuts", "qualitative"),
    "conflict-spirals.which": ("shortcuts", "random-decay"),
    "conflict-needs.l2": (None, "no L2"),
    "conflict-needs.coordinates": (None, "rotated"),
    "conflict-rotated.fails": ("16 rotated", "mean"),
    "conflict-rotated.and-mask": ("4 rotated", "and-mask"),
    "conflict-basis.directions": ("16", "directions"),
    "conflict-basis.components": ("4 rotated", "components"),
}


@pytest.mark.parametrize("name", FAILS)
def test_a_method_that_fails_at_its_end_and_not_where_it_is_stopped_does_not_fail(name):
    (claim,) = [one for module in (spirals, needs, rotated, basis) for one in module.claims.CLAIMS if one.id == name]
    board, method = FAILS[name]
    row = {"seed": 0, "kind": "final", "board": board, "method": method, "accuracy": 0.5, "stopped_accuracy": 0.8}
    judged = judge(claim, [row], "quick")
    assert (judged.measured, judged.verdict) == (0.8, "does not hold so far")
    assert [(one.measured, one.verdict) for one in judged.earlier] == [(0.5, "holds so far")]


def test_of_decays_that_do_not_go_through_adam_that_counts_which_is_best_stopped():
    (claim,) = [one for one in needs.claims.CLAIMS if one.id == "conflict-needs.through-adam"]
    decays = {"AdamW 1e-5": (0.5, 0.5), "AdamW 0.01": (0.6, 0.5), "AdamW 1": (0.5, 0.7)}
    rows = [
        {"seed": 0, "kind": "final", "method": method, "accuracy": end, "stopped_accuracy": stopped}
        for method, (end, stopped) in decays.items()
    ]
    assert (judge(claim, rows, "quick").measured, judge(claim, rows, "quick").verdict) == (0.7, "does not hold so far")


def test_a_lead_without_shortcuts_is_asked_of_gail_simons_rule_stopped_too():
    (claim,) = [one for one in spirals.claims.CLAIMS if one.id == "conflict-spirals.innocent"]
    rows = [
        {"seed": 0, "kind": "final", "board": "none", "method": method, "accuracy": end, "stopped_accuracy": stopped,
         "solved_at": at}
        for method, end, stopped, at in (("qualitative-decay", 1.0, 0.9375, 8), ("and-mask", 0.5, 0.625, None))
    ]  # fmt: skip
    judged = judge(claim, rows, "quick")
    assert judged.measured == pytest.approx(0.9375 - 0.95)
    assert [one.measured for one in judged.earlier] == [pytest.approx(0.5), pytest.approx(0.05)]
