from claimlab import Rows
from mechlearn_zoo.experiments.skips.comparing.measures import above_frequent, ahead

ROWS = Rows(
    {"seed": seed, "method": method, "accuracy": accuracy + 0.1 * seed, "frequent": 0.25}
    for seed in range(3)
    for method, accuracy in (("asi", 0.5), ("fixed-2", 0.25))
)


def test_methods_are_compared_within_a_seed():
    assert ahead("asi", "fixed-2")(ROWS).value == 0.25
    assert ahead("asi", "fixed-2")(ROWS.where(lambda row: (row["method"], row["seed"]) != ("fixed-2", 1))).n == 2
    assert ahead("asi", "fixed-3")(ROWS) is None


def test_the_most_frequent_end_is_taken_away():
    found = above_frequent("asi")(ROWS)
    assert (round(found.value, 6), found.n) == (0.35, 3)
    assert above_frequent("fixed-3")(ROWS) is None
