"""What is compared: averaging, the AND-mask and the rules that test for conflict, with and without decay of what is masked."""

from typing import NamedTuple

from torch import nn

from mechlearn.agreement import Agreement, AndMask, Heterogeneous, Homogeneous, Mean, Qualitative, Record, Rule
from mechlearn.agreement import decay_masked as decay


class Method(NamedTuple):
    """One way to train.

    Attributes:
        label: in figures.
        rule: that combines the environments' gradients.
        decay: times the learning rate: how fast masked components shrink.
    """

    label: str
    rule: Rule
    decay: float = 0.0


METHODS: dict[str, Method] = {
    "mean": Method("averaging", Mean()),
    "and-mask": Method("AND-mask", AndMask(1.0, rescale=True)),
    "qualitative": Method("Gail-Simon 0.2", Qualitative(0.2)),
    "qualitative-decay": Method("Gail-Simon 0.2, decay 5", Qualitative(0.2), decay=5.0),
    "homogeneous": Method("Cochran 0.05", Homogeneous(0.05)),
    "homogeneous-decay": Method("Cochran 0.05, decay 5", Homogeneous(0.05), decay=5.0),
    "heterogeneous": Method("random effects", Heterogeneous()),
    "input-decay": Method("random effects by input, decay 5", Heterogeneous("input"), decay=5.0),
}
"""By the name that rows have."""


def agreement_of(model: nn.Module, method: Method) -> Agreement:
    """Return what stands in place of ``loss.backward()``."""
    return Agreement(model, method.rule, keep="masks" if method.decay else ())


def after_step(model: nn.Module, record: Record, method: Method, lr: float) -> None:
    """Decay what was masked."""
    if method.decay:
        decay(model, record, lr, method.decay)
