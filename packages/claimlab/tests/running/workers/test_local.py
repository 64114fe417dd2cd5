import os
import subprocess
import sys
from pathlib import Path

import pytest

from claimlab.running.workers.descendants import descendants, kill
from claimlab.running.workers.local import here, width_for
from claimlab.running.workers.worker import Job
from fake_commands import alive, wait_for
from fake_workers import SLEEP, simulate


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


listed = pytest.mark.skipif(not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="the kernel lists no children")


@listed
def test_a_worker_that_is_ended_leaves_nothing_that_it_started(tmp_path):
    worker = here().start(Job("climb", "fake_sweeps", "quick", {"seed": 0}, 0, tmp_path / "a.jsonl", "0" * 64), simulate)
    below = [int(word) for word in worker.next_event().text.split()]
    assert sorted(descendants(worker.process.pid)) == sorted(below)
    assert all(map(alive, below))
    worker.kill()
    worker.end()
    wait_for(lambda: not any(map(alive, below)))


@listed
def test_what_is_over_has_started_nothing_and_is_not_ended_twice():
    process = subprocess.Popen([sys.executable, "-c", SLEEP])
    assert process.pid in descendants(os.getpid())
    kill([process.pid])
    process.wait()
    kill([process.pid])
    assert descendants(process.pid) == []
