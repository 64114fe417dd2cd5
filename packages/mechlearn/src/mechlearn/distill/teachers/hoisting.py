"""The teacher, hoisted out of the inner loop: it runs once over the batches of all inner steps, and has one backward pass.

Its parameters are constant while the student unrolls, so the targets of all n batches can be formed beforehand, the unroll
differentiated with respect to them, and the result pulled back through the teacher once.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import vmap

from mechlearn import arguments
from mechlearn.distill.examples.inputs import Inputs, at, first, mapped, pieces
from mechlearn.distill.forward.batch_norm import BatchByBatch
from mechlearn.distill.forward.noise import check_repeats, no_draws
from mechlearn.distill.forward.precision import precision
from mechlearn.distill.forward.versions import all_writes
from mechlearn.distill.teachers.signals import Layout, Signals, pack
from mechlearn.distill.teachers.targets import TeacherOutput
from mechlearn.functional import call
from mechlearn.params import Params, constants_of, leaves, map_params, parameters_of

STATISTICS = ("per-batch", "pooled")


@dataclass(frozen=True)
class Hoisting(arguments.Choice):
    """How a teacher is run over the batches of an unroll.

    Attributes:
        statistics: what BatchNorm of the teacher in train mode normalises with: "per-batch" runs every inner batch by itself
            (vectorised; the paper's), "pooled" all n batches as one (another gradient).
        chunk: how many batches the teacher holds activations of at a time; the backward pass then runs it again, chunk by
            chunk. None holds all n and runs it once.
        autocast: the lower precision for `torch.autocast` of the teacher, such as torch.bfloat16 (an approximation); None
            leaves it as it is. Signals are of the type of the teacher's parameters again. torch converts no float64, so that it
            changes nothing for a teacher in float64.

    Raises:
        ValueError: unknown statistics; pooled statistics in chunks, which would be pooled over each chunk alone.
    """

    statistics: str = "per-batch"
    chunk: int | None = None
    autocast: torch.dtype | None = None

    def __post_init__(self) -> None:
        """Reject what cannot be."""
        arguments.check_one_of("statistics", self.statistics, STATISTICS)
        if self.autocast is not None:
            arguments.check_kind("autocast", self.autocast, torch.dtype, "a torch.dtype or None", way_out="Use torch.bfloat16.")
        if self.chunk is not None:
            arguments.check_whole("chunk", self.chunk, 1, why="batches that the teacher holds at a time")
        if self.chunk is not None and self.statistics == "pooled":
            raise ValueError(
                "`chunk` should be None with pooled statistics, which need all batches at once. "
                f"Found chunk={self.chunk} with statistics={self.statistics!r}."
            )


class Hoisted(NamedTuple):
    """The teacher's signals for all inner batches.

    Attributes:
        signals: each (n, B, ...), detached.
        layout: what they are.
        outputs: the same with the teacher's graph, or None where the backward pass runs the teacher again.
        params: the leaves of that graph.
    """

    signals: Signals
    layout: Layout
    outputs: Signals | None
    params: Params


class Teaching:
    """A teacher over the stacked batches of an unroll.

    Args:
        teacher: any module over privileged data. Its buffers are copied: running averages do not change.
        layers: the supervised layers' names.
        hoisting: in which pieces it is run.
    """

    def __init__(self, teacher: nn.Module, layers: Sequence[str], hoisting: Hoisting) -> None:
        self.teacher = teacher
        self.layers = tuple(layers)
        self.hoisting = hoisting
        self._writes_inputs = False

    def checked_hoist(self, privileged: Inputs) -> Hoisted:
        """Return what `hoist` does, of a teacher that is looked at first: at the price of a pass over one batch."""
        with self._checked(privileged) as found:
            hoisted = self.hoist(privileged)
            found.extend(hoisted.signals)
        return hoisted

    def checked_signals(self, privileged: Inputs) -> tuple[Signals, Layout]:
        """Return what `signals` does, of a teacher that is looked at first, as `checked_hoist` does."""
        with self._checked(privileged) as found:
            signals, layout = self.signals(privileged)
            found.extend(signals)
        return signals, layout

    @contextmanager
    def _checked(self, privileged: Inputs) -> Generator[list[Tensor]]:
        """Try a batch, to find a teacher that writes into its inputs, or that says another thing when it is asked again."""
        with no_draws("teacher", self.teacher):
            tried = [self._try(privileged)]
            found: list[Tensor] = []
            yield found
            first = [signal[:1] for signal in found]
            check_repeats("teacher", first, lambda: tried.pop() if tried else self._try(privileged))

    def _try(self, privileged: Inputs) -> Signals:
        batch = mapped(lambda tensor: tensor[:1].clone(), privileged)
        before = all_writes(batch)
        signals = self.signals(batch)[0]
        self._writes_inputs = self._writes_inputs or all_writes(batch) != before
        return signals

    def own(self, batch: Inputs) -> Inputs:
        """Return inputs that the teacher may do with as it likes: a copy, where it was seen to write into them."""
        return mapped(torch.clone, batch) if self._writes_inputs else batch

    def hoist(self, privileged: Inputs) -> Hoisted:
        """Run the teacher over (n, B, ...) privileged data."""
        params = leaves(map_params(torch.clone, parameters_of(self.teacher)))  # a pass may write into them
        if self.hoisting.chunk is None:
            outputs, layout = self.forward(params, privileged)
            return Hoisted(tuple(output.detach() for output in outputs), layout, outputs, params)
        return Hoisted(*self.signals(privileged), None, params)

    @torch.no_grad()
    def signals(self, privileged: Inputs) -> tuple[Signals, Layout]:
        """Return the signals of (n, B, ...) privileged data without a graph, chunk by chunk."""
        params = map_params(torch.clone, parameters_of(self.teacher))
        parts = [self.forward(params, part) for part in pieces(privileged, self.hoisting.chunk or _count(privileged))]
        return tuple(torch.cat(pieces) for pieces in zip(*(found for found, _ in parts), strict=True)), parts[0][1]

    def pull_back(self, hoisted: Hoisted, privileged: Inputs, cotangents: Signals) -> Params:
        """Return the gradient of sum(cotangents * signals) with respect to the teacher's parameters."""
        any_reached = False
        for outputs, weights in self._graphs(hoisted, privileged, cotangents):
            reached = [(output, weight) for output, weight in zip(outputs, weights, strict=True) if output.requires_grad]
            if reached:
                any_reached = True
                # Parameter by parameter into .grad: the gradients of a chunk are never held beside the sum of those before.
                inputs = list(hoisted.params.values())
                torch.autograd.backward([output for output, _ in reached], [weight for _, weight in reached], inputs=inputs)
        if not any_reached:
            raise ValueError(
                "The teacher's targets should depend on its trainable parameters. Found that no gradient leads from one to the "
                "other: it would never learn. Look for detach(), no_grad(), .data or rounding in its forward pass."
            )
        return {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in hoisted.params.items()}

    def _graphs(self, hoisted: Hoisted, privileged: Inputs, cotangents: Signals) -> Iterator[tuple[Signals, Signals]]:
        if hoisted.outputs is not None:
            yield hoisted.outputs, cotangents
            return
        size = self.hoisting.chunk or _count(privileged)
        for start in range(0, _count(privileged), size):
            part = slice(start, start + size)
            yield self.forward(hoisted.params, at(privileged, part))[0], tuple(weight[part] for weight in cotangents)

    def forward(self, params: Params, privileged: Inputs) -> tuple[Signals, Layout]:
        """Return the signals of (m, B, ...) privileged data, m batches."""
        buffers = {name: buffer.detach() for name, buffer in self.teacher.named_buffers()}
        frozen = {name: tensor.clone() for name, tensor in constants_of(self.teacher).items() if name not in buffers}
        layouts: list[Layout] = []
        kind = first(params).dtype  # of floats; privileged data may be tokens or bytes

        def one(buffers: Params, batch: Inputs) -> Signals:
            tensors = frozen | buffers | params
            lower = torch.autocast(first(batch).device.type, self.hoisting.autocast, enabled=self.hoisting.autocast is not None)
            with lower, precision("teacher", batch, self.teacher):
                given = (self.own(batch),)
                output: TeacherOutput = call(self.teacher, tensors, given, whole=True)
            signals, layout = pack(output, self.layers)
            layouts.append(layout)
            return signals if self.hoisting.autocast is None else tuple(signal.to(kind) for signal in signals)

        if self.hoisting.statistics == "pooled":
            flat = one(map_params(torch.clone, buffers), mapped(lambda tensor: tensor.flatten(0, 1), privileged))
            return tuple(signal.unflatten(0, first(privileged).shape[:2]) for signal in flat), layouts[0]
        copies = {name: tensor.expand(_count(privileged), *tensor.shape).clone() for name, tensor in buffers.items()}
        try:
            with BatchByBatch():
                return vmap(one)(copies, privileged), layouts[0]
        except Exception:  # vmap's refusals have many types, and a fault of the teacher's own comes again below
            layouts.clear()
        each = [
            one(map_params(torch.clone, buffers), batch) for batch in (at(privileged, i) for i in range(_count(privileged)))
        ]
        return tuple(torch.stack(signals) for signals in zip(*each, strict=True)), layouts[0]


def _count(privileged: Inputs) -> int:
    return len(first(privileged))
