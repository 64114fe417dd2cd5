"""Which example belongs to which environment: every kind of id against a dictionary, and sentences for what is none."""

import datetime
import inspect
from array import array

import numpy as np
import pytest
import torch

from mechlearn.environments import check_finite_losses, named, partition

CPU = torch.device("cpu")
SITES = ["Ulm", "Bonn", "Ulm", "Kiel", "Bonn"]

INTEGERS = {
    "list": [7, -2, 7, 40, -2],
    "tensor": torch.tensor([7, -2, 7, 40, -2]),
    "bytes": torch.tensor([7, -2, 7, 40, -2], dtype=torch.int8),
    "array": np.array([7, -2, 7, 40, -2]),
    "read-only and reversed": np.array([-2, 40, 7, -2, 7])[::-1],
    "big-endian": np.array([7, -2, 7, 40, -2], dtype=">i4"),
    "numpy's numbers": list(np.array([7, -2, 7, 40, -2])),
    "tensors of one number": list(torch.tensor([7, -2, 7, 40, -2])),
    "array of the standard library": array("i", [7, -2, 7, 40, -2]),
}
INTEGERS["read-only and reversed"].flags.writeable = False

OTHERS = {
    "strings": (SITES, ("Bonn", "Kiel", "Ulm")),
    "array of strings": (np.array(SITES), ("Bonn", "Kiel", "Ulm")),
    "objects": (np.array(SITES, dtype=object), ("Bonn", "Kiel", "Ulm")),
    "pairs": ([(site, 1) for site in SITES], (("Bonn", 1), ("Kiel", 1), ("Ulm", 1))),
    "bytes": ([site.encode() for site in SITES], (b"Bonn", b"Kiel", b"Ulm")),
    "without an order": (["Ulm", 3, "Ulm", (1, 2), 3], ("Ulm", 3, (1, 2))),
    "dates": ([datetime.date(2020, 1, d) for d in (5, 2, 5, 9, 2)], tuple(datetime.date(2020, 1, d) for d in (2, 5, 9))),
    "numpy's dates": (np.array([5, 2, 5, 9, 2], dtype="M8[ns]"), tuple(np.array([2, 5, 9], dtype="M8[ns]"))),
    "integers beyond eight bytes": ([2**64, 2**63, 2**64, 2**70, 2**63], (2**63, 2**64, 2**70)),
    "unsigned array": (np.array([2**63, 5, 2**63, 2**64 - 1, 5], dtype=np.uint64), (5, 2**63, 2**64 - 1)),
    "unsigned tensor": (torch.tensor([2**63, 5, 2**63, 2**64 - 1, 5], dtype=torch.uint64), (5, 2**63, 2**64 - 1)),
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_become_an_ascending_tensor(kind):
    found = partition(INTEGERS[kind], 5, CPU)
    assert found.ids.dtype == torch.int64
    assert found.ids.tolist() == [-2, 7, 40]
    assert found.index.tolist() == [1, 0, 1, 2, 0]
    assert found.sizes == (2, 2, 1)
    assert found.order.tolist() == [1, 4, 0, 2, 3]
    assert found.named(2) == 40


@pytest.mark.parametrize("kind", OTHERS)
def test_whatever_is_hashable_is_given_back(kind):
    ids, expected = OTHERS[kind]
    found = partition(ids, 5, CPU)
    assert found.ids == expected
    given = ids.tolist() if isinstance(ids, torch.Tensor) else list(ids)
    assert [found.ids[k] for k in found.index.tolist()] == given
    assert found.sizes == tuple(given.count(name) for name in expected)
    assert torch.equal(found.index[found.order], found.index.sort(stable=True).values)
    assert named(found.ids, 0) == expected[0]


@pytest.mark.parametrize(
    ("ids", "error", "match"),
    [
        (None, TypeError, "Found NoneType. Pass a tensor, an array or a list"),
        (3, TypeError, "Found int"),
        ("aabb", TypeError, "Found str"),
        ({1, 2, 3, 4}, TypeError, "Found set"),
        ({0: 1, 1: 2}, TypeError, "Found dict"),
        ((k for k in range(4)), TypeError, "Found generator"),
        ([0.0, 0.0, 1.0, 1.0], TypeError, r"Found 0\.0 of type float. Number the environments"),
        (["a", float("nan"), "b", "b"], TypeError, "Found nan of type float"),
        ([True, True, False, False], TypeError, "Found True of type bool"),
        (["a", None, "b", "b"], TypeError, "Found None of type NoneType"),
        ([[1], [2], [3], [4]], TypeError, "not: unhashable type: 'list'. Make a tuple"),
        ([(1, []), 2, 3, 4], TypeError, "unhashable"),
        (torch.rand(4), TypeError, r"dtype torch\.float32, which counts nothing"),
        (torch.ones(4, dtype=torch.bool), TypeError, r"dtype torch\.bool"),
        (torch.eye(4).to_sparse(), TypeError, "sparse"),
        (torch.ones(4, dtype=torch.int64, device="meta"), TypeError, "without data"),
        (np.ones(4), TypeError, "dtype float64"),
        (np.array(3), ValueError, r"4 losses.*Found shape \(\)"),
        ([], ValueError, r"4 losses.*Found shape \(0,\)"),
        ([1, 2], ValueError, r"4 losses.*Found shape \(2,\)"),
        (["a"], ValueError, r"Found shape \(1,\)"),
        (torch.zeros(4, 1, dtype=torch.int64), ValueError, r"Found shape \(4, 1\)"),
        (np.array([["a", "b"]] * 4), ValueError, r"Found shape \(4, 2\)\. Make one id"),
    ],
)
def test_what_is_no_id_is_refused_in_a_sentence(ids, error, match):
    with pytest.raises(error, match=f"`environments` should h.*{match}"):
        inspect.unwrap(partition)(ids, 4, CPU)  # before the tests' type checker has its say


class TestLargeEnvironmentsInHalfPrecision:
    """65504 is the largest number of float16: with more examples an environment weighed 1 / inf."""

    def setup_method(self):
        self.groups = partition([0] * 70_000 + [1] * 3, 70_003, CPU)
        self.losses = torch.full((70_003,), 0.5, dtype=torch.float16)

    def test_it_weighs_what_it_should(self):
        weights = self.groups.mean_weights(self.losses)
        assert weights.dtype == torch.float16
        assert weights[0] == torch.tensor(1 / 70_000, dtype=torch.float16) > 0
        assert weights[-1] == torch.tensor(1 / 3, dtype=torch.float16)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_its_mean_is_not_lost_in_a_sum(self, dtype):
        means = self.groups.means(self.losses.to(dtype))
        assert means.dtype == torch.float32
        assert means.tolist() == [0.5, 0.5]
        assert self.groups.sums(self.losses.to(dtype)).tolist() == [35_000, 1.5]


def test_a_loss_that_is_not_finite_is_named_by_the_users_id():
    groups = partition(SITES, 5, CPU)
    with pytest.raises(ValueError, match="mean loss of nan in environment Kiel"):
        check_finite_losses(torch.tensor([1.0, torch.nan, 2.0]), groups)


@pytest.mark.parametrize("ids", [[1, 3, 2, "a"], [9, 1, 8, (2, 0), 7], ["b", "a", 1]])
def test_ids_without_an_order_stay_as_they_appear(ids):
    assert list(partition(ids, len(ids), CPU).ids) == ids
