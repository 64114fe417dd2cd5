"""Spot checks of a traced step: one environment alone through the same graph, against the definition."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mechlearn.agreement.compiled.packed import unpack
from mechlearn.agreement.engine.analysis.walk import survey
from mechlearn.agreement.engine.verification import by_definition, check_environment, precision_of
from mechlearn.environments import Environments


class TracedCheck:
    """One call that is to be checked.

    Args:
        model: whose buffers and random numbers are, behind the check, what they were before it.
        groups: the partition of the rows.
        position: of the environment that is checked.
    """

    def __init__(self, model: nn.Module, groups: Environments, position: int) -> None:
        self._model, self._groups, self._position = model, groups, position
        self._before = [buffer.detach().clone() for buffer in model.buffers()]

    def run(
        self,
        losses_of: Callable[[], Tensor],
        weights: Tensor,
        parameters: Mapping[str, Tensor],
        carried: Sequence[str],
        sums: Callable[[Tensor], Sequence[Tensor | None]],
    ) -> bool:
        """Compare, and tell whether it could be done: of losses that draw random numbers each pass has others.

        Args:
            losses_of: the losses in eager mode.
            weights: (B,) what each loss is multiplied by.
            parameters: by name.
            carried: names of statistics, as they travel.
            sums: from weights of the losses to every parameter's sum of gradients and statistics, by the traced graph.

        Raises:
            ValueError: another gradient than the definition's, or statistics that are not of one environment.
        """
        rows, names = self._groups.index == self._position, list(parameters)
        each = 1 + len(carried)
        with self._as_before() as drawn, torch.enable_grad():
            losses = losses_of()
            if drawn():
                return False
            nodes = survey(losses).kinds
            gradients = by_definition(losses, weights, rows, list(parameters.values()), retain_graph=False)
        with self._as_before():
            traced = sums(torch.where(rows, weights, 0))
        wanted = dict(zip(names, gradients, strict=True))
        for number, statistic in enumerate(["gradient", *carried]):
            found: dict[str, Tensor] = {}
            for place, name in enumerate(names):
                gradient, value = traced[place * each], traced[place * each + number]
                if gradient is not None and value is not None:
                    found[name] = _of_one(statistic, gradient, unpack(statistic, value, parameters[name].shape))
            check_environment(found, wanted, lambda: self._groups.named(self._position), precision_of(nodes))
        return True

    @contextmanager
    def _as_before(self) -> Generator[Callable[[], bool]]:
        """Run something with buffers as they were, and take back what it does to them and to random numbers."""
        buffers = list(self._model.buffers())
        behind = [buffer.detach().clone() for buffer in buffers]
        devices = sorted({p.device.index or 0 for p in self._model.parameters() if p.device.type == "cuda"})

        def states() -> list[Tensor]:
            return [torch.get_rng_state(), *(torch.cuda.get_rng_state(device) for device in devices)]

        with torch.random.fork_rng(devices=devices):
            first = states()
            try:
                _copy(buffers, self._before)
                yield lambda: any(not torch.equal(a, b) for a, b in zip(first, states(), strict=True))
            finally:
                _copy(buffers, behind)


def _copy(buffers: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    with torch.no_grad():
        for buffer, value in zip(buffers, values, strict=True):
            buffer.copy_(value)


def _of_one(statistic: str, gradient: Tensor, value: Tensor) -> Tensor:
    """Return the gradient of one environment from a statistic of it; where several have a part, it is another."""
    kind = statistic.partition(":")[0]
    if kind == "sign":
        return value * gradient.abs()
    if kind == "square":
        return value.sqrt().to(gradient.dtype) * gradient.sign()
    return value * gradient.sign() if kind == "magnitude" else gradient
