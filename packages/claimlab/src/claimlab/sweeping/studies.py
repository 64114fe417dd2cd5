"""Studies: where trials are kept, opened or refused, and how one is claimed, told and found again after a kill.

A trial is claimed by one entry that holds its setting and its owner, so that a process killed at any instant leaves it
claimed or not at all. Its number, which the storage gives, is its place in the budget: the numbers below `trials` are the
budget, whoever computes them. What a killed process had claimed it finds again as its own and computes once more.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna import Study
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler, TPESampler
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.trial import FrozenTrial, TrialState, create_trial
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from claimlab.errors import LabError, UsageError
from claimlab.rows import Scalar
from claimlab.sweeping.declared import Choice, LogUniform, Options, Range, Whole
from claimlab.sweeping.plan import Sampler, Sweep


def distribution(one: Range) -> BaseDistribution:
    """Return a range as Optuna knows it."""
    match one:
        case Choice(values=values):
            return CategoricalDistribution(values)
        case Options(groups=groups):
            return CategoricalDistribution(list(groups))
        case Whole(low=low, high=high):
            return IntDistribution(int(low), int(high))
        case LogUniform(low=low, high=high):
            return FloatDistribution(float(low), float(high), log=True)
        case _:
            ends: Any = one
            return FloatDistribution(float(ends.low), float(ends.high))


def own_setting(ranges: Mapping[str, Range], config: Any) -> dict[str, Scalar] | None:  # noqa: ANN401  # any Config
    """Return the setting that a config has; None where it lies outside the ranges."""
    try:
        return {name: one.value_in(name, config) for name, one in ranges.items()}
    except (ValueError, AttributeError):
        return None


def draw(sampler: Sampler, study: Study, ranges: Mapping[str, Range], number: int, seed: int) -> dict[str, Scalar]:
    """Return the setting of a trial, from its number and the trials before it, so that a sweep that was killed draws the same.

    No sampler lives longer than a draw. A random draw depends on the trial's number and on which fields are drawn, so it is
    the same for all methods that fix none. A grid's points come in a shuffled order: a part of it is spread over the whole.
    """
    if sampler == "grid":
        grids: list[Sequence[Scalar]] = [one.grid() for one in ranges.values()]
        point = int(np.random.default_rng(seed).permutation(math.prod(map(len, grids)))[number])
        places = np.unravel_index(point, [len(grid) for grid in grids])
        return {name: grid[int(at)] for name, grid, at in zip(ranges, grids, places, strict=True)}
    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    drawing = TPESampler(seed=own) if sampler == "tpe" else RandomSampler(seed=own)
    trial = create_trial(state=TrialState.RUNNING)
    trial.number = number
    return {name: drawing.sample_independent(study, trial, name, distribution(one)) for name, one in ranges.items()}


JOURNAL = "journal.jsonl"
"""The file in a sweep's folder that keeps its studies unless a storage is named."""

STRAY = "stray"
"""What marks a trial that two processes drew at once: the later one is no part of the budget."""


@dataclass(frozen=True)
class Trial:
    """A trial as it is recorded: `number` is its place in the budget from 0 on, `owner` whose process claimed it.

    It has failed where its training raised an error or gave no finite value; the value of a pruned one is the last.
    """

    method: str
    number: int
    chosen: dict[str, Scalar]
    state: str
    value: float | None = None
    why: str = ""
    seconds: float = 0.0
    owner: str = ""


class Studies:
    """A sweep's studies: `by_method` has each method's, as Optuna has it."""

    def __init__(self, sweep: Sweep, storage: BaseStorage, source: str, owner: str) -> None:
        self._sweep, self._storage, self._owner = sweep, storage, owner
        direction = "maximize" if sweep.ranges.objective.maximise else "minimize"
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.by_method: dict[str, Study] = {}
        for method in sweep.methods:
            study = optuna.create_study(
                storage=storage, study_name=sweep.study(method), direction=direction, load_if_exists=True,
                sampler=RandomSampler(), pruner=optuna.pruners.NopPruner(),
            )  # fmt: skip
            ours, theirs = sweep.identity(source), study.user_attrs.get("claimlab")
            if theirs is None and not study.trials:  # new, or its maker was killed before it could say so
                study.set_user_attr("claimlab", ours)
            else:
                refuse_other(theirs or {}, ours, study.study_name)
            self.by_method[method] = study

    def trials(self, method: str) -> list[Trial]:
        """Return all of a method that are part of the budget, by number."""
        return [_trial(method, place, one) for place, one in enumerate(self._counted(method)[: self._sweep.trials])]

    def every_trial(self) -> list[Trial]:
        """Return those of all methods."""
        return [one for method in self._sweep.methods for one in self.trials(method)]

    def _counted(self, method: str) -> list[FrozenTrial]:
        return [one for one in self.by_method[method].get_trials(deepcopy=False) if not one.system_attrs.get(STRAY)]

    def left_behind(self, everyones: bool = False) -> list[Trial]:
        """Return those that were claimed and not told, by a process that is no more."""
        running = (one for one in self.every_trial() if one.state == "running")
        return [one for one in running if everyones or one.owner == self._owner]

    def claim(self) -> Trial | None:
        """Return the next trial, of the method that has the fewest; None where the budget is spent."""
        while True:
            method = min(self._sweep.methods, key=lambda one: len(self._counted(one)))
            if len(self._counted(method)) >= self._sweep.trials:
                return None
            found = self._claimed(method)
            if found is not None:
                return found

    def _claimed(self, method: str) -> Trial | None:
        study, ranges = self.by_method[method], self._sweep.ranges.drawn(method)
        place, everything = len(self._counted(method)), len(study.get_trials(deepcopy=False))
        sampler, config = self._sweep.draws[0], self._sweep.config
        chosen = own_setting(ranges, config) if place == 0 and sampler != "grid" else None
        chosen = chosen or draw(sampler, study, ranges, place, config.seed)
        spaces = {name: distribution(one) for name, one in ranges.items()}
        owned = {"owner": self._owner, "claim": everything}
        study.add_trial(create_trial(state=TrialState.RUNNING, params=chosen, distributions=spaces, user_attrs=owned))
        mine = [one for one in study.get_trials(deepcopy=False) if one.user_attrs.get("owner") == self._owner][-1]
        if mine.number == everything:
            return _trial(method, place, mine)
        self._storage.set_trial_system_attr(mine._trial_id, STRAY, value=True)  # pyright: ignore[reportPrivateUsage] # no other way
        study.tell(mine.number, state=TrialState.FAIL)
        return None

    def reported(self, trial: Trial, step: int, value: float) -> bool:
        """Note what a trial has come to, and return whether it may go on."""
        frozen = self._frozen(trial)
        self._storage.set_trial_intermediate_value(frozen._trial_id, step, value)  # pyright: ignore[reportPrivateUsage] # no other way
        study = self.by_method[trial.method]
        return not _pruner(self._sweep, study).prune(study, self._frozen(trial))

    def told(self, trial: Trial, state: str, value: float | None, seconds: float, why: str = "") -> None:
        """Record how a trial ended, as one entry that counts."""
        frozen, study = self._frozen(trial), self.by_method[trial.method]
        for key, fact in (("seconds", round(seconds, 3)), ("why", why)):
            self._storage.set_trial_user_attr(frozen._trial_id, key, fact)  # pyright: ignore[reportPrivateUsage] # no other way
        states = {"complete": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "failed": TrialState.FAIL}
        study.tell(frozen.number, value if state == "complete" else None, state=states[state])

    def _frozen(self, trial: Trial) -> FrozenTrial:
        return self._counted(trial.method)[trial.number]


def _pruner(sweep: Sweep, study: Study) -> Any:  # noqa: ANN401  # Optuna's
    """Return what ends a trial early: never before it has come half as far as the longest."""
    if sweep.draws[1] == "halving":
        return optuna.pruners.SuccessiveHalvingPruner()
    lengths = [len(one.intermediate_values) for one in study.get_trials(deepcopy=False) if one.state.is_finished()]
    return optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=max(lengths, default=0) // 2)


def _trial(method: str, place: int, one: FrozenTrial) -> Trial:
    state = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}.get(one.state.name, "running")
    facts = {key: one.user_attrs[key] for key in ("why", "seconds", "owner") if key in one.user_attrs}
    return Trial(method, place, dict(one.params), state, one.values[0] if one.values else None, **facts)


def refuse_other(theirs: dict[str, Any], ours: dict[str, Any], name: str) -> None:
    """Raise an error for a study that was begun as something else."""
    for key, mine in ours.items():
        their = theirs.get(key)
        if their == mine:
            continue
        if key == "source":
            found = f"Found source {str(mine)[:6]} for {name!r}, which {str(their)[:6]} began"
            raise LabError(f"A study should keep the source that began it. {found}. Check it out, or pass another --out.")
        if isinstance(mine, dict) and isinstance(their, dict):
            one = next(one for one in {**their, **mine} if their.get(one) != mine.get(one))
            found = f"{key}: {one} is {mine.get(one, 'absent')!r} here and {their.get(one, 'absent')!r} there"
        else:
            found = f"{key} is {mine!r} here and {their!r} there"
        raise LabError(f"A study should continue as it was begun. Found for {name!r}: {found}. Name another --out.")


def open_storage(url: str | None, folder: Path) -> BaseStorage:
    """Open what keeps the studies: a URL that Optuna knows, or a journal in the sweep's folder, whose lock is held."""
    if url is None:
        return _journal(folder / JOURNAL)
    ways = "Pass sqlite:///FILE or postgresql://HOST/NAME, or leave it out for a journal in the sweep's folder."
    head, at, tail = url.rpartition("@")
    hidden = f"{head.partition('://')[0]}://***@{tail}" if at else url  # without its password
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
            raise UsageError(f"A storage should outlive the process. Found {url!r}. {ways}")
        # No pool: a connection goes when it is not needed, and none is left open behind a sweep in a process that goes on.
        return RDBStorage(url, engine_kwargs={"poolclass": NullPool})
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise UsageError(f"A storage should be a URL of a kind that Optuna knows. Found {hidden!r}. {ways}") from None
    except ImportError as error:
        raise LabError(f"A storage's driver should be installed. Found: {error}. Install it. {ways}") from error
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        raise LabError(f"A storage should be reachable. Found {hidden} silent ({reason}). Start it. {ways}") from error


def _journal(path: Path) -> BaseStorage:
    class Held(JournalFileOpenLock):
        """The sweep's folder is locked already; a lock file of Optuna's would outlive a process that is killed."""

        def acquire(self) -> bool:
            return True

        def release(self) -> None:
            return

    data = path.read_bytes() if path.exists() else b""
    whole = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            json.loads(line)
        except ValueError as error:
            found = f"Found that {path}, line {number} is not ({error})"
            raise LabError(f"A sweep's journal should be as it was written. {found}. Delete the folder.") from error
    if len(whole) < len(data):  # a line that a killed process had begun
        os.truncate(path, len(whole))
    try:
        return JournalStorage(JournalFileBackend(str(path), lock_obj=Held(str(path))))
    except (ValueError, LookupError, TypeError) as error:
        raise LabError(f"A sweep's journal should be readable. Found {path} damaged ({error}). Delete the folder.") from error
