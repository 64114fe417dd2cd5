"""The differentiable counterparts of torch's optimisers."""

from collections.abc import Sequence

import torch
from torch import nn

from mechlearn import arguments
from mechlearn.distill.optimisers.adam import Adam
from mechlearn.distill.optimisers.inner import Inner
from mechlearn.distill.optimisers.sgd import SGD


def rule_of(inner: object) -> Inner:
    """Return an inner optimiser: the one given, or the counterpart of a torch optimiser."""
    if isinstance(inner, torch.optim.Optimizer):
        return inner_from(inner)
    if isinstance(inner, type) or not isinstance(inner, Inner):
        raise TypeError(
            f"`inner` should be an inner optimiser: an instance of distill.SGD or distill.Adam, a torch optimiser "
            f"that has a counterpart, or an object with the methods of mechlearn.distill.Inner. Found {inner!r}."
        )
    return inner


def unrolled_by(inner: object, student: nn.Module) -> list[str]:
    """Return which of a student's trainable parameters an inner optimiser steps: of torch's those that it holds, else all."""
    trained = {name: parameter for name, parameter in student.named_parameters() if parameter.requires_grad}
    if not isinstance(inner, torch.optim.Optimizer):
        return list(trained)
    held = {id(parameter) for group in inner.param_groups for parameter in group["params"]}
    found = [name for name, parameter in trained.items() if id(parameter) in held]
    if not found:
        raise ValueError(
            f"`inner` should hold parameters of the student, all or those that are to unroll. Found {type(inner).__name__} of "
            "others. Make it from student.parameters(), or pass mechlearn.distill.SGD or Adam, which step all of them."
        )
    return found


def check_unrolls_whole(inner: object, students: Sequence[nn.Module]) -> None:
    """Reject an inner optimiser of torch's that holds a part of one of several students: the same for all is asked for."""
    groups = inner.param_groups if isinstance(inner, torch.optim.Optimizer) else []
    held = {id(parameter) for group in groups for parameter in group["params"]}
    for p, student in enumerate(students):
        trained = {name: id(parameter) in held for name, parameter in student.named_parameters() if parameter.requires_grad}
        if any(trained.values()) and not all(trained.values()):
            missing = next(name for name, found in trained.items() if not found)
            raise ValueError(
                f"`inner` should step all parameters of a population's students. Found {type(inner).__name__} without "
                f"{missing!r} of student {p}. Freeze what is not to unroll, or pass mechlearn.distill.SGD or Adam."
            )


def inner_from(optimizer: torch.optim.Optimizer) -> SGD | Adam:
    """Return the differentiable counterpart of a torch optimiser (SGD, Adam, AdamW) with its settings.

    Raises:
        TypeError: an optimiser that has none.
        ValueError: settings that have none, or several parameter groups that differ.
    """
    arguments.check_kind("optimizer", optimizer, torch.optim.Optimizer, "an optimiser of torch.optim")
    groups = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    if any(group != groups[0] for group in groups):
        raise ValueError(
            f"An inner optimiser should treat all parameters alike. Found {len(groups)} parameter groups with different "
            "settings. Write an inner optimiser of your own, with the methods of mechlearn.distill.Inner."
        )
    settings = groups[0]
    for name in ("maximize", "amsgrad", "dampening"):
        if settings.get(name):
            raise ValueError(
                f"An inner optimiser should be one that mechlearn.distill can differentiate. Found {name}={settings[name]}. "
                f"Turn it "
                "off, or write an inner optimiser of your own, with the methods of mechlearn.distill.Inner."
            )
    if type(optimizer) is torch.optim.SGD:
        lr, momentum, decay = (float(settings[name]) for name in ("lr", "momentum", "weight_decay"))
        return SGD(lr, momentum, decay, nesterov=bool(settings["nesterov"]))
    if type(optimizer) in (torch.optim.Adam, torch.optim.AdamW):
        lr, eps, decay = (float(settings[name]) for name in ("lr", "eps", "weight_decay"))
        betas = (float(settings["betas"][0]), float(settings["betas"][1]))
        decoupled = type(optimizer) is torch.optim.AdamW or bool(settings.get("decoupled_weight_decay"))
        return Adam(lr, betas, eps, decay, decoupled)
    raise TypeError(
        f"An inner optimiser should be one that can be differentiated: SGD, Adam or AdamW of torch.optim. Found "
        f"{type(optimizer).__name__}. Pass mechlearn.distill.SGD or mechlearn.distill.Adam, or an object with the methods of "
        "mechlearn.distill.Inner."
    )


def check_optimizer(name: str, optimizer: torch.optim.Optimizer, module: nn.Module) -> None:
    """Reject an optimiser that does not hold the module's trainable parameters, or that cannot take a step with them."""
    way_out = f"Make one, such as torch.optim.Adam({name.removesuffix('_optimizer') or 'module'}.parameters())."
    arguments.check_kind(name, optimizer, torch.optim.Optimizer, "a torch optimiser", way_out=way_out)
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError(
            f"`{name}` should step along a gradient that it is given. Found LBFGS, which wants a function. {way_out}"
        )
    for group in optimizer.param_groups:
        if "lr" in group:  # it may have been moved since, by a scheduler for example
            arguments.check_not_negative(f"{name}'s learning rate", group["lr"])
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    missing = [key for key, parameter in module.named_parameters() if parameter.requires_grad and id(parameter) not in held]
    if missing:
        raise ValueError(
            f"`{name}` should hold all trainable parameters of its module. Found {len(missing)} that it does not, such as "
            f"{missing[0]!r}. Make it from the module's parameters, or freeze them."
        )
