"""A network of the user's own in the loop of `mechlearn.tables.fitting`, in the place of its perceptron.

Nothing is known of it but that it maps rows to outputs, row by row, so that a step takes a forward pass for each member and a
backward pass for each of its sites. Index conventions as there: m a member of M, i a row of n, e a site of E, k an output of K.
"""

import copy
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.functional import call
from mechlearn.params import Params
from mechlearn.tables.fitting import Sites, row_losses
from mechlearn.tables.reading_in import Numbers

Factory = Callable[[int, int], nn.Module]
"""From the numbers of inputs and outputs to a module that maps (n, inputs) to (n, outputs): logits, or standardised numbers."""

WAY_OUT = "Give a class or a function, as lambda inputs, outputs: MyNetwork(inputs, outputs, units=64)."


@dataclass(frozen=True, eq=False)
class Architecture:
    """A module that all members are copies of.

    Args:
        module: as the factory made it: where every member starts, and what of it is not trained.
    """

    module: nn.Module

    def started(self, members: int) -> Params:
        """Return every trained parameter once a member, (M, *shape)."""
        trained = {name: one.detach() for name, one in self.module.named_parameters() if one.requires_grad}
        return {name: nn.Parameter(one.expand(members, *one.shape).clone()) for name, one in trained.items()}

    @torch.no_grad()
    def outputs(self, params: Params, x: Float[Tensor, "n j"]) -> Float[Tensor, "m n k"]:
        """Return what each member makes of the rows, in evaluation mode."""
        self.module.eval()
        return torch.stack([call(self.module, member, (x,)) for member in _members(params)])

    def site_gradients(self, params: Params, sites: Sites) -> Params:
        """Return the gradient of each site's mean loss, (E, M, *shape) for each parameter, in training mode."""
        self.module.train()
        found = [self._by_site(member, sites) for member in _members(params)]
        return {name: torch.stack([torch.stack([site[name] for site in one]) for one in found], 1) for name in params}

    def _by_site(self, member: Params, sites: Sites) -> list[Params]:
        leaves = {name: values.detach().requires_grad_() for name, values in member.items()}
        losses = row_losses(call(self.module, leaves, (sites.x,)), sites.y, sites.task) * sites.shares()
        wanted, found = list(leaves.values()), list[Params]()
        for rows in sites.slices():
            gradients = torch.autograd.grad(losses[rows].sum(), wanted, retain_graph=True, materialize_grads=True)
            found.append(dict(zip(leaves, gradients, strict=True)))
        return found

    def trained(self, params: Params) -> list[nn.Module]:
        """Return the members as modules on the CPU, in evaluation mode."""
        found = [copy.deepcopy(self.module) for _ in _members(params)]
        with torch.no_grad():
            for module, member in zip(found, _members(params), strict=True):
                for name, values in member.items():
                    module.get_parameter(name).copy_(values)
        return [module.cpu().eval() for module in found]


def _members(params: Params) -> list[Params]:
    return [{name: values[m] for name, values in params.items()} for m in range(len(next(iter(params.values()))))]


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
