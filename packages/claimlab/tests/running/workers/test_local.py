import pytest

from claimlab.running.workers.local import here, width_for


@pytest.mark.parametrize(
    ("seeds", "room", "processes"),
    [(0, 2, 2), (1, 2, 2), (2, 2, 2), (3, 2, 3), (4, 2, 2), (5, 2, 3), (6, 2, 2), (3, 1, 1), (20, 16, 20), (32, 16, 16)],
)
def test_as_many_processes_as_end_the_seeds_soonest(seeds, room, processes):
    assert width_for(seeds, room) == processes


def test_none_of_them_is_slower_than_one_a_core():
    for room in range(1, 9):
        for seeds in range(1, 30):
            left, time = float(seeds), 0.0
            while left > 0:  # processes share the cores; a round ends when its seeds, all alike, end together
                now = min(left, width_for(seeds, room))
                left, time = left - now, time + max(1.0, now / room)
            assert time <= -(-seeds // room) + 1e-9


def test_here_is_this_machine():
    assert here().width >= 1
    assert here(3).at_once(7).width == 7
