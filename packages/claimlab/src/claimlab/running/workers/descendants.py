"""What a worker itself has started, such as simulators: it would outlive a worker that is ended without a word."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have.

    None where there is no /proc, or a kernel that does not list children there.
    """
    found = list[int]()
    for one in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # the thread is over
            found += [int(word) for word in one.read_text().split()]
    return found + [below for child in found for below in descendants(child)]


def kill(processes: Iterable[int]) -> None:
    """End processes at once, those that are there still."""
    for pid in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, and its number may be somebody else's
            os.kill(pid, getattr(signal, "SIGKILL", signal.SIGTERM))
