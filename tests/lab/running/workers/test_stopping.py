import os
import signal
import threading
import time

import pytest

from craik.lab.running.workers.stopping import deaf


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
