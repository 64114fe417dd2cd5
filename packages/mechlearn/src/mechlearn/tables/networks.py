"""A network of the user's own: made, tried on a few rows, and asked; `mechlearn.tables.fitting.Architecture` trains it."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.tables.fitting import Architecture
from mechlearn.tables.reading_in import Numbers

Factory = Callable[[int, int], nn.Module]
"""From the numbers of inputs and outputs to a module that maps (n, inputs) to (n, outputs): logits, or standardised numbers."""

WAY_OUT = "Give a class or a function, as lambda inputs, outputs: MyNetwork(inputs, outputs, units=64)."


def architecture_of(factory: Any, x: Float[Tensor, "n j"], outputs: int) -> Architecture:  # noqa: ANN401  # whatever a constructor was given
    """Make a network of K outputs from a `Factory`, and try it on a few rows where it is to be trained."""
    if isinstance(factory, nn.Module) or not callable(factory):
        raise TypeError(
            f"`network` should make a module from the numbers of inputs and outputs. Found {type(factory).__name__}. {WAY_OUT}"
        )
    module: Any = factory(x.shape[1], outputs)
    if not isinstance(module, nn.Module):
        raise TypeError(f"`network` should make a torch module. Found {type(module).__name__}. {WAY_OUT}")
    module = module.to(x.device)
    rows = x[:4].to(dtype_of(module))
    with torch.no_grad():
        _check_rows(module, rows, outputs)
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise ValueError("`network` should have parameters to train. Found none. Leave requires_grad as torch sets it.")
    return Architecture(module)


def dtype_of(module: nn.Module) -> torch.dtype:
    """Return the dtype that a module computes in: that of its first parameter."""
    return next((parameter.dtype for parameter in module.parameters()), torch.get_default_dtype())


def _check_rows(module: nn.Module, rows: Tensor, outputs: int) -> None:
    module.train()
    module(rows)  # what is made when it is first used is there from now on
    before: Mapping[str, Tensor] = {name: values.clone() for name, values in module.named_buffers()}
    together: Any = module(rows)
    for name, values in module.named_buffers():
        if not torch.equal(values, before[name]):
            raise ValueError(
                f"A row's output should depend on that row alone. Found the buffer {name!r} changed by a batch in training. "
                "Take LayerNorm for BatchNorm."
            )
    if not isinstance(together, Tensor) or together.shape != (len(rows), outputs):
        shape = tuple(together.shape) if isinstance(together, Tensor) else type(together).__name__
        raise ValueError(
            f"`network` should map {len(rows)} rows to shape ({len(rows)}, {outputs}). Found {shape}. "
            "One output a class, or one number; logits, without softmax."
        )
    module.eval()
    close = {"rtol": 1e-3, "atol": 1e-4}
    if not torch.allclose(module(rows)[:2], module(rows[:2]), **close, equal_nan=True):
        raise ValueError(
            "A row's output should depend on that row alone. Found another output without the other rows. "
            "Take LayerNorm for BatchNorm."
        )


@torch.no_grad()
def said_by(networks: Sequence[nn.Module], x: Numbers) -> Numbers:
    """Return (n, K), the mean of what networks say of rows."""
    rows = torch.tensor(x, dtype=dtype_of(networks[0]))
    return torch.stack([network(rows).double() for network in networks]).mean(0).numpy()


@contextmanager
def seeded(generator: torch.Generator, device: str | torch.device) -> Generator[None, None, None]:
    """Let torch's global generators, which modules draw from, begin by another's number, and be as before after."""
    place = torch.device(device)
    with torch.random.fork_rng([place] if place.type == "cuda" else []):
        torch.manual_seed(int(torch.randint(2**31 - 1, (), generator=generator)))
        yield
