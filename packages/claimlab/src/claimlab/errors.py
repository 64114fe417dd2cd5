"""Expected failures: one sentence each, with the exit status that the command line answers with."""

from __future__ import annotations

import difflib
import signal
from collections.abc import Iterable


class LabError(Exception):
    """A failure that a user can understand: its message is one sentence (the rule, the value found, the way out).

    `detail` is what `--traceback` shows besides, such as the traceback of a worker process.
    """

    status: int = 1

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail


class UsageError(LabError):
    """The command asks for something that does not exist or cannot be: exit status 2."""

    status: int = 2


class Stop(KeyboardInterrupt):
    """A signal asked the process to stop: Ctrl-C, SIGTERM or SIGHUP."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.number = int(number)

    @property
    def words(self) -> str:
        """The signal as people know it."""
        return "Ctrl-C" if self.number == signal.SIGINT else signal.Signals(self.number).name


class TimeIsUp(BaseException):  # no error: an experiment that handles its own must not hold it up
    """The time that a run was given is over, and the seed's state is kept."""


class Interrupted(LabError):  # noqa: N818  # a signal is no error
    """A signal ended the command: the shell's own exit status for it, 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP.

    Time that is over ends it as SIGTERM does.
    """

    def __init__(self, sentence: str, number: int = signal.SIGINT) -> None:
        super().__init__(sentence)
        self.status = 128 + int(number)


def suggestion(word: str, options: Iterable[str]) -> str:
    """Return the way out of a misspelled name: the nearest option, or all of them where none is near.

    >>> suggestion("spirale", ["spirals", "random-gradients"])
    'Did you mean spirals?'
    >>> suggestion("xyz", ["spirals", "random-gradients"])
    'Choose one of random-gradients, spirals.'
    """
    known = sorted(options)
    near = difflib.get_close_matches(word, known, n=1)
    if near:
        return f"Did you mean {near[0]}?"
    return f"Choose one of {', '.join(known)}." if known else "There is none to choose from."
