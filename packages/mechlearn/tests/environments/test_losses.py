"""What losses may be, in sentences."""

import inspect

import numpy as np
import pytest
import torch

from mechlearn.environments import check_finite_together, check_unreduced


@pytest.mark.parametrize(
    ("losses", "error", "match"),
    [
        (None, TypeError, "of type NoneType. Build the loss with torch"),
        (0.7, TypeError, "of type float. Build"),
        (np.ones(3), TypeError, "of type ndarray. Build"),
        ([torch.ones(()), torch.ones(())], TypeError, r"of type list\. torch\.stack\(losses\) keeps the graph"),
        ((1.0, 2.0), TypeError, "of type tuple. torch.stack"),
        (torch.ones(3, dtype=torch.complex64), TypeError, r"be real.*complex64.*losses\.abs\(\)"),
        (torch.ones(3).to_sparse(), TypeError, "be dense.*sparse_coo"),
        (torch.ones(()), ValueError, "already reduced"),
        (torch.ones(0), ValueError, r"shape \(0,\), an empty batch\. Skip the step"),
        (torch.ones(0, 4), ValueError, r"shape \(0, 4\), an empty batch"),
        (torch.ones(3, 4), ValueError, r"shape \(3, 4\)\. Sum or average"),
    ],
)
def test_what_is_no_loss_for_each_example(losses, error, match):
    with pytest.raises(error, match=f"`losses` should .*{match}"):
        inspect.unwrap(check_unreduced)(losses)


def test_any_precision_is_taken():
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        check_unreduced(torch.ones(2, dtype=dtype))


def test_what_is_not_finite_is_named_with_one_wait():
    fine, not_fine = torch.tensor(True), torch.tensor(False)
    check_finite_together({})
    check_finite_together({"a": fine, "b": fine})
    with pytest.raises(FloatingPointError, match=r"in the gradient of 'b'\. Lower the learning rate"):
        check_finite_together({"a": fine, "b": not_fine, "c": not_fine})
