"""Collective operations that end in a sentence where a rank is gone, and the ranks' agreement on what they exchange."""

import hashlib
import itertools
import warnings
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass

import torch
import torch.distributed.nn  # pyright: ignore[reportUnusedImport]
from torch import Tensor, distributed
from torch.distributed import ProcessGroup

from mechlearn.agreement.rules import Rule, Statistics
from mechlearn.environments import Ids

# Functions of torch.distributed.nn keep as a default what is the group when they are imported, which torch's optimizers do at
# their first step. After init_process_group the group would then outlive destroy_process_group with its threads, and one that
# is still awake when the interpreter goes aborts the process. So they are imported here, before there is a group.


@contextmanager
def answering() -> Generator[None]:
    """Turn a backend's failure in a collective operation into one sentence."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise RuntimeError(
            "Every rank should take part in combining gradients. Found one that is gone or did not answer within the group's "
            f"timeout. No gradient was combined: restart the job from its last checkpoint. The backend says: {reason}"
        ) from None


def check_initialised() -> None:
    """Refuse to talk to other ranks where there are none."""
    if not (distributed.is_available() and distributed.is_initialized()):
        raise RuntimeError(
            "A process group should be there to combine gradients across ranks. Found none. Call "
            "torch.distributed.init_process_group first; one process alone needs Agreement.backward only."
        )


def all_reduce(tensor: Tensor, group: ProcessGroup | None) -> Tensor:
    """Overwrite a tensor by its sum over the ranks and return it."""
    with answering():
        distributed.all_reduce(tensor, group=group)
    return tensor


def all_reduce_later(tensor: Tensor, group: ProcessGroup | None) -> distributed.Work:
    """Start to overwrite a tensor by its sum over the ranks."""
    with answering():
        work = distributed.all_reduce(tensor, group=group, async_op=True)
    if work is None:
        raise RuntimeError("Only ranks of the group should combine gradients. Found a process outside it. Pass its own group.")
    return work


def all_gather(tensor: Tensor, group: ProcessGroup | None) -> list[Tensor]:
    """Return every rank's tensor, in the order of the ranks."""
    rows = [torch.empty_like(tensor) for _ in range(distributed.get_world_size(group))]
    with answering():
        distributed.all_gather(rows, tensor, group=group)
    return rows


def shake_hands(
    parameters: Mapping[str, Tensor],
    statistics: Mapping[str, Statistics],
    rule: Rule,
    expected: int | None,
    group: ProcessGroup | None,
) -> int:
    """Return the number of environments over all ranks, after making sure that the ranks talk about the same thing."""
    counts = {found.environments for found in statistics.values()}
    layout = [(name, tuple(parameter.shape), str(parameter.dtype)) for name, parameter in parameters.items()]
    sizes = sum(parameter.numel() for parameter in parameters.values())
    unknown = len(set(statistics) - set(parameters))
    # What is wrong on one rank alone travels, too, so that all ranks end alike.
    mine = [
        len(layout),
        sizes,
        number_of(layout),
        number_of(_settings(rule)),
        -1 if expected is None else expected,
        max(counts, default=0),
    ]
    device = _device(parameters)
    lacking = any(getattr(found, name) is None for found in statistics.values() for name in rule.needs)
    header = torch.tensor([*mine, len(counts) > 1, unknown, lacking], dtype=torch.int64, device=device)
    rows = torch.stack(all_gather(header, group)).tolist()
    _check_alike(rows)
    total = sum(row[5] for row in rows)
    if expected is not None and total != expected:
        raise ValueError(
            f"All ranks together should have {expected} environments. Found {[row[5] for row in rows]}, {total} in all. Give "
            "every environment to one rank."
        )
    if total == 0:
        raise ValueError("At least one rank should have an environment. Found none. Skip the step on all ranks.")
    if total == 1 and expected is None:
        warnings.warn(
            "All ranks together have one environment. With a single environment there is nothing to agree on: start more "
            "ranks, or pass environments=1 if that is meant.",
            stacklevel=4,
        )
    return total


def _check_alike(rows: list[list[int]]) -> None:
    """Reject ranks that differ in what they combine, or whose statistics do not belong together; a row is a rank's header."""
    words = ("parameters", "components of parameters", "names, shapes or types of parameters", "rules", "expected environments")
    for column, word in enumerate(words):
        found = [row[column] for row in rows]
        if len(set(found)) > 1:
            shown = "" if column in (2, 3) else f": {found} on ranks 0 to {len(rows) - 1}"
            raise ValueError(
                f"All ranks should agree about what they combine. Found different {word}{shown}. Build them alike."
            )
    for rank, row in enumerate(rows):
        if row[6] or row[7]:
            raise ValueError(
                "`statistics` should hold the same environments for every parameter, by the parameter's name. Found other "
                f"{'numbers of environments' if row[6] else 'names'} on rank {rank}. Pass what one Agreement has collected."
            )
        if row[8]:
            raise ValueError(
                f"`statistics` should hold what the rule reads. Found some that lack it on rank {rank}: they were collected "
                "for "
                "another rule. Collect and combine by the same rule."
            )


def numbers_of_ranks(numbers: list[int], device: torch.device, group: ProcessGroup | None) -> list[list[int]]:
    """Return every rank's numbers, none of them -1, in the order of the ranks."""
    counts = [int(count) for count in all_gather(torch.tensor([len(numbers)], device=device), group)]
    if not max(counts):
        return [[] for _ in counts]
    mine = torch.full((max(counts),), -1, dtype=torch.int64)
    mine[: len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
    return [[one for one in row.tolist() if one != -1] for row in all_gather(mine.to(device), group)]


def check_apart(ids: Ids, parameters: Mapping[str, Tensor], group: ProcessGroup | None) -> None:
    """Reject an environment that two ranks have collected a part of each: the sign of its whole gradient is lost.

    Args:
        ids: of this rank's environments; none where nothing is known of them, or where ids mean another thing on each rank.
        parameters: on the device on which ranks talk.
        group: the process group.
    """
    names = {number_of(name): name for name in (ids.tolist() if isinstance(ids, Tensor) else ids)}
    device = _device(parameters)
    rows = numbers_of_ranks(list(names), device, group)
    if sum(bool(row) for row in rows) < 2:
        return
    double = sorted(number for number, times in Counter(itertools.chain(*rows)).items() if times > 1)
    if double:
        ranks = [rank for rank, row in enumerate(rows) if double[0] in row]
        # The first of them spells it out, so that all say the same.
        word = repr(names.get(double[0], "")).encode()[:_WORD].ljust(_WORD)
        said = all_gather(torch.tensor(list(word), dtype=torch.uint8, device=device), group)[ranks[0]]
        raise ValueError(
            f"An environment should be whole on one rank. Found {bytes(said.tolist()).decode(errors='replace').strip()} on "
            "ranks "
            f"{ranks}"
            + (f", and {len(double) - 1} more" if len(double) > 1 else "")
            + ". Give every environment to one rank, pass hold=True to Agreement.backward, or ids='local' to "
            "combine_across_ranks if each rank numbers environments of its own."
        )


_WORD = 80


def reached_anywhere(
    parameters: Mapping[str, Tensor], statistics: Mapping[str, Statistics], group: ProcessGroup | None
) -> set[str]:
    """Return the names of the parameters that some rank's losses reach."""
    flags = torch.tensor([name in statistics for name in parameters], dtype=torch.int32, device=_device(parameters))
    return {name for name, count in zip(parameters, all_reduce(flags, group).tolist(), strict=True) if count}


def _device(parameters: Mapping[str, Tensor]) -> torch.device:
    return next((parameter.device for parameter in parameters.values()), torch.device("cpu"))


def _settings(rule: Rule) -> str:
    """What tells one rule from another on every machine alike; the printed form of other objects has an address in it."""
    return repr(rule) if is_dataclass(rule) else type(rule).__qualname__


def number_of(value: object) -> int:
    """Return a number that differs where a value's printed form does."""
    return int.from_bytes(hashlib.sha256(repr(value).encode()).digest()[:7], "big")
