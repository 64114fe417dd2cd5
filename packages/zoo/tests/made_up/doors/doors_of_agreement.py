"""Doors of rules and Agreement, of penalties, of second losses and of states; see `wrong_kinds`.

Their wrong values by name are in the library's `wrong_inputs.py`. These are for values that are drawn.
"""

import copy
from typing import Any

import torch
from torch import Tensor, nn

import mechlearn.agreement as a
import mechlearn.distill as d
import mechlearn.penalties as p
from mechlearn.environments import group
from mechlearn.skips import States
from wrong_kinds import Door, g

IDS = [0, 0, 1, 1]


def of_agreement() -> list[Door]:
    """Rules, what is built of them, and what they are given."""
    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(4, 3)
    rescaled: dict[str, Any] = {"threshold": 0.5, "rescale": False}
    errors = a.StandardErrors()
    deltas = {source: {"w": torch.randn(3)} for source in ("one", "two")}

    def backward(environments: Any, hold: bool) -> object:
        own = copy.deepcopy(model)
        return a.Agreement(own, a.AndMask()).backward(own(x)[:, 0].square(), environments, hold=hold)

    return [
        Door("AndMask", a.AndMask, rescaled),
        Door("XorMask", a.XorMask, rescaled),
        Door("GeometricMean", a.GeometricMean, rescaled),
        Door("SandMask", a.SandMask, rescaled | {"k": 10.0, "unbiased": False}),
        Door("SignalToNoiseMask", a.SignalToNoiseMask, {"ratio": 1.0, "rescale": False}),
        Door("MedianSign", a.MedianSign, {"threshold": 0.1}),
        Door("Anchored", a.Anchored, {"weight": 0.3}),
        Door("Homogeneous", a.Homogeneous, {"alpha": 0.05, "rescale": False, "errors": errors}),
        Door("Heterogeneous", a.Heterogeneous, {"by": "component", "significance": 1.64, "ratio": 1.0, "errors": errors}),
        Door("Qualitative", a.Qualitative, {"alpha": 0.2, "rescale": False, "errors": errors}),
        Door("StandardErrors", a.StandardErrors, {"parts": "auto", "memory": 0.5, "every": 2, "rows": None, "seed": 0}),
        Door("combine", a.combine, {"rule": a.AndMask(), "gradients": torch.randn(3, 5)}),
        Door("merge", a.merge, {"rule": a.AndMask(), "deltas": deltas}),
        Door("ties", a.ties, {"deltas": deltas, "keep": 0.5}),
        Door("dare", a.dare, {"deltas": deltas, "drop": 0.5, "generator": g()}),
        Door("GradDrop", a.GradDrop, {"generator": g()}),
        Door("Agreement.backward", backward, {"environments": torch.tensor(IDS), "hold": False}),
        Door(
            "Agreement",
            a.Agreement,
            {"model": model, "rule": a.AndMask(), "refuse_nonfinite": True, "kernel": "torch", "keep": ["weight"]},
        ),
        Door("TemporalMask", a.TemporalMask, {"params": [nn.Parameter(torch.ones(2))], "beta": 0.9, "threshold": 0.4}),
        Door(
            "TemporalAndMaskAdam",
            a.TemporalAndMaskAdam,
            {"params": [nn.Parameter(torch.ones(2))], "lr": 1e-3, "betas": (0.9, 0.99, 0.9), "threshold": 0.4},
        ),
        Door("group", group, {"losses": torch.ones(4), "environments": IDS}),
    ]


def of_penalties() -> list[Door]:
    """What tables compare with."""
    torch.manual_seed(0)
    features, y = torch.randn(4, 3), torch.randn(4, 2)
    logits = nn.Linear(3, 2)(features)

    def by_row(out: Tensor, target: Tensor) -> Tensor:
        return (out - target).square().mean(1)

    return [
        Door("vrex_penalty", p.vrex_penalty, {"losses": torch.rand(4), "environments": IDS}),
        Door(
            "group_dro_loss",
            p.group_dro_loss,
            {"losses": torch.rand(4), "environments": IDS, "weights": torch.full((2,), 0.5), "step_size": 0.01},
        ),
        Door("irm_penalty", p.irm_penalty, {"outputs": torch.randn(4, 2), "targets": y, "environments": IDS, "loss": by_row}),
        Door(
            "fishr_penalty",
            p.fishr_penalty,
            {"losses": by_row(logits, y), "environments": IDS, "features": features, "logits": logits},
        ),
        Door("cagrad", p.cagrad, {"gradients": torch.randn(3, 5), "c": 0.5}),
        Door("gaf", p.gaf, {"gradients": torch.randn(3, 5), "threshold": 1.0}),
        Door("pcgrad", p.pcgrad, {"gradients": torch.randn(3, 5), "generator": g()}),
        Door(
            "screen",
            p.screen,
            {"inputs": torch.randn(40, 3), "targets": torch.randn(40, 1), "environments": [0, 1] * 20, "level": 0.01},
        ),
    ]


def of_second_losses() -> list[Door]:
    """What a second loss is given, and layouts of states."""
    x, logits = torch.randn(4, 3), torch.randn(2, 3, 5)
    divergence: dict[str, Any] = {"student_logits": logits, "teacher_logits": logits + 1, "kind": "reverse", "top": 3}
    return [
        Door(
            "privileged_divergence",
            d.privileged_divergence,
            divergence | {"mask": torch.ones(2, 3, dtype=torch.bool)},
            {"top": ("None",)},
        ),
        Door("shuffle_contexts", d.shuffle_contexts, {"contexts": x, "questions": torch.tensor([0, 0, 1, 1])}),
        Door("Fork", d.Fork, {"model": nn.Linear(2, 1), "metric": lambda model: 1.0, "every": 3}),
        Door("States", States, {"shapes": {"image": (2, 2), "place": (1,)}, "scales": {"image": 2.0}}),
    ]


ROOMS = (of_agreement, of_penalties, of_second_losses)
