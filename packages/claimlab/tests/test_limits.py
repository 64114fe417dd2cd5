from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen

from claimlab import Positive, Share, check_limits

INFINITE, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Config:
    least: Annotated[int, Ge(1), "one is few"] = 1
    rate: Positive = 0.5
    share: Share = 0.5
    open: Annotated[float, Gt(0), Lt(1)] = 0.5
    half: Annotated[float, Interval(gt=0, le=1)] = 0.5
    most: Annotated[int, Le(9)] | None = None
    widths: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (4,)
    rule: Literal["mean", "and-mask"] = "mean"
    either: Literal["auto"] | Annotated[float, Gt(0)] = "auto"

    def __post_init__(self) -> None:
        check_limits(self)


@pytest.mark.parametrize(
    "values",
    [{}, {"least": 5}, {"rate": 1}, {"share": 0}, {"share": 1}, {"half": 1}, {"most": 9}, {"widths": (1, 2)}, {"either": 0.5}],
)
def test_what_lies_within_the_limits_is_taken(values):
    Config(**values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"least": 0}, "least should be at least 1: one is few. Found 0."),
        ({"rate": 0.0}, "rate should be positive. Found 0.0."),
        ({"rate": INFINITE}, "rate should be a finite number. Found inf."),
        ({"share": NAN}, "share should be a finite number. Found nan."),
        ({"share": 1.5}, "share should be between 0 and 1. Found 1.5."),
        ({"open": 1.0}, "open should be below 1. Found 1.0."),
        ({"half": 0.0}, "half should be positive. Found 0.0."),
        ({"half": 2.0}, "half should be at most 1. Found 2.0."),
        ({"most": 10}, "most should be at most 9. Found 10."),
        ({"widths": ()}, "widths should have at least one value. Found none."),
        ({"widths": (3, 0)}, "widths should be at least 1. Found 0."),
        ({"either": -1.0}, "either should be positive. Found -1.0."),
    ],
)
def test_what_lies_outside_is_refused_with_what_was_found(values, sentence):
    with pytest.raises(ValueError, match="Found") as caught:
        Config(**values)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"least": 1.0}, "least should be a whole number. Found 1.0."),
        ({"least": True}, "least should be a whole number. Found True."),
        ({"rate": "fast"}, "rate should be a finite number. Found 'fast'."),
        ({"widths": 4}, "widths should be a list separated by commas, each a whole number. Found 4."),
        ({"rule": "median"}, "rule should be one of mean, and-mask. Found 'median'."),
        ({"either": "manual"}, "either should be one of auto or a finite number. Found 'manual'."),
        ({"most": "many"}, "most should be a whole number or none. Found 'many'."),
    ],
)
def test_another_type_is_refused(values, sentence):
    with pytest.raises(TypeError, match="Found") as caught:
        Config(**values)
    assert str(caught.value) == sentence
