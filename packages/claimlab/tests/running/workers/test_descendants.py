import os
import subprocess
import sys
from pathlib import Path

import pytest

from claimlab.running.workers.descendants import descendants, kill
from claimlab.running.workers.local import here
from claimlab.running.workers.worker import Job
from fake_commands import alive, wait_for
from fake_workers import SLEEP, simulate

pytestmark = pytest.mark.skipif(
    not Path(f"/proc/self/task/{os.getpid()}/children").exists(), reason="the kernel lists no children"
)


def test_a_worker_that_is_ended_leaves_nothing_that_it_started(tmp_path):
    worker = here().start(Job("climb", "fake_sweeps", "quick", {"seed": 0}, 0, tmp_path / "a.jsonl", "0" * 64), simulate)
    below = [int(word) for word in worker.next_event().text.split()]
    assert sorted(descendants(worker.process.pid)) == sorted(below)
    assert all(map(alive, below))
    worker.kill()
    worker.end()
    wait_for(lambda: not any(map(alive, below)))


def test_what_is_over_has_started_nothing_and_is_not_ended_twice():
    process = subprocess.Popen([sys.executable, "-c", SLEEP])
    assert process.pid in descendants(os.getpid())
    kill([process.pid])
    process.wait()
    kill([process.pid])
    assert descendants(process.pid) == []
