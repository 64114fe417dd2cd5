from claimlab import Rows
from mechlearn_zoo.experiments.distill.measured import Measured, best_of_seeds, ratio, shortened, summary

ROWS = Rows(
    {"seed": seed, "selection": selection, "test": test}
    for seed, selection, test in ((1, 0.4, 1.0), (1, 0.2, 2.0), (0, 0.3, 3.0), (0, 0.3, 4.0))
)


def test_summary_by_hand():
    points = [Measured(1, 0.5, 0.9), Measured(2, 0.8, 0.7), Measured(3, 0.8, 0.1), Measured(4, 0.6, 0.3)]
    found = summary(points, max)
    assert found == {"as_printed": 0.9, "selected": 0.7, "selected_step": 2, "selection": 0.8, "last": 0.3}
    assert summary(points, min)["selected_step"] == 1


def test_the_best_row_of_each_seed():
    assert best_of_seeds(ROWS, "selection")["test"] == [3.0, 2.0]  # of equals the earliest, seeds ascending
    assert best_of_seeds(ROWS, "selection", max)["test"] == [3.0, 1.0]


def looks(method, errors):
    """A run's curve: four looks, each with one error on held-out, test and training examples, less 0.1 and 0.2."""
    points = zip((10, 20, 30, 40), errors, strict=True)
    of = {"kind": "curve", "seed": 0, "method": method}
    return [{**of, "step": step, "selection": e, "test": e - 0.1, "training": e - 0.2} for step, e in points]


CURVES = Rows(
    [*looks("a", (4.0, 2.0, 3.0, 1.0)), *looks("b", (9.0, 8.0, 7.0, 6.0)), {"kind": "final", "method": "a", "end": 5}]
)


def test_half_of_a_training_run_is_its_looks_until_then_and_their_summary():
    half = shortened(CURVES, 0.5)
    assert half.where(kind="curve") == Rows([row for row in CURVES.where(kind="curve") if row["step"] <= 20])
    one, other = half.where(kind="final")
    assert one == {
        "kind": "final", "seed": 0, "method": "a", **summary([Measured(10, 4.0, 3.9), Measured(20, 2.0, 1.9)], min),
        "training": 1.8, "gap": 1.9 - 1.8,
    }  # fmt: skip
    assert (other["method"], other["selected_step"], other["last"]) == ("b", 20, 7.9)


def test_a_share_ends_at_the_last_look_before_it_and_may_have_none():
    assert shortened(CURVES, 0.8).where(kind="final").values("selected_step") == [20, 30]
    assert len(shortened(CURVES, 0.2)) == 0
    assert len(shortened(Rows(), 1.0)) == 0


def test_accuracies_are_best_where_they_are_highest():
    assert shortened(CURVES, 1.0, max).where(kind="final").values("selected_step") == [10, 10]


def test_a_ratio_is_the_median_over_seeds_and_nothing_without_rows():
    def of(*errors):
        return Rows([{"seed": seed, "error": error} for seed, error in errors])

    found = ratio(of((0, 1.0), (1, 3.0), (2, 9.0)), of((3, 5.0), (1, 2.0), (0, 2.0)), "error")
    assert found is not None
    assert (found.value, found.low, found.high, found.n) == (1.0, 0.5, 1.5, 2)  # of the seeds that both have
    assert ratio(Rows(), ROWS, "selection") is None
    assert ratio(ROWS, Rows(), "selection") is None
