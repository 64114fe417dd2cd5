import multiprocessing
import os
import signal
import threading
import time
from multiprocessing.process import BaseProcess

import pytest

from claimlab.errors import Interrupted, Stop
from claimlab.experiment import load
from claimlab.running.execute import execute
from claimlab.running.plan import plan
from claimlab.running.workers.stopping import STOPS, deaf, stop_if_asked, stoppable


@pytest.fixture
def ears():
    """After a stop a command hears nothing any more; the tests do."""
    before = {number: signal.getsignal(number) for number in STOPS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Finalised:
    """A signal comes while Python runs this object's finaliser: what its handler raises there is dropped."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


def test_a_stop_that_python_drops_is_raised_by_the_loop_that_waits(package, tmp_path, ears, monkeypatch):
    dropped = []
    monkeypatch.setattr("sys.unraisablehook", lambda what: dropped.append(what.exc_type))
    it = plan(load("counter-walk", package), "quick", {"mode": "sleep"}, 2, package)

    def hear(event):
        if event.kind == "advanced" and event.seed == 1 and event.rows == 2:  # from here on it sleeps for a minute
            Finalised()

    start = time.monotonic()
    with stoppable(), pytest.raises(Interrupted, match="stopped by SIGTERM; 1 of 2 seeds are recorded"):
        execute(it, it.folder(tmp_path), 1, hear)
    assert dropped == [Stop]
    assert time.monotonic() - start < 30


def test_a_worker_that_a_stop_meets_at_its_start_is_ended_too(package, tmp_path, ears, monkeypatch):
    """Nobody else knows of it yet, and Python would wait for it at its own end."""
    started = BaseProcess.start

    def start(process):
        started(process)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(BaseProcess, "start", start)
    it = plan(load("counter-walk", package), "quick", {"mode": "sleep"}, 2, package)
    with stoppable(), pytest.raises(Interrupted, match="stopped by SIGTERM"):
        execute(it, it.folder(tmp_path), 1, lambda event: None)
    assert multiprocessing.active_children() == []


def test_a_command_after_one_that_was_stopped_is_not():
    with stoppable():
        stop_if_asked()


def test_ctrl_c_waits_until_a_worker_is_started_even_if_another_thread_takes_the_signal():
    end = threading.Event()
    thread = threading.Thread(target=end.wait)  # it blocks no signal: the kernel hands it what the main thread blocks
    thread.start()
    reached: list[bool] = []

    def start_a_worker():
        with deaf():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)
            reached.append(True)

    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(KeyboardInterrupt):
            start_a_worker()
    finally:
        end.set()
        thread.join()
    assert reached == [True]
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, set())


def test_without_ctrl_c_nothing_is_raised():
    with deaf():
        pass
