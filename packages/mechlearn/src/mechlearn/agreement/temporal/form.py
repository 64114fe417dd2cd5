"""How a step of the temporal AND-mask's Adam is formed from its averages, and what its settings may be."""

from dataclasses import dataclass
from typing import Any

import torch

from mechlearn.agreement.rules.base import check_threshold
from mechlearn.agreement.temporal.steps import Scalars
from mechlearn.arguments import Choice, check_decay, check_flag, check_not_negative, check_one_of


@dataclass(frozen=True)
class AdamForm(Choice):
    """How line 5 of algorithm 1 makes a step of the averages; the defaults are as the paper prints it.

    With threshold 0, ``AdamForm(bias_correction="moments", eps_inside_root=False)`` makes the step Adam's.

    Args:
        eps: added to v inside the root, as printed.
        eps_inside_root: False adds eps to the root of v instead, as Adam does.
        bias_correction: "none", as printed, leaves the averages as they are, which start from 0: early steps are larger than
            Adam's where beta2 > beta1, and a component moves at the earliest when 1 - beta3**t reaches the threshold.
            "moments" divides m and v as Adam does; "all" divides a as well, so that the first step masks nothing.
        maximize: ascend instead of descend.

    Raises:
        TypeError: an eps that is no number, or a switch that is neither True nor False.
        ValueError: an eps below 0, or another word.
    """

    eps: float = 1e-8
    eps_inside_root: bool = True
    bias_correction: str = "none"
    maximize: bool = False

    def __post_init__(self) -> None:
        check_not_negative("eps", self.eps)
        check_one_of("bias_correction", self.bias_correction, ("none", "moments", "all"))
        check_flag("eps_inside_root", self.eps_inside_root)
        check_flag("maximize", self.maximize)


PRINTED = AdamForm()
"""As the paper prints it."""


def check_group(settings: dict[str, Any]) -> None:
    """Reject settings of a parameter group that are out of their range."""
    for name in ("lr", "weight_decay"):
        check_not_negative(name, settings[name])
    betas = settings["betas"]
    if not isinstance(betas, tuple | list):
        raise TypeError(
            f"`betas` should be three numbers in [0, 1): for gradient, squared gradient and sign. Found {betas!r} of type "
            f"{type(betas).__name__}. Pass a tuple such as (0.9, 0.999, 0.9)."
        )
    if len(betas) != 3:
        raise ValueError(
            f"`betas` should be three numbers in [0, 1): for gradient, squared gradient and sign. Found {tuple(betas)}. "
            "Adam's two and a third such as 0.9 are a start."
        )
    for k, beta in enumerate(betas):
        check_decay(f"betas[{k}]", beta)
    check_threshold(settings["threshold"])
    check_reachable(settings["threshold"], betas[2], settings["bias_correction"] == "all")
    check_flag("refuse_nonfinite", settings["refuse_nonfinite"])
    AdamForm(**{name: settings[name] for name in AdamForm.__dataclass_fields__})
    check_one_of("implementation", settings["implementation"], ("foreach", "loop", "compiled"))


def check_reachable(threshold: float, beta: float, corrected: bool) -> None:
    """Reject a threshold that an average of signs approaches and never reaches, but by rounding."""
    if threshold == 1 and beta > 0 and not corrected:
        raise ValueError(
            "`threshold` should be below 1 for an average of signs that is not corrected: it starts from 0, never reaches 1, "
            "and "
            "nothing would ever move. Found 1. Correct the average (bias_correction='all' in AdamForm, True in "
            "TemporalMask), or "
            "ask for 0.99."
        )


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return what averages are held in, and steps computed in, beside numbers of a type: float32 at least.

    In bfloat16 an average near 1 stays where it is when 1 - 0.99 of what it lacks is added: it would never reach 0.99. In
    float16 an eps of 1e-8 is 0, so is the square of 1e-4, and that of 300 is infinite.
    """
    return torch.promote_types(dtype, torch.float32)


def slack(threshold: float, beta: float, dtype: torch.dtype) -> float:
    """Return the share by which a corrected threshold is lowered, so that a component whose signs never changed passes it.

    Rounding adds up over the 1 / (1 - beta) steps that an average remembers. At a threshold of 1 nothing else would pass, so
    that this is allowed for, and a change of sign is forgotten when it is no more than that.
    """
    return 1e-6 if threshold < 1 else max(1e-6, min(0.5, torch.finfo(dtype).eps / (1 - beta)))


def scalars(group: dict[str, Any], count: int, dtype: torch.dtype = torch.float32) -> Scalars:
    """Return the numbers of a group's step that is the parameters' ``count``-th.

    An eps of 0 is the smallest normal number of what is computed in: a component whose gradients were all 0 then stays,
    instead of 0 / 0.
    """
    beta1, beta2, beta3 = group["betas"]
    kind = group["bias_correction"]
    moments = (1 - beta1**count, 1 - beta2**count) if kind != "none" else (1.0, 1.0)
    least = group["threshold"]
    if kind == "all":
        least *= (1 - beta3**count) * (1 - slack(least, beta3, wide(dtype)))
    lr = float(group["lr"]) * (-1.0 if group["maximize"] else 1.0)
    return Scalars(
        lr=lr / moments[0],
        betas=(beta1, beta2, beta3),
        least=least,
        eps=group["eps"] or torch.finfo(wide(dtype)).tiny,
        kept=1 - float(group["lr"]) * group["weight_decay"],
        correction=moments[1],
        inside=group["eps_inside_root"],
    )
