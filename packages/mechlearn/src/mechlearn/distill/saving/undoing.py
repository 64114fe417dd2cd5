"""Calls that change nothing where they are refused: what a failing call has touched is put back."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from copy import deepcopy

import torch
from torch import Tensor, nn

from mechlearn.distill.examples.streams import Stream, Streams
from mechlearn.distill.forward.noise import generators_of

Undo = Callable[[], None]


@contextmanager
def undone_on_failure(
    generator: torch.Generator | None = None,
    streams: Sequence[Stream | Streams] = (),
    module: nn.Module | None = None,
    optimizer: torch.optim.Optimizer | None = None,
) -> Generator[None]:
    """Put everything named back to where it was, if the block fails; the copies take the memory of what may change.

    Args:
        generator: of the data's order; its state. None where no rows are drawn.
        streams: places in the data.
        module: parameters, buffers (BatchNorm's running averages) and gradients, and the generators that its passes may move.
        optimizer: its state and settings.
    """
    undos = [*([] if generator is None else [_generator(generator)]), *map(_stream, streams)]
    if module is not None:
        undos += [_module(module), *(_noise(read, write) for read, write in generators_of(module))]
    if optimizer is not None:
        undos.append(_optimizer(optimizer))
    try:
        yield
    except BaseException:  # an interrupt, too, leaves nothing half done
        for undo in undos:
            undo()
        raise


def _generator(generator: torch.Generator) -> Undo:
    state = generator.get_state()

    def undo() -> None:
        generator.set_state(state)

    return undo


def _stream(stream: Stream | Streams) -> Undo:
    rows, order = stream.rows, stream.order  # a stream replaces its tensors, and writes into none

    def undo() -> None:
        stream.rows, stream.order = rows, order

    return undo


def _module(module: nn.Module) -> Undo:
    parameters = list(module.parameters())
    values = [parameter.detach().clone() for parameter in parameters]
    gradients = [parameter.grad for parameter in parameters]
    buffers = buffers_of(module)

    @torch.no_grad()
    def undo() -> None:
        for parameter, value, gradient in zip(parameters, values, gradients, strict=True):
            parameter.copy_(value)
            parameter.grad = gradient
        buffers()

    return undo


def buffers_of(module: nn.Module) -> Undo:
    """Return what puts a module's buffers back to their present tensors and values: a forward pass may write or assign."""
    places = [
        (owner, name, buffer)
        for owner in module.modules()
        for name, buffer in owner._buffers.items()  # pyright: ignore[reportPrivateUsage]  # setattr would refuse some
    ]
    values = {id(buffer): buffer.detach().clone() for _, _, buffer in places if buffer is not None}

    @torch.no_grad()
    def undo() -> None:
        for owner, name, buffer in places:
            if buffer is not None:
                buffer.copy_(values[id(buffer)])
            owner._buffers[name] = buffer  # pyright: ignore[reportPrivateUsage]

    return undo


def _noise(read: Callable[[], Tensor], write: Callable[[Tensor], object]) -> Undo:
    state = read()

    def undo() -> None:
        write(state)

    return undo


def _optimizer(optimizer: torch.optim.Optimizer) -> Undo:
    state = deepcopy(optimizer.state_dict())

    def undo() -> None:
        optimizer.load_state_dict(state)

    return undo
