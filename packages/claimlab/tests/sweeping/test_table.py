import io

from rich.console import Console

from claimlab.sweeping.search import News
from claimlab.sweeping.studies import Trial
from claimlab.sweeping.table import state_table, watched

TRIALS = (
    Trial("up", 0, {"x": 0.01, "shape": "round"}, "complete", 0.71),
    Trial("up", 1, {"x": 0.5, "shape": "broken"}, "failed", None, "it broke\x1b[2J"),
    Trial("up", 2, {"x": 0.5, "shape": "round"}, "running"),
)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_table_of_a_sweep_under_way(hill):
    stream = io.StringIO()
    Console(file=stream, width=120).print(state_table(hill(), News(TRIALS, {("up", 2): 0.25}), 90.0))
    lines = [" ".join(line.split()) for line in stream.getvalue().splitlines()]
    assert lines[0] == "climb, highest validation_height"
    assert lines[2] == "up 2 of 3 (1 failed) 2: 0.25 0.71 x 0.01, shape round"
    assert lines[3] == "down 0 of 3 -"
    assert lines[4] == "1 min 30 s left"


def test_a_live_table_where_somebody_looks(hill):
    stream = Terminal()
    with watched(hill(), stream) as hear:
        hear(News(TRIALS, {}, notice="goes on"))
        hear(News(TRIALS, {}, fresh=(1, 4)))
    assert "note: goes on" in stream.getvalue()


def test_lines_where_nobody_looks(hill):
    stream = io.StringIO()
    with watched(hill(), stream) as hear:
        hear(News((), {}))
        hear(News(TRIALS[:1], {}))
        hear(News(TRIALS, {}, fresh=(1, 4)))
        hear(News(TRIALS, {}, fresh=(2, 4)))
    assert stream.getvalue().splitlines() == [
        "up trial 0: complete, 0.71 (1 of 3)",
        "up trial 1: failed, it broke\\x1b[2J (2 of 3)",
        "fresh seeds: 2 of 4",
    ]
