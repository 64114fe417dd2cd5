from craik.experiments.skips.comparing.measures import ahead
from craik.experiments.skips.comparing.stopped import greater, lesser, where_stopped
from craik.lab import Rows

ROWS = Rows(
    {"seed": seed, "method": method, "accuracy": accuracy, "stopped_at": 0.5, "stopped_accuracy": stopped}
    for seed in range(3)
    for method, accuracy, stopped in (("asi", 0.75, 0.75), ("fixed-2", 0.25, 0.5))
)


def test_a_comparison_is_asked_at_the_ends_and_where_validation_stops():
    measure = ahead("asi", "fixed-2")
    assert (measure(ROWS).value, where_stopped(measure)(ROWS).value) == (0.5, 0.25)
    assert (lesser(measure)(ROWS).value, greater(measure)(ROWS).value) == (0.25, 0.5)


def test_rows_without_looks_say_nothing_of_stopping():
    ends = Rows({name: value for name, value in row.items() if not name.startswith("stopped_")} for row in ROWS)
    assert ahead("asi", "fixed-2")(ends).value == 0.5
    assert lesser(ahead("asi", "fixed-2"))(ends) is None
