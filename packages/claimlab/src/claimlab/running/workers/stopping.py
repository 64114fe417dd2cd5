"""Signals that ask a process to stop: each is one exception, raised once, whatever comes after it."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Generator
from types import FrameType

from claimlab.errors import Stop

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, the wish of a scheduler, and a terminal that is gone; Windows knows no SIGHUP."""

GRACE = 10.0
"""Seconds in which a stopped command ends its workers, and hears nothing else."""

_asked: list[int] = []
"""The signals that asked the command to stop since `stoppable` was entered."""


@contextlib.contextmanager
def stoppable() -> Generator[None, None, None]:
    """Raise `Stop` for a signal, once: a second one must not disturb the end of workers, nor print a traceback.

    What was ignored stays so (`nohup`). After a stop the process is about to end, and goes on hearing nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[float] = []
    _asked.clear()

    def stop(number: int, frame: FrameType | None) -> None:
        _asked.append(number)
        if not heard or time.monotonic() - heard[-1] > GRACE:
            heard.append(time.monotonic())
            raise Stop(number)

    before = {number: signal.getsignal(number) for number in STOPS}
    before = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():  # to ignore is what Python's own end leaves as it is
            signal.signal(number, signal.SIG_IGN if heard else handler)
        _asked.clear()


def stop_if_asked() -> None:
    """Raise `Stop` where one was raised and lost; for loops that wait.

    Python drops what is raised while it runs a callback of its own (a finaliser, that of a weak reference), and the command
    would wait on, deaf for `GRACE` seconds.
    """
    if _asked:
        raise Stop(_asked[0])


@contextlib.contextmanager
def deaf() -> Generator[None, None, None]:
    """Start a child in here deaf to these signals from its first instruction on: its parent alone answers for them.

    The parent itself hears a signal that comes meanwhile when the child has all it needs, not halfway through: a child
    that waits for the rest of its instructions would end with a traceback of its own.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    # Two guards. The mask is what the child inherits, but in the parent another thread may still take the signal, and
    # Python then runs the handler in this one: so the handler itself must wait as well.
    handlers = {number: signal.signal(number, lambda number, frame: heard.append(number)) for number in STOPS}
    masks = hasattr(signal, "pthread_sigmask")  # not on Windows, where a child may print a traceback of its own on Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS) if masks else set[int]()
    try:
        yield
    finally:
        if masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if heard:
            signal.raise_signal(heard[0])


def hear_nothing() -> None:
    """Hear no signal in a worker: its parent ends it. What it starts itself hears these signals as ever."""
    for number in STOPS:
        signal.signal(number, lambda number, frame: None)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
