"""The variants of LDT that are compared."""

from typing import NamedTuple

ABLATED = ("ldt", "untrained", "permuted", "noise-4", "noise-8", "noise-16", "redrawn")
"""LDT and its ablations: FT, PT, RT-n and AR of the texts."""

PARTS = ("plain-gate", "no-gate", "no-weight-norm", "no-batch-norm", "no-clip")
"""LDT with a part of appendix C.2.2.2 done otherwise; see `parts`."""

SEEING = ("actions",)
"""LDT whose teacher is given more than the trajectory; see `parts`."""

OTHERS = ("no-teacher", "random-teacher", "generalised")
"""Other students, which train on all examples."""

LABELS = {
    "ldt": "LDT",
    "untrained": "FT: untrained teacher",
    "permuted": "PT: time permuted",
    "noise-4": "RT-4: last 4 frames noise",
    "noise-8": "RT-8: last 8 frames noise",
    "noise-16": "RT-16: all frames noise",
    "redrawn": "AR: split redrawn",
    "plain-gate": "gate neither scaled nor shifted",
    "no-gate": "no gates",
    "no-weight-norm": "student without weight norm",
    "no-batch-norm": "teacher without BatchNorm",
    "no-clip": "meta-gradient not clipped",
    "actions": "teacher sees the actions, too",
    "no-teacher": "no teacher",
    "random-teacher": "fixed random teacher, own coefficient",
    "generalised": "generalised distillation",
}


class Trial(NamedTuple):
    """One training run: a variant, and its point of a grid where it has one (0 where not)."""

    variant: str
    coefficient: float = 0.0
    temperature: float = 0.0
    imitation: float = 0.0
    lr: float = 0.0
    decay: float = 0.0
    batch: int = 0

    def columns(self) -> dict[str, str | float]:
        """Return what its rows say of it: the grid of no teacher only where there is one."""
        return {name: value for name, value in self._asdict().items() if self.batch or name not in ("lr", "decay", "batch")}
