"""Sweeps of the made-up hill, by workers or, faster, in this process."""

from typing import ClassVar

import pytest

from claimlab.experiment import load
from claimlab.sweeping import search as searching
from claimlab.sweeping.attempts import Attempt
from claimlab.sweeping.plan import single, sweep


@pytest.fixture
def hill():
    """Plans a sweep."""

    def _hill(trials=3, preset="quick", draws=("random", "none"), **overrides):
        return sweep(load("climb", "fake_sweeps"), preset, trials, overrides, draws, "fake_sweeps")

    return _hill


@pytest.fixture
def here(monkeypatch):
    """Trains in this process; `here.until` ends it with a `Kill` after so many rows, as kill -9 would."""

    class Here:
        until: int | None = None
        tried: ClassVar[list[dict[str, object]]] = []

    def attempts(waiting, engine, preset, goes_on, said):
        for what, job in waiting:
            attempt = Attempt(what, job)
            experiment = single(load(job.experiment, job.package), preset)
            Here.tried.append(job.values)
            try:
                for row in experiment.run(experiment.config(**job.values)):
                    if Here.until is not None and (left := Here.until) <= 0:
                        raise Kill(left)
                    Here.until = None if Here.until is None else Here.until - 1
                    attempt.rows.append({"seed": job.seed, "seconds": 0.0, **row})
                    if not goes_on(attempt):
                        attempt.state = "pruned"
                        break
            except ValueError as error:
                attempt.state, attempt.why = "failed", str(error)
            if attempt.state == "running":
                attempt.state = "complete"
            yield attempt

    Here.tried = []
    monkeypatch.setattr(searching, "attempts", attempts)
    return Here


def trials_of(done):
    """All trials of both methods, as they ended."""
    return [
        (one.method, one.number, one.chosen, one.state, one.value) for m in ("up", "down") for one in done.studies.trials(m)
    ]


class Kill(BaseException):
    """Nobody catches it, and nothing is tidied up."""
