import pytest
import torch
from mechlearn_zoo_benchmarks.measuring import timing


@pytest.fixture
def clock(monkeypatch):
    """A clock that only steps move."""

    class Clock:
        now = 0.0

        def advance(self, seconds):
            self.now += seconds

    clock = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: clock.now)
    return clock


def test_ratios_are_formed_within_a_round():
    # The machine is ten times slower in the second round: no ratio shows it, a ratio of medians would.
    assert timing.ratio([2.0, 20.0, 3.0], [1.0, 10.0, 1.0]) == (2.0, 2.0, 3.0, 3)


def test_every_round_has_every_step_once_in_an_order_of_its_own(clock):
    order = []

    def step(name):
        def call():
            order.append(name)
            clock.advance(1.0)

        return call

    names = list("abcdef")
    steps = {name: step(name) for name in names}
    nothing = dict.fromkeys(names, lambda: None)
    rounds = dict.fromkeys(names, 4)
    generator = torch.Generator().manual_seed(0)
    times = timing.interleaved(steps, nothing, rounds, least=0.5, generator=generator)
    assert times == {name: [1.0] * 4 for name in names}
    turns = [order[i : i + 6] for i in range(0, 24, 6)]
    assert all(sorted(turn) == names for turn in turns)
    assert len({tuple(turn) for turn in turns}) > 1
    again = []
    order, before = again, order
    timing.interleaved(steps, nothing, rounds, least=0.5, generator=torch.Generator().manual_seed(0))
    assert again == before


def test_a_slow_step_sits_out_the_last_rounds(clock):
    steps = {"plain": lambda: clock.advance(1.0), "slow": lambda: clock.advance(9.0)}
    nothing = dict.fromkeys(steps, lambda: None)
    times = timing.interleaved(steps, nothing, {"plain": 3, "slow": 2}, 0.5, torch.Generator().manual_seed(0))
    assert times == {"plain": [1.0] * 3, "slow": [9.0] * 2}
    assert timing.ratio(times["slow"], times["plain"]).rounds == 2


def test_a_short_step_is_repeated_and_its_first_call_does_not_count(clock):
    lengths = iter([0.4, 0.1, 0.3, 0.2, 0.1])
    assert timing.turn(lambda: clock.advance(next(lengths)), lambda: None, least=0.5) == pytest.approx(0.2)
    assert list(lengths) == [0.1]


def test_cleaning_is_not_on_the_clock(clock):
    assert timing.seconds(lambda: clock.advance(1.0), lambda: clock.advance(5.0)) == 1.0
