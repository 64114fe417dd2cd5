from claimlab import Rows
from mechlearn_zoo.experiments.distill.measured import Measured, best_of_seeds, ratio, summary

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


def test_a_ratio_is_the_median_over_seeds_and_nothing_without_rows():
    def of(*errors):
        return Rows([{"seed": seed, "error": error} for seed, error in errors])

    found = ratio(of((0, 1.0), (1, 3.0), (2, 9.0)), of((3, 5.0), (1, 2.0), (0, 2.0)), "error")
    assert found is not None
    assert (found.value, found.low, found.high, found.n) == (1.0, 0.5, 1.5, 2)  # of the seeds that both have
    assert ratio(Rows(), ROWS, "selection") is None
    assert ratio(ROWS, Rows(), "selection") is None
