"""What the temporal optimisers are given: parameters, and states to go on from, those of torch's Adam among them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mechlearn.agreement.temporal.form import check_group, wide

OF_ADAM = ("step", "exp_avg", "exp_avg_sq")


def check_parameters(params: object, *, groups: bool) -> list[Any]:
    """Return parameters as a list, or refuse what is none.

    Args:
        params: what was passed.
        groups: whether dictionaries and pairs of a name and a tensor are parameters, too.
    """
    way_out = "Pass model.parameters()."
    if isinstance(params, Tensor | nn.Module | str | Mapping) or not isinstance(params, Iterable):
        raise TypeError(f"`params` should be a sequence of parameters. Found {type(params).__name__}. {way_out}")
    found = list(params)
    if not found:
        raise ValueError("`params` should hold at least one parameter. Found none. Was the generator used up before?")
    for one in found:
        named = isinstance(one, tuple) and len(one) == 2 and isinstance(one[1], Tensor)
        if not (isinstance(one, Tensor) or (groups and (isinstance(one, dict) or named))):
            raise TypeError(f"`params` should hold tensors. Found one of type {type(one).__name__}. {way_out}")
    return found


def kind_of(gradient: Tensor) -> str:
    """Return the word for a gradient that has no dense and real components."""
    return "sparse" if gradient.layout != torch.strided else "complex" if gradient.is_complex() else str(gradient.dtype)


def check_keys(state: object, keys: Sequence[str]) -> None:
    """Reject anything but a saved state."""
    if not isinstance(state, Mapping):
        raise TypeError(f"The state should be a dictionary, as state_dict() returns it. Found {type(state).__name__}.")
    lacking = [key for key in keys if key not in state]
    if lacking:
        raise ValueError(
            f"The state should hold {', '.join(keys)}. Found none for {lacking[0]}. Pass what state_dict() returned."
        )


def completed(state: Any, groups: Sequence[dict[str, Any]], names: Iterable[str]) -> tuple[dict[str, Any], bool]:  # noqa: ANN401  # a public door
    """Check an optimiser's saved state, and start averages of signs where it has none, as Adam's does not.

    Args:
        state: what was saved.
        groups: of the optimiser that is to go on; what a saved group lacks is that of the group instead.
        names: of a group's settings.

    Returns:
        The state with everything in it, and whether averages of signs were missing. The argument does not change.
    """
    check_keys(state, ("state", "param_groups"))
    shapes = _shapes(state["param_groups"], groups)
    own = [{name: group[name] for name in names} for group in groups]
    saved = [
        {**mine, **group, "betas": (*group["betas"], mine["betas"][2])} if _of_adam(group) else {**mine, **group}
        for group, mine in zip(state["param_groups"], own, strict=True)
    ]
    turned = {key for group in state["param_groups"] if _of_adam(group) and group.get("maximize") for key in group["params"]}
    for group in saved:
        check_group(group)
    entries: dict[Any, Any] = {}
    lacking = False
    for key, entry in state["state"].items():
        entries[key] = entry
        if not entry:
            continue
        _check_entry(entry, shapes.get(key))
        # On the CPU, as ours is: a fused or capturable Adam of torch's counts on the GPU.
        entries[key] = {**entry, "step": torch.as_tensor(entry["step"], dtype=torch.float32, device="cpu")}
        if key in turned:  # torch's Adam averages the gradients of what it minimises, ours those that it is given
            entries[key]["exp_avg"] = -entry["exp_avg"]
        if "sign_avg" not in entry:
            entries[key]["sign_avg"] = torch.zeros_like(entry["exp_avg"], dtype=wide(entry["exp_avg"].dtype))
            lacking = True
    if lacking and any(group["bias_correction"] == "all" for group in saved):
        raise ValueError(
            "With bias_correction='all' the averages of signs should be as old as the others, since they share a count of "
            "steps. "
            "Found a state without any, as torch's Adam saves it. Choose 'moments' or 'none', or begin without the state."
        )
    return {**state, "state": entries, "param_groups": saved}, lacking


def _of_adam(group: Mapping[str, Any]) -> bool:
    return "threshold" not in group and isinstance(group.get("betas"), tuple | list) and len(group["betas"]) == 2


def _shapes(saved: Sequence[Mapping[str, Any]], groups: Sequence[Mapping[str, Any]]) -> dict[Any, torch.Size]:
    """Return the shapes of this optimiser's parameters by the keys of a state, which counts them in order."""
    counts = [[len(group["params"]) for group in some] for some in (saved, groups)]
    if counts[0] != counts[1]:
        raise ValueError(
            f"The state should be of the same parameters in the same groups. Found {counts[0]} in its groups, where there are "
            f"{counts[1]}. Make the optimiser for the parameters that the state was saved for."
        )
    keys = [key for group in saved for key in group["params"]]
    parameters = [parameter for group in groups for parameter in group["params"]]
    return {key: parameter.shape for key, parameter in zip(keys, parameters, strict=True)}


def _check_entry(entry: Mapping[str, Any], shape: torch.Size | None) -> None:
    lacking = [name for name in OF_ADAM if name not in entry]
    if lacking:
        raise ValueError(
            f"The state should be this optimiser's, or torch's Adam's or AdamW's, and hold {', '.join(OF_ADAM)}. Found one "
            "with "
            f"{', '.join(entry)}. Begin without it."
        )
    if shape is not None and entry["exp_avg"].shape != shape:
        raise ValueError(
            f"The state should be of the same parameters in the same order. Found averages of shape "
            f"{tuple(entry['exp_avg'].shape)} for a parameter of shape {tuple(shape)}. Make the optimiser for the parameters "
            "that "
            "the state was saved for."
        )
