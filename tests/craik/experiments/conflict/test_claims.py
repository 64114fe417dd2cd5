"""Claims of trained methods: asked at the ends, and where validation stops."""

from craik.experiments.conflict import colours, peers, units
from craik.lab import Rows, judge, where_stopped


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
