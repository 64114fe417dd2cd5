"""What an agreement remembers from step to step, as a dictionary that ``torch.load(weights_only=True)`` takes, and back."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from mechlearn.agreement.engine.masks import Masks
from mechlearn.agreement.engine.variance.gathering import Gathering
from mechlearn.agreement.engine.variance.memory import Memory

_KEYS = ("rule", "step", "masks", "generator", "ids", "memories")


def saved_state(gathering: Gathering, masks: Masks) -> dict[str, Any]:
    """Return a state: numbers, strings, lists and tensors, which are copies."""
    return {
        "rule": repr(masks.rule),
        "step": masks.step,
        "masks": {name: mask.clone() for name, mask in masks.held.items()},
        "generator": gathering.generator.get_state(),
        "ids": None if gathering.ids is None else list(gathering.ids),
        "memories": {name: memory.state() for name, memory in gathering.memories.items()},
    }


def load_state(state: object, gathering: Gathering, masks: Masks, model: nn.Module) -> None:
    """Go on where the agreement was of which a state is; tensors are copied to the parameters' devices.

    Raises:
        TypeError: no state.
        ValueError: a state of another rule or model. Nothing is loaded then.
    """
    found = _checked(state, masks)
    parameters = dict(model.named_parameters())
    shapes = [*found["masks"].items(), *((n, t) for n, one in found["memories"].items() for t in one["gradients"])]
    for name, tensor in shapes:
        if name not in parameters or parameters[name].shape != tensor.shape:
            raise ValueError(
                f"The state should be of the same model. Found {tuple(tensor.shape)} for {name!r}, where the model has "
                f"{tuple(parameters[name].shape) if name in parameters else 'no parameter'}. Make it as it was for the state."
            )
    memories = {name: Memory.of_state(one, parameters[name]) for name, one in found["memories"].items()}
    gathering.generator.set_state(found["generator"].cpu())
    gathering.remember(memories, found["ids"])
    masks.go_on(found["step"], {name: mask.to(parameters[name].device, copy=True) for name, mask in found["masks"].items()})


def _checked(state: object, masks: Masks) -> Mapping[str, Any]:
    if not isinstance(state, Mapping):
        raise TypeError(
            f"The state should be a dictionary. Found {type(state).__name__}. Pass what an agreement's state_dict() returned."
        )
    lacking = [key for key in _KEYS if key not in state]
    if lacking or not isinstance(state["generator"], Tensor):
        raise ValueError(
            f"The state should hold {', '.join(_KEYS)}. Found none for {(lacking or ['generator'])[0]!r}. Pass what an "
            "agreement's state_dict() returned."
        )
    if state["rule"] != repr(masks.rule):
        raise ValueError(
            f"The state should be of the same rule, {masks.rule!r}. Found one of {state['rule']}. Make the agreement with that "
            "rule, or begin without the state."
        )
    return state  # pyright: ignore[reportUnknownVariableType]  # keys and values are looked at one by one
