"""Cautious weight decay: decay only the weights that the optimizer's own update makes smaller."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.optim import Optimizer

from mechlearn.arguments import check_kind, check_not_negative


def cautious_decay(optimizer: Optimizer, weight_decay: int | float) -> Callable[[], None]:
    """Let each step of an optimizer end with decay of the weights whose sign is that of their update.

    The optimizer takes weights x to x - lr u. With this they go to x - lr (u + weight_decay 1[u x >= 0] x), component by
    component. Call it once, after you make the optimizer. It works with any optimizer of torch's, learning rate schedule and
    GradScaler, and holds a copy of the trained weights during a step.

    The update is read from what the step changed. In bfloat16 an update that rounds to nothing is 0, and its weight decays.
    Parameters without a gradient do not decay. `decay_masked` decays what environments disagree on instead.

    Source: Chen et al. 2025, algorithm 1 (https://arxiv.org/abs/2510.12402).

    Args:
        optimizer: with weight decay 0.
        weight_decay: the paper's lambda, at least 0. They take AdamW's value.

    Returns:
        A function that ends it.

    Raises:
        TypeError: if there is no optimizer, or the decay is not a number.
        ValueError: if the decay is negative, or the optimizer decays weights itself.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import cautious_decay
        >>> weights = torch.nn.Parameter(torch.tensor([1.0, -1.0]))
        >>> optimizer = torch.optim.SGD([weights], lr=0.1)
        >>> _ = cautious_decay(optimizer, 0.5)
        >>> weights.grad = torch.ones(2)  # makes the first weight smaller, and the second larger
        >>> optimizer.step()
        >>> weights
        Parameter containing:
        tensor([ 0.8500, -1.1000], requires_grad=True)
    """
    check_kind("optimizer", optimizer, Optimizer, "an optimizer of torch's", way_out="Pass torch.optim.Adam(...).")
    check_not_negative("weight_decay", weight_decay, way_out="0.1 is usual for language models.")
    own = [group["weight_decay"] for group in optimizer.param_groups if group.get("weight_decay")]
    if own:
        raise ValueError(
            f"`optimizer` should have weight decay 0. Found {own[0]}. Make it with weight_decay=0, and pass the value here."
        )
    before: list[tuple[Tensor, Tensor, float]] = []

    def remember(optimizer: Optimizer, args: object, kwargs: object) -> None:
        del args, kwargs
        before[:] = [
            (parameter, parameter.detach().clone(), group["lr"])
            for group in optimizer.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]

    @torch.no_grad()
    def decay(optimizer: Optimizer, args: object, kwargs: object) -> None:
        del optimizer, args, kwargs
        for parameter, old, lr in before:
            update = old - parameter
            parameter.sub_(old.where(update.sign() * old.sign() >= 0, 0) * (lr * weight_decay))
        before.clear()

    handles = optimizer.register_step_pre_hook(remember), optimizer.register_step_post_hook(decay)

    def end() -> None:
        for handle in handles:
            handle.remove()

    return end
