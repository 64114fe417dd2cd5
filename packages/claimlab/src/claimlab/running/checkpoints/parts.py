"""Parts of a seed, such as arms, boards and settings: what is finished is not computed again when a killed seed goes on.

    for method in METHODS:
        yield from part(method, train(config, method))

What was under way is computed anew, from the checkpoints of its own loops where it has any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar

from claimlab.rows import Row
from claimlab.running.checkpoints.loops import checkpoint, within

P = ParamSpec("P")
V = TypeVar("V")


def part(name: str, rows: Iterable[Row], *generators: Any) -> Iterator[Row]:  # noqa: ANN401  # of torch, numpy and `random`
    """Yield a part of a seed: its rows as they come, or those that it gave, where it was finished.

    Args:
        name: the part's own within a seed. Loops that are kept in it need other names than one another, and no others.
        rows: computes them as they are asked for: nothing of it runs where the part was finished. Whatever else it changes,
            such as a model or a list, must not be needed afterwards.
        generators: what it shares with other parts; they are put back where it left them.

    Raises:
        LabError: if the name was taken before, or a row is not JSON.
    """
    saved = checkpoint(name)
    if saved.finished:
        saved.restore(*generators)
        yield from saved.values
        return
    found: list[Row] = []
    coming = iter(rows)
    while True:
        with within(saved):
            row = next(coming, None)
        if row is None:
            break
        found.append(row)
        yield row
    saved.restore(*generators)
    saved.finish(*found)


def computed(name: str, value: Callable[P, V], *arguments: P.args, **named: P.kwargs) -> V:
    """Return a part of a seed that is one value: `value(*arguments)`, or what it gave, where it was finished.

    Args:
        name: as that of a `part`.
        value: computes it, and changes nothing that is needed afterwards. It is JSON: of a tuple a list comes again, so that
            a named one is made of it where it is used.
        arguments: its own.
        named: its own, too.

    Raises:
        LabError: if the name was taken before, or the value is not JSON.
    """
    saved = checkpoint(name)
    if saved.finished:
        return saved.values[0]
    with within(saved):
        found = value(*arguments, **named)
    saved.finish(found)
    return found
