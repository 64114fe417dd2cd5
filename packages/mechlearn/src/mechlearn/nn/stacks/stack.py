"""The members as one module, and a perceptron's batched products, which need no vmap."""

import copy
from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import stack_module_state, vmap
from torch.nn.modules import module as torch_module
from torch.nn.modules.dropout import _DropoutNd  # pyright: ignore[reportPrivateUsage]  # the base class of all dropouts
from torch.nn.utils.parametrize import type_before_parametrizations

from mechlearn.functional import borrowed, call
from mechlearn.nn.stacks.members import check_members, ties
from mechlearn.params import Params


class Stack(nn.Module):
    """M networks of one architecture, evaluated together.

    Its parameters are the members' with a leading axis and dots of their names written as "-"; they are this module's own.
    `torch.optim` and `mechlearn.agreement.Agreement` take them as they take any other's: sum the members' losses, and each
    gradient is what the member alone would have. It starts in its members' mode; `train` and `eval` change that of all.

    Args:
        members: at least one; the same classes, settings, modes, shapes, dtype and device. They are left as they are.

    Raises:
        TypeError: something that is no module.
        ValueError: no member, members that differ in more than values of parameters, or buffers (BatchNorm's): a stack has
            parameters only. All else that a member holds is compared: numbers, strings, tensors and arrays by value; functions
            with what they close over, methods with whose they are, hooks, and other objects by their attributes. What cannot
            be compared should be one object. Generators are left out, for no member may draw. Or names of parameters that
            would be one with "-" for dots, or that the stack has an attribute of, such as "member".
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        check_members(members)
        # Only its classes and settings are read; in a tuple it is no submodule, so its parameters are not the stack's.
        self._ties = ties(members[0])
        self._architecture = (_tied(copy.deepcopy(members[0]).to("meta"), self._ties),)
        self.training = members[0].training
        trained, _ = stack_module_state(list(members))
        self._names = {name: name.replace(".", "-") for name in trained}
        self._check_names()
        for name, values in trained.items():
            wanted = members[0].get_parameter(name).requires_grad
            self.register_parameter(self._names[name], nn.Parameter(values.detach().clone(), requires_grad=wanted))

    def __len__(self) -> int:
        """Return M."""
        return len(next(self.parameters()))

    def train(self, mode: bool = True) -> "Stack":
        """Put all members in train mode, or in eval mode; return the stack."""
        super().train(mode)
        self._architecture[0].train(mode)
        return self

    def forward(self, x: Float[Tensor, "m *input"]) -> Float[Tensor, "m *output"]:
        """Return each member's output on its own rows.

        Args:
            x: (M, n, *features), rows for each member; ``rows.expand(len(stack), *rows.shape)`` gives all the same.
        """
        if x.dim() == 0 or len(x) != len(self):
            raise ValueError(
                f"`x` should have one batch for each of the {len(self)} members, shape ({len(self)}, n, ...). Found "
                f"{tuple(x.shape)}. Where all see the same rows, pass rows.expand({len(self)}, *rows.shape)."
            )
        (architecture,) = self._architecture
        if (layers := dense_layers(architecture)) is not None:
            return through(layers, self.stacked(), x)

        def alone(params: Params, rows: Tensor) -> Tensor:
            return call(architecture, params, (rows,))

        try:
            with borrowed(architecture):  # what it noted of itself would be of a vmap that is over
                return vmap(alone)(self.stacked(), x)
        except RuntimeError as error:
            if "Batching rule not implemented" in str(error):
                raise ValueError(
                    "A stack's members should consist of operations that torch can vectorise. Found one that it cannot, as of "
                    "torch's recurrent cells. Train the members one by one."
                ) from error
            if "randomness" not in str(error):
                raise
            raise _drawn(architecture) from error

    def stacked(self) -> Params:
        """Return the parameters under the members' own names, (M, *shape) each."""
        return {name: cast(Tensor, getattr(self, own)) for name, own in self._names.items()}

    def member(self, index: int) -> nn.Module:
        """Return a copy of one member, an ordinary module."""
        (architecture,) = self._architecture
        alone = _tied(copy.deepcopy(architecture).to_empty(device=next(self.parameters()).device), self._ties)
        with torch.no_grad():
            for name, values in self.stacked().items():
                parameter = alone.get_parameter(name)
                parameter.data = values[index].detach().clone()
        return alone

    def _check_names(self) -> None:
        """Reject names of parameters that the stack could not keep apart from others of its own."""
        first: dict[str, str] = {}
        for name, own in self._names.items():
            taken = (
                "an attribute of the stack" if hasattr(self, own) else f"what {first[own]!r} is, too" if own in first else ""
            )
            if taken:
                raise ValueError(
                    f"A member's parameters should have names that are the stack's own with '-' for dots. Found {name!r}, as "
                    f"{own!r} {taken}. Rename the layer or the parameter."
                )
            first[own] = name


def dense_layers(network: nn.Module) -> nn.Sequential | None:
    """Return the network where it is a perceptron, whose stack needs no vmap; None for anything else.

    Batched products do it, weight norm included, for which vmap would fall back to a loop. Layers with hooks are something
    else: nothing would call these. So are layers that share a tensor.
    """
    plain = type(network) is nn.Sequential and "forward" not in vars(network) and not _hooked(network)
    plain = plain and all(_dense_layer(layer) for layer in cast(nn.Sequential, network))
    alone = sum(len(list(layer.parameters())) for layer in network.children()) == len(list(network.parameters()))
    return cast(nn.Sequential, network) if plain and alone else None


def through(layers: nn.Sequential, params: Params, x: Float[Tensor, "m *n j"]) -> Float[Tensor, "m *n k"]:
    """Return what each member of a stack of perceptrons makes of its rows.

    Args:
        layers: of `dense_layers`; their classes are read, not their parameters. A layer may stand at several places.
        params: every parameter once a member, (M, *shape); a layer's under the name of its first place.
        x: rows for each member.
    """
    shape, x = x.shape, x.reshape(len(x), -1, x.shape[-1])
    first: dict[nn.Module, str] = {}
    for place, layer in layers._modules.items():  # pyright: ignore[reportPrivateUsage]  # children come once
        if not isinstance(layer, nn.Linear):
            x = layer(x)
            continue
        name = first.setdefault(layer, place)
        weight, bias = _weight(params, name).mT, params.get(f"{name}.bias")
        x = x @ weight if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight)
    return x.reshape(*shape[:-1], x.shape[-1])


_ELEMENTWISE = {nn.ReLU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.Softplus, nn.Identity}
"""Layers that work element by element, and so on a batch of members as on one."""


def _dense_layer(layer: nn.Module) -> bool:
    if "forward" in vars(layer):  # of the instance: whatever its class does, this does not
        return False
    kind = type_before_parametrizations(layer)
    return type(layer) in _ELEMENTWISE or type(layer) is nn.Linear or (kind is nn.Linear and _normalised(layer))


def _hooked(network: nn.Module) -> bool:
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    everywhere = any(getattr(torch_module, f"_global{name}") for name in hooks)
    return everywhere or any(getattr(module, name) for module in network.modules() for name in hooks)


def _normalised(layer: nn.Module) -> bool:
    # torch's weight norm as relu_mlp makes it: of the weight alone, a length and a direction for each unit.
    parametrised = cast(nn.ModuleDict, layer.parametrizations) if hasattr(layer, "parametrizations") else nn.ModuleDict()
    kinds = [kind for name in parametrised for kind in cast(nn.ModuleList, parametrised[name])]
    first = kinds[0] if len(kinds) == 1 and "weight" in parametrised else None
    return type(first).__name__ == "_WeightNorm" and getattr(first, "dim", None) == 0


def _weight(params: Params, layer: str) -> Tensor:
    length, direction = (params.get(f"{layer}.parametrizations.weight.original{part}") for part in (0, 1))
    if length is None or direction is None:
        return params[f"{layer}.weight"]
    return direction * (length / direction.norm(dim=-1, keepdim=True))


def _drawn(architecture: nn.Module) -> ValueError:
    found = (
        f"{type(module).__name__} at {name!r} in train mode"
        for name, module in architecture.named_modules()
        if isinstance(module, _DropoutNd) and module.training
    )
    return ValueError(
        "A stack's members should draw no random numbers: each would need draws of its own. Found "
        f"{next(found, 'an operation that draws')}. Call eval() on the stack, leave it out, or train one by one."
    )


def _tied(module: nn.Module, names: Sequence[tuple[str, str]]) -> nn.Module:
    """Share parameters again that a move to another device has parted; return the module."""
    for name, first in names:
        owner, _, own = name.rpartition(".")
        module.get_submodule(owner).register_parameter(own, module.get_parameter(first))
    return module
