import io

from claimlab.claims import JudgedClaim
from claimlab.running.workers.worker import Event
from claimlab.showing.terminal import print_verdicts, progress

STORY = [
    Event("notice", text="discarded seed 2, half-written"),
    Event("reused", 0, 1.0, rows=3, seconds=2.0),
    Event("started", 1),
    Event("started", 2),
    Event("advanced", 1, 0.25, "and-mask  accuracy 0.83 [x]", 1, 30.0),
    Event("advanced", 2, None, "1 rows", 1, 1.0),
    Event("finished", 1, 1.0, rows=4, seconds=75.0),
    Event("failed", 2, text="toy, seed 2: it fell"),
]


class File(io.TextIOWrapper):
    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def getvalue(self) -> str:
        return self.buffer.getvalue().decode()


class Terminal(File):
    def isatty(self) -> bool:
        return True


def test_a_file_gets_one_line_for_each_seed_that_ends():
    stream = File()
    with progress("toy", 3, stream) as on_event:
        for event in STORY:
            on_event(event)
    assert stream.getvalue().splitlines() == [
        "note: discarded seed 2, half-written",
        "toy seed 0: recorded before (1 of 3)",
        "toy seed 1: done in 1 min 15 s (2 of 3)",
        "toy seed 2: failed",
    ]


def test_a_terminal_gets_bars_with_method_seed_accuracy_and_time_left(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    stream = Terminal()
    with progress("toy", 3, stream) as on_event:
        for event in STORY[:6]:
            on_event(event)
        on_event.shown.refresh()  # now, not at the next tick
        shown = stream.getvalue()
        for event in STORY[6:]:
            on_event(event)
    for words in ("seed 1", "25 %", "and-mask  accuracy 0.83 [x]", "1 min 30 s left", "1 of 3 seeds", "1 rows"):
        assert words in shown
    for words in ("toy seed 0: recorded before", "toy seed 1: done in 1 min 15 s", "toy seed 2: failed"):
        assert words in stream.getvalue()


def test_the_small_table_of_verdicts():
    stream = File()
    shared = {"kind": "claim", "text": "", "source": "", "condition": "", "tried": ""}
    claims = [
        JudgedClaim("toy.high", **shared, printed="[bold]", measured=0.98, low=0.9, high=1.0, n=6, verdict="holds"),
        JudgedClaim("toy.few", **shared, printed=None, measured=0.98, low=0.9, high=1.0, n=4, verdict="holds so far"),
        JudgedClaim("toy.low", **shared, printed=None, measured=None, low=None, high=None, n=0, verdict="not measured"),
    ]
    print_verdicts(claims, "toy, quick", stream)
    lines = [line.rstrip() for line in stream.getvalue().splitlines()]
    assert lines == [
        "toy, quick",
        "claim     reported  measured         verdict",
        "toy.high  [bold]    0.98 [0.9, 1]    ✓ holds",
        "toy.few   -         0.98 (0.9 to 1)  ✓ holds so far",
        "toy.low   -         -                - not measured",
    ]
