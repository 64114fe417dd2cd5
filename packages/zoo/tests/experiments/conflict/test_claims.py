"""Claims of trained methods: asked at the ends, and where validation stops."""

import pytest

from claimlab import judge
from mechlearn_zoo.experiments.conflict import needs, spirals

FAILS = {
    "conflict-spirals.decay": ("shortcuts", "qualitative"),
    "conflict-spirals.which": ("shortcuts", "random-decay"),
    "conflict-needs.coordinates": (None, "rotated"),
}


@pytest.mark.parametrize("name", FAILS)
def test_a_method_that_fails_at_its_end_and_not_where_it_is_stopped_does_not_fail(name):
    (claim,) = [one for module in (spirals, needs) for one in module.claims.CLAIMS if one.id == name]
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
