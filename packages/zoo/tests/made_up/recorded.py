"""The records under results/, read once a process: several tests are about all of them."""

from functools import cache
from pathlib import Path

from claimlab.running.run import Run
from claimlab.running.runfiles import find_runs

ROOT = Path(__file__).parents[2]


@cache
def records() -> tuple[Run, ...]:
    """Every record that is not kept apart as an older one."""
    return tuple(run for run in find_runs(ROOT / "results") if not run.is_older)
