"""Trained dynamics on disk: weights in safetensors, and a card in JSON that says how they were made."""

import importlib.metadata
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mechlearn import losses
from mechlearn.arguments import check_kind, check_path
from mechlearn.losses import ElementwiseLoss, Loss
from mechlearn.nn.saving import safetensors, sha256, write_at_once
from mechlearn.skips.dynamics import Dynamics
from mechlearn.skips.sampling import Sampled

_WEIGHTS, _CARD = "model.safetensors", "card.json"
"""The weights' name in older folders, whose card names none, and the card's; weights have their digest in their name now."""

_NAMED = re.compile(r"model(-[0-9a-f]{16})?\.safetensors")
"""Names of weights that `save` gives, or gave."""


class Loaded(NamedTuple):
    """A trained dynamics and the card that was saved with it."""

    dynamics: Dynamics
    card: dict[str, Any]


def save(dynamics: Dynamics, folder: str | os.PathLike[str], settings: Mapping[str, object] | None = None) -> None:
    """Write a trained dynamics to a folder: its model's weights, those of `compare` where it is a module, and a card.

    The card holds the loss, which functions there were, mechlearn's version and the settings. A context, targets and cumulants
    belong to a batch and are not saved; nor is a state: `dataclasses.replace` gives them to what is loaded.

    Args:
        dynamics: whose model is a `torch.nn.Module`.
        folder: made if there is none. What `save` wrote there before is replaced; whenever that is interrupted, the folder
            holds the old dynamics or the new.
        settings: what else should be known, such as ``{"matching": Greedy(8), "steps": 1000}``: numbers, words, lists,
            dictionaries, and frozen dataclasses such as matchings and schedules.

    Raises:
        TypeError: no dynamics, a model that is no module or whose state is not of tensors alone, settings that are no
            dictionary or that JSON cannot hold.
        ImportError: safetensors is not installed.
    """
    check_kind("dynamics", dynamics, Dynamics, "a Dynamics", way_out="Write save(dynamics, folder), in this order.")
    check_path("folder", folder)
    if not isinstance(dynamics.model, nn.Module):
        raise TypeError(f"A saved model should be a torch.nn.Module. Found {type(dynamics.model).__name__}. Wrap it in one.")
    check_kind("settings", settings, (Mapping, type(None)), "a dictionary, or None", way_out="Name each of them.")
    weights = _weights(dynamics.model, dynamics.compare)
    stored = safetensors("torch").save(weights)
    digest = sha256(stored)
    name = f"model-{digest[:16]}.safetensors"
    card = {
        "mechlearn": importlib.metadata.version("mechlearn"),
        "weights": name,
        "weights_sha256": digest,
        "loss": _described(dynamics.loss),
        "functions": [name for name in ("compare", "feedback") if getattr(dynamics, name) is not None],
        "settings": dict(settings or {}),
    }
    try:
        text = json.dumps(card, indent=2, default=_plain)
    except (TypeError, ValueError) as error:
        raise TypeError(f"`settings` should be numbers, words, lists, dictionaries and dataclasses. {error}.") from error
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    # The card says which weights are its own: until it is replaced, those before are.
    write_at_once(target / name, stored)
    write_at_once(target / _CARD, text.encode())
    for path in target.iterdir():
        if path.name != name and _NAMED.fullmatch(path.name):
            path.unlink(missing_ok=True)


def load(
    folder: str | os.PathLike[str],
    model: nn.Module,
    *,
    loss: Loss | None = None,
    compare: Callable[[Tensor], Tensor] | None = None,
    feedback: Callable[[Tensor], Tensor] | Sampled | None = None,
) -> Loaded:
    """Read a trained dynamics into a model of the same shape.

    Args:
        folder: that `save` wrote.
        model: a fresh one, made as the trained one was; its weights are replaced.
        loss: needed where it was none of `mechlearn.losses`.
        compare: needed where there was one; a module is given its weights.
        feedback: needed where there was one.

    Returns:
        The dynamics, ready to predict, and its card.

    Raises:
        TypeError: no path, or a model that is no module.
        FileNotFoundError: no weights or no card in the folder.
        ValueError: a card that `save` has not written, weights that are not the card's, a model of other shapes or of types
            that would round them, or something needed that is not given.
        ImportError: safetensors is not installed.
    """
    check_path("folder", folder)
    check_kind("model", model, nn.Module, "a torch.nn.Module", way_out="Write load(folder, model), in this order.")
    source = Path(folder)
    card = _read_card(source)
    stored = (source / card.get("weights", _WEIGHTS)).read_bytes()
    if sha256(stored) != card["weights_sha256"]:
        raise ValueError(f"The weights should be those that the card was written with. Found others in {source}. Save again.")
    given = {"compare": compare, "feedback": feedback}
    missing = [name for name in card["functions"] if given[name] is None]
    if missing:
        raise ValueError(
            f"`{missing[0]}` should be given: the saved dynamics had one, and functions are not saved. Found None."
        )
    weights = safetensors("torch").load(stored)
    fresh = _weights(model, compare)
    _check_shapes(weights, fresh)
    _check_types(weights, fresh)
    for prefix, module in (("model.", model), ("compare.", compare)):
        if isinstance(module, nn.Module):
            own = {name.removeprefix(prefix): each for name, each in weights.items() if name.startswith(prefix)}
            module.load_state_dict(own)
    return Loaded(Dynamics(model, loss or _rebuilt(card["loss"]), compare=compare, feedback=feedback), card)


def _read_card(source: Path) -> dict[str, Any]:
    _check_there(source, _CARD)
    try:
        card = json.loads((source / _CARD).read_bytes())
    except ValueError as error:  # no JSON, or no text
        raise ValueError(f"{source / _CARD} should be a card that `save` wrote. Found no JSON: {error}. Save again.") from None
    lacking = [key for key in ("weights_sha256", "loss", "functions") if not isinstance(card, dict) or key not in card]
    if lacking:
        raise ValueError(f"{source / _CARD} should be a card that `save` wrote. Found no {lacking[0]!r}. Save again.")
    name = card.get("weights", _WEIGHTS)
    if not (isinstance(name, str) and _NAMED.fullmatch(name)):
        raise ValueError(f"{source / _CARD} should be a card that `save` wrote. Found weights {name!r}. Save again.")
    _check_there(source, name)
    return card


def _check_there(source: Path, name: str) -> None:
    if not (source / name).is_file():
        raise FileNotFoundError(f"A saved dynamics should be in {source}. Found no {name}. Give the folder that `save` wrote.")


def _weights(model: nn.Module, compare: object) -> dict[str, Tensor]:
    modules = {"model": model} | ({"compare": compare} if isinstance(compare, nn.Module) else {})
    found = {f"{prefix}.{name}": each for prefix, module in modules.items() for name, each in module.state_dict().items()}
    for name, each in found.items():
        if not isinstance(each, Tensor):  # a module's extra state
            raise TypeError(
                f"A saved model's state should be tensors. Found {type(each).__name__} under {name!r}. Make a buffer of it, or "
                "leave it out of the state dictionary."
            )
    return {name: each.detach().cpu().contiguous().clone() for name, each in found.items()}


def _check_shapes(saved: Mapping[str, Tensor], fresh: Mapping[str, Tensor]) -> None:
    there, here = ({name: tuple(each.shape) for name, each in some.items()} for some in (saved, fresh))
    wrong = sorted(name for name in there.keys() | here.keys() if there.get(name) != here.get(name))
    if wrong:
        raise ValueError(
            f"`model` should have the weights that were saved. Found {here.get(wrong[0])} where {there.get(wrong[0])} was "
            f"saved, {wrong[0]!r}{f' and {len(wrong) - 1} more' if len(wrong) > 1 else ''}. Make it with the card's settings."
        )


def _check_types(saved: Mapping[str, Tensor], fresh: Mapping[str, Tensor]) -> None:
    """Reject types that do not hold the saved numbers as they are; wider ones do."""
    for name, each in saved.items():
        if torch.promote_types(each.dtype, fresh[name].dtype) != fresh[name].dtype:
            raise ValueError(
                f"`model` should have weights of the types that were saved, or wider ones. Found {fresh[name].dtype} where "
                f"{each.dtype} was saved, {name!r}. Convert the fresh model before, with model.to({each.dtype})."
            )


def _described(loss: Loss) -> dict[str, Any] | None:
    """Return what a loss of `mechlearn.losses` is made again from; None for another."""
    if type(loss).__module__ != losses.__name__ or not isinstance(loss, ElementwiseLoss):
        return None
    fields = {name: value for name, value in vars(loss).items() if not isinstance(value, Tensor)}
    weight = None if loss.weight is None else loss.weight.tolist()
    dtype = {} if loss.weight is None else {"weight_dtype": str(loss.weight.dtype).removeprefix("torch.")}
    return {"name": type(loss).__name__, **fields, "weight": weight, **dtype}


def _rebuilt(described: Mapping[str, Any] | None) -> Loss:
    if described is None:
        raise ValueError(
            "`loss` should be given: the saved one is none of mechlearn.losses, and functions are not saved. Found None."
        )
    fields = dict(described)
    weight, dtype = fields.pop("weight"), fields.pop("weight_dtype", None)  # older cards have no type
    kind = getattr(losses, fields.pop("name"))
    return kind(**fields, weight=None if weight is None else torch.tensor(weight, dtype=dtype and getattr(torch, dtype)))


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {"name": type(value).__name__, **asdict(value)}
    if isinstance(value, Tensor):
        return value.tolist()
    raise TypeError(f"Found {type(value).__name__}")
