"""Each theorem is broken once, and the kit says which."""

from dataclasses import dataclass, field
from typing import ClassVar

import pytest
import torch

from mechlearn.agreement import (
    AndMask,
    Combined,
    GeometricMean,
    Mean,
    MedianSign,
    SandMask,
    SignalToNoiseMask,
    Statistics,
    XorMask,
)
from mechlearn.testing import check_rule

OURS = [
    (Mean(), ()),
    (AndMask(0.6), ()),
    (AndMask(1.0, rescale=True), ("unanimity",)),  # zeros do not survive, and what does is made larger
    (GeometricMean(0.6), ()),
    (XorMask(0.6), ("unanimity",)),
    (SignalToNoiseMask(1.0), ()),
    (SandMask(0.6, k=1.0), ("scale",)),
    (SandMask(0.6, k=1.0, unbiased=True), ("scale", "copies")),
    (MedianSign(0.6), ("scale", "unanimity")),
]


@pytest.mark.parametrize(("rule", "without"), OURS, ids=repr)
def test_our_rules_pass_and_break_what_they_say_they_break(rule, without):
    check_rule(rule, without=without)
    for theorem in without:
        with pytest.raises(AssertionError, match=f'theorem "{theorem}"'):
            check_rule(rule, without=set(without) - {theorem})


@dataclass(frozen=True)
class Broken:
    """The mean, until something is done to it."""

    how: str
    calls: list[int] = field(default_factory=list, repr=False)
    needs: ClassVar[frozenset[str]] = frozenset({"sign", "square"})

    def __call__(self, statistics: Statistics) -> Combined:
        self.calls.append(1)
        mean = statistics.gradient / statistics.environments
        ones = torch.ones_like(mean)
        changed = {
            "shape": lambda: Combined(mean[None], ones),
            "type": lambda: Combined(mean.bfloat16(), ones),
            "finite": lambda: Combined((mean / statistics.square).to(mean.dtype), ones),
            "0 or 1": lambda: Combined(mean, 2 * ones),
            "not survive": lambda: Combined(mean, 0 * ones),
            "same statistics": lambda: Combined(mean * len(self.calls), ones),
            "overwritten": lambda: Combined(statistics.gradient.mul_(2) / 2 / statistics.environments, ones),
            "bytes": lambda: Combined(mean * (1 + (statistics.sign.dtype == torch.int8)), ones),
            '"copies"': lambda: Combined(statistics.gradient.clone(), ones),
            '"sign"': lambda: Combined(mean.abs(), ones),
            '"scale"': lambda: Combined(mean * (mean.abs() > 1), (mean.abs() > 1).double()),
            '"unanimity"': lambda: Combined(2 * mean, ones),
        }
        return changed[self.how]()


FORM = ["shape", "type", "finite", "0 or 1", "not survive", "same statistics", "overwritten", "bytes"]


@pytest.mark.parametrize("how", [*FORM, '"copies"', '"sign"', '"scale"', '"unanimity"'])
def test_a_broken_rule_is_found_out(how):
    with pytest.raises(AssertionError, match=f"{how}.*Broken.*gradients"):
        check_rule(Broken(how))


@pytest.mark.parametrize("needs", [None, "sign", frozenset({"signs"})])
def test_needs_are_part_of_the_protocol(needs):
    rule = Broken('"sign"')
    object.__setattr__(rule, "needs", needs)
    with pytest.raises(AssertionError, match="a set `needs` of strings"):
        check_rule(rule)


def test_unknown_theorems_are_refused():
    with pytest.raises(ValueError, match=r"Found \['size'\]"):
        check_rule(Mean(), without=("size",))
