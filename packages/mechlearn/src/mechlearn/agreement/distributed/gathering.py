"""Environments that several ranks have a part of each, as where a shuffled loader is dealt out: made whole on one rank."""

from collections.abc import Mapping

import torch
from torch import Tensor, distributed, nn
from torch.distributed import ProcessGroup

from mechlearn.agreement.distributed import collectives
from mechlearn.agreement.engine.held import Held, One


def gather(held: Held, parameters: Mapping[str, nn.Parameter], group: ProcessGroup | None) -> None:
    """Add up what several ranks hold of an environment; one of them has all of it then, and the others nothing.

    What travels is a gradient of the whole model for each such environment, one at a time.

    Args:
        held: this rank's environments.
        parameters: the model's that are trained, by name; the same on every rank.
        group: the process group.
    """
    device = next(iter(parameters.values())).device
    own = {collectives.number_of(name): name for name in held.names()}
    rows = collectives.numbers_of_ranks(list(own), device, group)
    ranks = {number: [rank for rank, row in enumerate(rows) if number in row] for row in rows for number in row}
    shared = sorted(number for number, having in ranks.items() if len(having) > 1)
    if not shared:
        return
    parts = [held.part(own[number]) if number in own else One() for number in shared]
    reached = collectives.all_reduce(_flags(parts, list(parameters), device), group).tolist()
    for k, (number, part) in enumerate(zip(shared, parts, strict=True)):
        names = [name for name, flag in zip(parameters, reached[k], strict=True) if flag]
        _add_up(part, {name: parameters[name] for name in names}, device, group)
        keeper = ranks[number][k % len(ranks[number])]  # they take turns
        if distributed.get_rank(group) == keeper:
            held.reach({name: parameters[name] for name in names})
        elif number in own:
            held.drop(own[number])


def _flags(parts: list[One], names: list[str], device: torch.device) -> Tensor:
    """Return for each part which parameters it reaches."""
    flags = [[name in part.gradients for name in names] for part in parts]
    return torch.tensor(flags, dtype=torch.int32, device=device)


def _add_up(part: One, reached: Mapping[str, Tensor], device: torch.device, group: ProcessGroup | None) -> None:
    """Overwrite a part by what all ranks have of its environment."""
    loss = torch.zeros((), device=device) if part.loss is None else part.loss
    numbers = collectives.all_reduce(torch.stack([loss.double(), loss.new_tensor(part.size, dtype=torch.float64)]), group)
    part.loss, part.size = numbers[0].to(loss.dtype), int(numbers[1])
    whole = {name: _or_zero(part.gradients.get(name), parameter) for name, parameter in reached.items()}
    for dtype in sorted({one.dtype for one in whole.values()}, key=str):
        alike = {name: one for name, one in whole.items() if one.dtype == dtype}
        total = collectives.all_reduce(torch.cat([one.flatten() for one in alike.values()]), group)
        parts = total.split([one.numel() for one in alike.values()])
        part.gradients |= {name: some.view(one.shape) for (name, one), some in zip(alike.items(), parts, strict=True)}


def _or_zero(gradient: Tensor | None, parameter: Tensor) -> Tensor:
    if gradient is not None:
        return gradient
    wide = torch.promote_types(parameter.dtype, torch.float32)
    return torch.zeros(parameter.shape, dtype=wide, device=parameter.device)
