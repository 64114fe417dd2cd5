import re

import numpy as np
import pytest
import torch

from craik.arguments import check_decay, check_not_negative, check_one_of, check_positive, check_shape, check_share, check_whole

NUMBERS = [check_decay, check_not_negative, check_positive, check_share]


@pytest.mark.parametrize(
    ("check", "taken", "refused"),
    [
        (check_decay, [0, 0.9, np.float32(0.5)], [1, 1.0, -0.1]),
        (check_not_negative, [0, 7, 1e9, torch.tensor(0.1)], [-1e-9, float("inf")]),
        (check_positive, [1, 1e-300, np.int64(3)], [0, -1, float("inf")]),
        (check_share, [0, 1, 0.5, np.float64(1)], [-0.1, 1.0001]),
        (check_whole, [0, 3, np.int64(2)], [-1]),
    ],
)
def test_ranges(check, taken, refused):
    for value in taken:
        check("x", value)
    for value in refused:
        with pytest.raises(ValueError, match=r"`x` should .*: because\. Found .* Do this\."):
            check("x", value, why="because", way_out="Do this.")


@pytest.mark.parametrize("check", NUMBERS)
def test_nan_is_out_of_every_range(check):
    with pytest.raises(ValueError, match="Found nan"):
        check("x", float("nan"))


@pytest.mark.parametrize("check", [*NUMBERS, check_whole])
@pytest.mark.parametrize("value", [True, None, "1", [1], 1j, torch.ones(2)])
def test_wrong_types(check, value):
    with pytest.raises(TypeError, match=rf"number.*Found {re.escape(repr(value))} of type {type(value).__name__}"):
        check("x", value)


def test_whole_numbers():
    with pytest.raises(TypeError, match=r"whole number\. Found 2\.0 of type float"):
        check_whole("x", 2.0)
    with pytest.raises(ValueError, match=r"at least 3\. Found 2"):
        check_whole("x", 2, least=3)


@pytest.mark.parametrize("value", ["c", None, 1, ["a"]])
def test_words(value):
    check_one_of("x", "a", ("a", "b"))
    check_one_of("x", None, (None, "b"))
    with pytest.raises(ValueError, match=re.escape(f'"a" or "b". Found {value!r}.')):
        check_one_of("x", value, ("a", "b"))


def test_shapes():
    check_shape("x", torch.ones(4, 2, 4), "B", 2, "B")
    check_shape("x", torch.ones(()))
    for tensor in (torch.ones(4, 2, 5), torch.ones(4, 3, 4), torch.ones(4, 2), torch.ones(0, 2, 0)):
        with pytest.raises(ValueError, match=rf"shape \(B, 2, B\)\. Found {re.escape(str(tuple(tensor.shape)))}"):
            check_shape("x", tensor, "B", 2, "B")
    with pytest.raises(TypeError, match=r"a tensor and have the shape \(B,\)\. Found \[1\] of type list"):
        check_shape("x", [1], "B")
