"""What runs and sweeps cost, measured on a quiet machine in about half an hour: `figures.py [--epochs N]`.

1. Of a quick run's time the share that goes into its checkpoints, one each 20 s; at most 3 %.
2. A sweep's time by two workers over its time by one, of trials of 20 s and more on two cores; at most 0.6.

It exits with 1 where one is missed. One that was measured wrongly, as its trials were shorter, counts as missed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from claimlab.experiment import load
from claimlab.running.checkpoints.loops import Keeper, use

METHODS, TRIALS = 2, 3
"""Of `mechlearn sweep spirals`: six trials and two trainings on a fresh seed, an even number of each."""


class Timed(Keeper):
    """A keeper that measures itself."""

    spent, written = 0.0, 0

    def write_if_due(self) -> None:
        """Write as ever."""
        start, due = time.perf_counter(), self._next
        super().write_if_due()
        self.spent += time.perf_counter() - start
        self.written += self._next != due


def cost_of_checkpoints(name: str) -> dict[str, float]:
    """Run a quick preset's first seed and return the share of its time that was not the experiment's own."""
    experiment = load(name, "mechlearn_zoo.experiments")
    with tempfile.TemporaryDirectory() as folder:
        keeper = Timed(Path(folder, "seed-0-figure.checkpoint.safetensors"), {}, 20.0, print)
        use(keeper)
        start = time.perf_counter()
        for row in experiment.run(experiment.presets["quick"].config):
            keeper.rows.append(row)
        seconds = time.perf_counter() - start
    return {"seconds": seconds, "checkpoints": keeper.written, "share": keeper.spent / seconds}


def two_workers(epochs: int) -> dict[str, float]:
    """Run the same sweep by one worker and by two, each in a folder of its own."""
    took: dict[int, float] = {}
    words = ["sweep", "spirals", "--trials", str(TRIALS), "--sampler", "random", "--pruner", "none", "--seeds", "1"]
    words += ["--epochs", str(epochs), "--json"]
    code = "import sys; from mechlearn.cli import main; sys.exit(main(sys.argv[1:]))"
    with tempfile.TemporaryDirectory() as folder:
        for jobs in (1, 2):
            command = [sys.executable, "-c", code, *words, "--jobs", str(jobs), "--out", str(Path(folder, str(jobs)))]
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
            took[jobs] = time.perf_counter() - start
    each = took[1] / (METHODS * TRIALS + METHODS)
    return {"one": took[1], "two": took[2], "seconds a trial": each, "ratio": took[2] / took[1]}


def main() -> int:
    """Measure, print a line of JSON for each, and say whether all are met."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=110, help="of a trial of the spirals; so many that it takes 20 s")
    parser.add_argument("--experiment", default="spirals", help="whose checkpoints are measured")
    options = parser.parse_args()
    kept = cost_of_checkpoints(options.experiment)
    print(json.dumps({"figure": f"checkpoints of {options.experiment}", **kept}), flush=True)
    swept = two_workers(options.epochs)
    print(json.dumps({"figure": "two workers", **swept}), flush=True)
    met = kept["share"] <= 0.03 and kept["checkpoints"] > 0 and swept["ratio"] <= 0.6 and swept["seconds a trial"] >= 20
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
