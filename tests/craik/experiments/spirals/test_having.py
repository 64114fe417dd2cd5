from craik.experiments.spirals.having import Having
from craik.lab import OverSeeds, Rows


def test_rows_without_the_column_say_nothing():
    rows = [{"seed": 0, "stopped": 0.5}, {"seed": 1}, {"seed": 2, "stopped": None}]
    found = Having("stopped", OverSeeds("stopped"))(Rows(rows))
    assert (found.value, found.n) == (0.5, 1)
    assert Having("stopped", OverSeeds("stopped"))(Rows(rows[1:])) is None
