"""Rows as they come, for whoever watches: JSON lines, TensorBoard, MLflow."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Literal

from claimlab.errors import UsageError
from claimlab.fields import values_of
from claimlab.running.plan import Plan
from claimlab.running.provenance.made import now
from claimlab.running.storage import Tail
from claimlab.running.workers.worker import Event, OnEvent
from claimlab.values import written


@contextlib.contextmanager
def json_lines(path: Path) -> Generator[OnEvent, None, None]:
    """Add each event to a file as a line of JSON with its time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--json-log should be writable. Found {path}: {error.strerror}. Name another.") from error

    def hear(event: Event) -> None:
        facts = {key: value for key, value in dataclasses.asdict(event).items() if key != "made" and value not in (None, "")}
        file.write(json.dumps({"time": now(), **facts}) + "\n")
        file.flush()

    with file:
        yield hear


Tracker = tuple[Callable[[str, float, int], object], Callable[[], object]]
"""Where a seed's numbers go: a function of a number's name, value and step, and one that ends it."""


@contextlib.contextmanager
def tracked(tool: Literal["tensorboard", "mlflow"], plan: Plan, folder: Path) -> Generator[OnEvent, None, None]:
    """Send the numbers of each seed's rows to a tool as they are made; a row's texts become part of a number's name.

    TensorBoard's files lie below the run's folder, MLflow's below `mlruns` beside it.
    """
    open_ = {"tensorboard": _tensorboard, "mlflow": _mlflow}[tool](plan, folder)
    tails: dict[int, _Tail] = {}

    def hear(event: Event) -> None:
        if event.seed is None or event.kind not in ("started", "advanced", "again", "finished"):
            return
        if event.seed not in tails:
            tails[event.seed] = _Tail(folder / f"seed-{event.seed}.partial.jsonl", open_(event.seed))
        tails[event.seed].send(anew=event.kind == "again")
        if event.kind == "finished":
            tails.pop(event.seed).close()

    try:
        yield hear
    finally:
        for tail in tails.values():
            tail.close()


class _Tail:
    """A seed's partial file, of which whole new lines are read."""

    def __init__(self, path: Path, tracker: Tracker) -> None:
        self._path, (self._log, self.close) = path, tracker
        self._tail, self._steps = Tail(path), Counter[str]()

    def send(self, anew: bool = False) -> None:
        if anew:
            self._tail, self._steps = Tail(self._path), Counter[str]()
        for row in map(json.loads, self._tail.new().splitlines()):
            words = "/".join(str(value) for value in row.values() if isinstance(value, str) and len(value) <= 40)
            for key, value in row.items():
                if isinstance(value, int | float) and key not in ("seed", "seconds"):
                    self._log(f"{words}/{key}".lstrip("/"), float(value), self._steps[words])
            self._steps[words] += 1


def _tensorboard(plan: Plan, folder: Path) -> Callable[[int], Tracker]:
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415  # of the extra `tracking`

    def opened(seed: int) -> Tracker:
        writer = SummaryWriter(str(folder / "tensorboard" / f"seed-{seed}"))
        return writer.add_scalar, writer.close

    return opened


def _mlflow(plan: Plan, folder: Path) -> Callable[[int], Tracker]:
    from mlflow.tracking import MlflowClient  # noqa: PLC0415  # pyright: ignore[reportMissingImports] # of the extra `tracking`

    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # the small client has no database, and asks to be told so
    client = MlflowClient((folder.parent / "mlruns").absolute().as_uri())
    known = client.get_experiment_by_name(plan.experiment.name)
    experiment = known.experiment_id if known else client.create_experiment(plan.experiment.name)

    def opened(seed: int) -> Tracker:
        run = client.create_run(experiment, run_name=f"{plan.label}, seed {seed}").info.run_id
        for name, value in {**values_of(plan.config), "seed": seed, "preset": plan.preset}.items():
            client.log_param(run, name, written(value))

        def log(name: str, value: float, step: int) -> None:
            client.log_metric(run, "".join(c if c.isalnum() or c in "_-. /" else "-" for c in name), value, step=step)

        def close() -> None:
            client.set_terminated(run)

        return log, close

    return opened
