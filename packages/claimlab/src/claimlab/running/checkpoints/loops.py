"""Loops that are kept: a few lines in an experiment's own loop, and what the worker keeps of them.

An experiment's `run` is called anew when a killed seed goes on, and yields its rows from the first one on. A loop that is kept
gives what it had yielded from its `values`, is put back where it was, and goes on:

    saved = checkpoint(method, model, optimizer, generator)
    yield from saved.values
    for epoch in range(saved.done + 1, config.epochs + 1):
        ...
        yield saved.keep(epoch, {"method": method, "epoch": epoch, "loss": loss})
    saved.finish()

The global generators of torch, NumPy and `random` are kept with each loop, so that `nn.Dropout` draws on where it was. They are
put back where `done` is read, or `finished` of a loop that is. Without a worker, as where a test calls `run` itself, nothing is
kept and the same lines are a loop like any other.
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from claimlab.errors import LabError, TimeIsUp
from claimlab.rows import Row
from claimlab.running.checkpoints.files import Content, Identity, Journal, previous, read, write
from claimlab.running.checkpoints.state import is_generator, packed, restore, state_of, unpacked
from claimlab.running.checkpoints.surroundings import Surroundings, name_of, surround, surroundings

EVERY = 20.0
"""Seconds between two checkpoints of a seed unless told otherwise."""

SHARE = 0.02
"""Of the time at most so much goes into checkpoints: where writing one takes long, they become rare."""

WITHIN = " > "
"""Between the name of a part of a seed and that of a loop in it."""

V = TypeVar("V")


@dataclass
class _Loop:
    done: int = 0
    values: list[Any] = field(default_factory=list[Any])
    finished: bool = False
    state: Any = None
    around: Surroundings | None = None
    written: int = 0
    """How many of its values are in the journal."""


class Keeper:
    """What a seed's worker keeps of all loops.

    Args:
        path: the checkpoint's.
        identity: of what makes it.
        every: seconds between two; 0 writes at each `keep`.
        on_notice: told what was found, and why something is not used.
        until: by `time.time`; the first `keep` after it writes, and raises `TimeIsUp`.
    """

    def __init__(
        self, path: Path, identity: Identity, every: float, on_notice: Callable[[str], None], until: float | int = math.inf
    ) -> None:
        self._path, self._identity, self._every, self._until = path, identity, every, until
        self.rows: list[Row] = []
        self.seconds = 0.0
        self.within: list[str] = []
        self._loops: dict[str, _Loop] = {}
        self._tensors: dict[str, Any] = {}
        self._parts: dict[str, tuple[Any, ...]] = {}
        self._held: dict[str, int] = {}
        self._returned: set[str] = set()  # loops that were put back and have not gone on since
        self._journal, self._written = Journal(path), 0
        if self._recover(on_notice):
            on_notice(f"goes on from its checkpoint: {len(self.rows)} rows and {self.seconds:.0f} s are kept")
        self._found_loops = {name for name, loop in self._loops.items() if loop.around is not None}
        self._start = time.perf_counter() - self.seconds
        self._next = time.perf_counter() + every

    def _recover(self, on_notice: Callable[[str], None]) -> bool:
        """Take up what the last checkpoint that is whole holds; say whether there is one."""
        for path in (self._path, previous(self._path)):
            if path.exists():
                try:
                    found = read(path, self._identity)
                    self._take_up(found, self._journal.back_to(path, found.facts["journal"]))
                except LabError as error:
                    on_notice(str(error))
                else:
                    return True
        return False

    def _take_up(self, found: Content, entries: list[tuple[str | None, Any]]) -> None:
        self.seconds, known = found.facts["seconds"], found.facts["around"]
        values = defaultdict[str | None, list[Any]](list)
        for name, value in entries:
            values[name].append(value)
        self.rows, self._tensors = values[None], dict(found.tensors)
        self._written = len(self.rows)
        for name, loop in found.facts["loops"].items():
            around, kept = known.get(loop["around"]), values[name]
            self._loops[name] = _Loop(loop["done"], kept, loop["finished"], loop["state"], around, len(kept))

    @property
    def under_way(self) -> bool:
        """Whether a loop is open and goes on."""
        return any(not self._loops[name].finished for name in self._parts)

    def open(self, name: str, parts: tuple[Any, ...]) -> Saved:
        """Return the loop of a name, which within a part of the seed begins with the part's."""
        name = WITHIN.join((*self.within, name))
        self._refuse_within_another(name)
        if name in self._parts:
            raise LabError(f"Every loop's checkpoint should have its own name. Found {name!r} twice. Name what differs.")
        self._parts[name] = ()
        saved = Saved(name, self, self._loops.setdefault(name, _Loop()))
        saved.restore(*parts)
        return saved

    def hold(self, name: str, parts: tuple[Any, ...]) -> None:
        """Put parts back where the checkpoint has them and keep them from now on."""
        if parts:
            self._refuse_within_another(name)
        loop, before = self._loops[name], self._held.get(name, 0)
        self._held[name] = before + len(parts)
        if loop.state is not None:
            states = loop.state[before : before + len(parts)]
            if len(states) < len(parts):
                raise LabError(
                    f"The loop {name!r} should hold the {len(states)} parts of its checkpoint. Found {len(parts)}. "
                    f"Delete {self._path}."
                )
            for part, state in zip(parts, states, strict=True):
                if not loop.finished or state is not None:
                    restore(part, unpacked(state, self._tensors))
        self._parts[name] += () if loop.finished else parts
        if loop.around is not None and name in self._found_loops:
            self._returned.add(name)

    def go_on(self, name: str, over: bool = False) -> None:
        """Give the global generators what they had where the loop goes on, once: before it, draws are those of the start.

        Where it is over, nothing of it will be computed: then always, if an earlier process has finished it.
        """
        around = self._loops[name].around
        if around is not None and (name in self._returned or (over and name in self._found_loops)):
            self._returned.discard(name)
            surround(around)

    def look_around(self, name: str) -> None:
        """Keep the global generators as they are, where a loop is so far."""
        self._returned.discard(name)
        self._found_loops.discard(name)
        self._loops[name].around = surroundings()

    def _refuse_within_another(self, name: str) -> None:
        """Raise an error for a second loop beside one that holds parts.

        What the inner one keeps would be written beside the outer one's parts as they are by then, and its `done` as it was
        before: where the seed goes on, what the outer one did since would be done twice.
        """
        for other, held in self._parts.items():
            if held and other != name and not other.startswith(name + WITHIN):  # what is within a part ends with it
                rule, way_out = "a loop that holds parts must be over before another begins", "finish() or stay() that first"
                raise LabError(f"Loops should not overlap: {rule}. Found {name!r} within {other!r}. Call {way_out}.")

    def write_if_due(self) -> None:
        """Write everything, if it is time."""
        start, over = time.perf_counter(), time.time() >= self._until
        if start < self._next and not over:
            return
        # What is finished, or what this process has not come to yet, stays as it is.
        self._tensors = {key: one for key, one in self._tensors.items() if not self._parts.get(_loop_of(key))}
        tensors = dict(self._tensors)
        for name, loop in self._loops.items():
            if self._parts.get(name):
                loop.state = [packed(state_of(one), tensors, f"{name}\n{i}") for i, one in enumerate(self._parts[name])]
        around = {name: name_of(one.around) for name, one in self._loops.items() if one.around is not None}
        facts = {
            "seconds": start - self._start,
            "journal": self._append_news(),
            "loops": {
                name: {"done": one.done, "finished": one.finished, "state": one.state, "around": around.get(name)}
                for name, one in self._loops.items()
            },
            "around": {around[name]: self._loops[name].around for name in around},
        }
        write(self._path, Content(self._identity, facts, tensors))
        took = time.perf_counter() - start
        self._next = time.perf_counter() + (max(self._every, took / SHARE) if self._every else 0.0)
        if over:
            raise TimeIsUp

    def _append_news(self) -> dict[str, Any]:
        """Append what the journal does not have, values by their loop and rows, and return what it says of itself."""
        news = [(name, value) for name, loop in self._loops.items() for value in loop.values[loop.written :]]
        said = self._journal.add([*news, *((None, row) for row in self.rows[self._written :])])
        self._written = len(self.rows)
        for loop in self._loops.values():
            loop.written = len(loop.values)
        return said

    def let_go(self, name: str, whole: bool = False) -> None:
        """Hold of a loop only what its generators have come to, as others may go on drawing from them; or all its parts.

        Of what was opened within it nothing is needed any more.
        """
        for inner in [one for one in self._loops if one.startswith(name + WITHIN)]:
            del self._loops[inner]
            self._parts.pop(inner, None)
        self._tensors = {
            key: one for key, one in self._tensors.items() if _loop_of(key) != name and _loop_of(key) in self._loops
        }
        self._loops[name].state = [
            packed(state_of(one), self._tensors, f"{name}\n{i}") if whole or is_generator(one) else None
            for i, one in enumerate(self._parts[name])
        ]
        self._parts[name] = ()


def _loop_of(key: str) -> str:
    return key.partition("\n")[0]


@dataclass
class Saved:
    """A loop that is kept. Without a worker it is one that is not: nothing was done, and nothing is written."""

    name: str = ""
    _keeper: Keeper | None = None
    _loop: _Loop = field(default_factory=_Loop)

    @property
    def done(self) -> int:
        """How far the loop was when it was kept last: the first argument of `keep`; 0 at first."""
        if self._keeper:
            self._keeper.go_on(self.name)
        return self._loop.done

    @property
    def values(self) -> list[Any]:
        """What was kept so far: JSON, in the order it came in."""
        return list(self._loop.values)

    @property
    def finished(self) -> bool:
        """Whether nothing of it is needed any more but its values."""
        if self._loop.finished and self._keeper:
            self._keeper.go_on(self.name)
        return self._loop.finished

    def restore(self, *parts: Any) -> None:  # noqa: ANN401  # whatever `state_of` takes
        """Put parts back where they were and keep them from now on.

        Args:
            parts: modules, optimisers, schedules and all else with a `state_dict`; tensors; generators of torch, numpy and
                `random`. Each time the same ones in the same order.

        Raises:
            LabError: if a part is of another kind.
        """
        for part in parts:
            state_of(part)
        if self._keeper:
            self._keeper.hold(self.name, parts)

    def keep(self, done: int, value: V = None) -> V:
        """Say that the loop is so far, and what came of it; both are written down now and then.

        Args:
            done: where the loop goes on.
            value: JSON, such as a row; None for none.

        Returns:
            The value.
        """
        self._loop.done = done
        if value is not None:
            self._loop.values.append(value)
        if self._keeper:
            self._keeper.look_around(self.name)
            self._keeper.write_if_due()
        return value

    def finish(self, *values: Any) -> list[Any]:  # noqa: ANN401  # JSON
        """Say that of the loop only its values are needed from here on, and add the last ones.

        Whatever is computed of a model after its loop belongs to these: where the seed goes on, the model is not put back.
        Generators are, as they are now.

        Returns:
            The values; none where it was finished before.
        """
        if self._loop.finished:
            if self._keeper:
                self._keeper.go_on(self.name, over=True)
            return []
        self._loop.values.extend(values)
        self._loop.finished = True
        if self._keeper:
            self._keeper.look_around(self.name)
            self._keeper.let_go(self.name)
            self._keeper.write_if_due()
        return list(values)

    def stay(self) -> None:
        """Say that the loop is over and its parts stay as they are now: they are put back where the seed goes on.

        For what several arms use, such as a model that is trained once, and for generators from which more is drawn.
        """
        if self._loop.finished and self._keeper:
            self._keeper.go_on(self.name, over=True)
        elif not self._loop.finished:
            self._loop.finished = True
            if self._keeper:
                self._keeper.look_around(self.name)
                self._keeper.let_go(self.name, whole=True)
                self._keeper.write_if_due()


_keepers: list[Keeper] = []


def use(keeper: Keeper) -> None:
    """Keep the loops of this process from here on; a worker has one seed."""
    _keepers[:] = [keeper]


@contextmanager
def within(saved: Saved) -> Generator[None]:
    """Open loops as those of a part of the seed, for as long as this is entered."""
    names = _keepers[0].within if _keepers else []
    before = list(names)
    names[:] = [saved.name]
    try:
        yield
    finally:
        names[:] = before


def checkpoint(name: str, *parts: Any) -> Saved:  # noqa: ANN401  # whatever `state_of` takes
    """Return a loop that is kept, so that a killed seed goes on where it was, bit for bit.

    Args:
        name: the loop's own within a seed, such as the method and the trial.
        parts: what it holds, see `Saved.restore`.

    Raises:
        LabError: if the name was taken before, a part cannot be kept, or a loop that holds parts is not over.
    """
    if _keepers:
        return _keepers[0].open(name, parts)
    saved = Saved(name)
    saved.restore(*parts)
    return saved
