"""Ends a process of a run at an aimed instant, as a machine would: before or after the n-th rename to a name like this.

``MECHLEARN_FAULT="worker before rename .checkpoint.safetensors 3"`` kills the worker; `parent` kills what started it; `full`
says that the disk is full.
"""

import errno
import multiprocessing
import os
import signal


def aim() -> None:
    """Patches this process, if the environment asks for it."""
    words = os.environ.get("MECHLEARN_FAULT", "").split()
    if not words:
        return
    who, when, what, name, count = words
    ours = "worker" if multiprocessing.parent_process() else "parent"
    if who != ours:
        return
    calls = {"rename": ("replace", "rename"), "sync": ("fsync",)}[what]
    left = [int(count)]
    for call in calls:
        setattr(os, call, _aimed(getattr(os, call), name, when, left))


def _aimed(real, name, when, left):
    def call(*arguments, **named):
        hit = any(name in _name(one) for one in arguments)
        left[0] -= hit
        if hit and left[0] == 0:
            if when == "full":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), _name(arguments[-1]))
            if when == "after":
                real(*arguments, **named)
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    return call


def _name(argument) -> str:
    return os.readlink(f"/proc/self/fd/{argument}") if isinstance(argument, int) else os.fspath(argument)
