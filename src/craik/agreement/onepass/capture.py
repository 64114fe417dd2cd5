"""What a forward pass leaves behind for the layer-by-layer path: one `Capture` for each call of a layer that has formulas.

Nothing of the user's is wrapped or patched. Forward hooks note a layer's input and put a hook on its output tensor; `close`
removes them, and a model pickled or copied while they are in place carries inert stand-ins instead.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, Node, get_gradient_edge
from torch.utils.hooks import RemovableHandle

from craik.environments import batch_norms_in_train_mode


class Capture:
    """One call of a layer during a forward pass.

    Attributes:
        name: the layer's name in the model.
        layer: the layer.
        training: whether the layer was in train mode.
        is_root: True where nothing before this call requires a gradient.
        examples: the size of the output's first dimension; 0 for an output without examples.
    """

    def __init__(self, name: str, layer: nn.Module, inputs: Tensor, output: Tensor) -> None:
        self.name = name
        self.layer = layer
        self.training = layer.training
        self._edge: GradientEdge | None = get_gradient_edge(output)
        self.is_root = not inputs.requires_grad
        self.examples = len(output) if output.dim() > 1 else 0
        self._inputs: Tensor | None = inputs.detach()
        self._version = inputs._version
        self.on_delta: Callable[[Capture, Tensor], None] | None = None
        output.register_hook(self._receive)

    @property
    def edge(self) -> GradientEdge:
        """The place in the autograd graph where the layer's output is made."""
        if self._edge is None:
            raise RuntimeError(f"Layer {self.name!r} was differentiated already. Run the forward pass again first.")
        return self._edge

    @property
    def node(self) -> Node:
        """The autograd node that made the output."""
        return self.edge.node

    def release(self) -> None:
        """Let go of everything: the graph holds this object, so what it held would otherwise wait for the cycle collector."""
        self._edge, self._inputs, self.on_delta = None, None, None

    def take_inputs(self, *, keep: bool) -> Tensor:
        """Return the layer's input, and let go of it unless another pass will want it.

        Raises:
            RuntimeError: the input was changed in place after the layer had read it; plain backpropagation refuses it too.
        """
        inputs = self._inputs
        if not keep:
            self._inputs = None
        if inputs is None:
            raise RuntimeError(f"Layer {self.name!r} was differentiated twice. Run the forward pass again first.")
        if inputs._version != self._version:
            raise RuntimeError(
                f"The input of layer {self.name!r} should stay as the layer saw it until the backward pass. "
                "Found it changed by an in-place operation. Use the out-of-place form, for example x = x + 1."
            )
        return inputs

    def _receive(self, delta: Tensor) -> None:
        if self.on_delta is not None:
            self.on_delta(self, delta)


def forget(captures: list[Capture]) -> None:
    """Release and drop all captures."""
    for capture in captures:
        capture.release()
    captures.clear()


class LayerHook:
    """The forward hook of one layer; pickled or copied with its layer it becomes an inert callable of the standard library."""

    def __init__(self, name: str, recorder: "Recorder") -> None:
        self.name = name
        self.recorder = recorder

    def __call__(self, layer: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: object) -> None:
        """Note the call if its output needs a gradient."""
        inputs = args[0] if args else next(iter(kwargs.values()), None)
        if self.recorder.paused or not isinstance(output, Tensor) or not isinstance(inputs, Tensor):
            return
        if output.requires_grad:
            self.recorder.captures.append(Capture(self.name, layer, inputs, output))

    def __reduce__(self) -> tuple[Any, ...]:
        # sys.audit takes any arguments, does nothing and returns None: a model saved with hooks in place loads anywhere,
        # without craik, and behaves as if they had been removed.
        return functools.partial, (sys.audit, "craik.agreement.detached")


class ForwardHook:
    """Forward pre-hook of the whole model: a new forward pass forgets what an earlier one left."""

    def __init__(self, recorder: "Recorder") -> None:
        self.recorder = recorder

    def __call__(self, *_: object) -> None:
        """Drop earlier captures; losses of two forward passes then take the exact slow path."""
        if not self.recorder.paused:
            self.recorder.begin()

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial, (sys.audit, "craik.agreement.detached")


class Recorder:
    """Keeps the captures of the latest forward pass of a model, and the modes its modules were in.

    Args:
        model: any module.
        has_formulas: tells whether a layer can be treated layer by layer.

    Attributes:
        captures: the calls of layers with formulas, in order.
        modes: of every module, whether it was in train mode.
        batch_norms: the names of the layers whose batch statistics coupled the examples.
        paused: True while nothing is to be noted, for instance during a backward pass.
    """

    def __init__(self, model: nn.Module, has_formulas: Callable[[nn.Module], bool]) -> None:
        self._model = model
        self.captures: list[Capture] = []
        self.paused = False
        self.begin()
        self._handles: list[RemovableHandle] = [model.register_forward_pre_hook(ForwardHook(self))]
        for name, layer in model.named_modules():
            if has_formulas(layer):
                # prepend: the layer's own output, before any hook of the user's replaces it.
                hook = layer.register_forward_hook(LayerHook(name, self), prepend=True, with_kwargs=True)
                self._handles.append(hook)

    def begin(self) -> None:
        """Start a forward pass."""
        forget(self.captures)
        self.modes = tuple(module.training for module in self._model.modules())
        self.batch_norms = batch_norms_in_train_mode(self._model)

    def close(self) -> None:
        """Remove every hook and forget every capture."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        forget(self.captures)


def check_model(model: nn.Module) -> None:
    """Refuse a model that has nothing to train, or whose calls cannot be observed."""
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise ValueError(
            "`model` should have at least one parameter that requires a gradient. Found none. "
            "Unfreeze what is to be trained, for example with model.requires_grad_()."
        )
    for name, module in model.named_modules():
        # What torch.compile(model) and model.compile() leave behind: both run a graph that calls no hooks.
        if hasattr(module, "_orig_mod") or getattr(module, "_compiled_call_impl", None) is not None:
            where = f"Found the submodule {name!r} compiled." if name else "Found it compiled."
            raise ValueError(
                f"`model` should not be compiled by torch.compile, which fuses the layers whose inputs are needed. {where} "
                "Pass the model as it was before; functions that hold no parameters, such as the loss, may be compiled."
            )
