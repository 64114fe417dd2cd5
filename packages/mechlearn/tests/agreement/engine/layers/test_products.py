"""Reads by products of matrices against the oracle."""

import pytest
import torch
from torch import nn

from mechlearn.agreement.engine.analysis.rows import Rows
from mechlearn.agreement.engine.layers import products
from reads_oracles import IDS, assert_exact, draw, leaf, losses_of, parameter

DTYPES = [torch.float64, torch.float32]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("outputs", [3, 70])
def test_linear_on_vectors(dtype, ids, outputs):
    x, w, b = leaf(6, 7, dtype=dtype), parameter(outputs, 7, dtype=dtype), parameter(outputs, dtype=dtype)
    assert_exact(losses_of(nn.functional.linear(x, w, b)), ids, {"w": w, "b": b}, [x])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("long", [1, products.LONG])
def test_linear_on_positions(dtype, ids, long, monkeypatch):
    monkeypatch.setattr(products, "LONG", long)
    monkeypatch.setattr(products, "CHUNK_ELEMENTS", 16)
    x, w, b = leaf(6, 5, 7, dtype=dtype), parameter(4, 7, dtype=dtype), parameter(4, dtype=dtype)
    assert_exact(losses_of(nn.functional.linear(x, w, b)), ids, {"w": w, "b": b}, [x], Rows(0, 1, 5))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_linear_on_sequences_first(ids):
    x, w, b = leaf(6, 5, 7), parameter(4, 7), parameter(4)
    y = nn.functional.linear(x.transpose(0, 1), w, b).transpose(0, 1)
    rows = {"MmBackward0": Rows(0, 5, 1), "AddmmBackward0": Rows(0, 5, 1), "AddBackward0": Rows(1)}
    assert_exact(losses_of(y), ids, {"w": w, "b": b}, [x], rows)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_rows_with_owners_in_any_order(ids):
    x, w, b = leaf(6, 7), parameter(4, 7), parameter(4)
    picked = torch.tensor([3, 1, 1, 5, 0, 2, 4, 3])
    y = nn.functional.linear(torch.cat([x[picked], draw(2, 7)]), w, b)
    back = torch.zeros(6, 4, dtype=torch.float64).index_add(0, picked, y[:8])
    from mechlearn.environments import partition

    index = partition(ids, 6, x.device).index
    owners = torch.cat([index[picked], torch.tensor([-1, -1])])
    assert_exact(losses_of(back), ids, {"w": w, "b": b}, [x], Rows(0, owners=owners))


def test_an_environment_that_is_not_reached():
    x, w, b = leaf(6, 7), parameter(4, 7), parameter(4)
    keep = torch.tensor([1.0, 1, 0, 0, 1, 1], dtype=torch.float64)
    y = nn.functional.linear(x[[0, 1, 4, 5]], w, b)
    spread = torch.zeros(6, 4, dtype=torch.float64).index_add(0, torch.tensor([0, 1, 4, 5]), y)
    losses = losses_of(spread) * keep
    assert_exact(losses, [0, 0, 1, 1, 2, 2], {"w": w, "b": b}, [x], Rows(0, owners=torch.tensor([0, 0, 2, 2])))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize(
    "apply",
    [
        lambda x, w: x @ w.T,
        lambda x, w: torch.einsum("bi,oi->bo", x, w),
        lambda x, w: torch.einsum("bi,oi->bo", x, w[:, :, None][..., 0]),
        lambda x, w: (w @ x.T).T,
        lambda x, w: 3 * torch.addmm(torch.zeros(6, 4, dtype=x.dtype), x, w.T, alpha=0.5),
        lambda x, w: torch.bmm(x[None], w.T[None])[0],
        lambda x, w: x @ w[[1, 0, 2, 3]].T,
        lambda x, w: x @ (2 * w).T,
        lambda x, w: torch.cat([x @ w[:2].T, x @ w[2:].T], 1),
        lambda x, w: torch.cat([x @ part.T for part in w.chunk(2)], 1),
        lambda x, w: torch.cat([x @ part.T for part in w.split([1, 3])], 1),
        lambda x, w: x @ w[:2].T + torch.tanh(x @ w[:2].T) @ w[:2, :2],
        lambda x, w: x[:, :3] @ w[:, 1:4].T,
        lambda x, w: torch.stack([x @ row for row in w.unbind()], 1),
        lambda x, w: x @ w.T + torch.tanh(x @ w.T),
        lambda x, w: torch.tanh(x @ w.T) @ w,
        lambda x, w: x @ w.reshape(7, 4),
        lambda x, w: x @ w.T.reshape(4, 7).T,
    ],
    ids=lambda apply: None,
)
def test_other_ways_to_multiply(ids, apply):
    x, w = leaf(6, 7), parameter(4, 7)
    y = apply(x, w)
    names = {"MmBackward0": Rows(0), "AddmmBackward0": Rows(0), "BmmBackward0": Rows(1), "MvBackward0": Rows(0)}
    if y.grad_fn.name() == "PermuteBackward0":
        names["MmBackward0"] = Rows(1)
    assert_exact(losses_of(y), ids, {"w": w}, [x], names)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_recurrent_reads_are_joined(ids):
    x, w, u = leaf(6, 5, 3), parameter(4, 3), parameter(4, 4, seed=3)
    h = torch.tanh(x[:, 0] @ w.T)
    for t in range(1, 5):
        h = torch.tanh(x[:, t] @ w.T + h @ u.T)
    assert_exact(losses_of(h), ids, {"w": w, "u": u}, [x], Rows(0))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("alike", [False, True])
def test_stacked_models(ids, alike):
    x, w, b = leaf(6, 5), parameter(3, 4, 5), parameter(3, 4)
    model = nn.Linear(5, 4).double()

    def apply(w, b, x):
        return torch.func.functional_call(model, {"weight": w, "bias": b}, (x,))

    y = torch.func.vmap(apply, (0, 0, None))(w, b, x) if alike else torch.baddbmm(b[:, None], x.expand(3, 6, 5), w.mT)
    assert_exact(losses_of(y.transpose(0, 1)), ids, {"w": w, "b": b}, [x], Rows(1))


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_bilinear(ids):
    one, two, w, b = leaf(6, 5, 3), leaf(6, 5, 4, seed=5), parameter(2, 3, 4), parameter(2)
    rows = {"TrilinearBackward0": Rows(0, 1, 5), "AddBackward0": Rows(0)}
    assert_exact(losses_of(nn.functional.bilinear(one, two, w, b)), ids, {"w": w, "b": b}, [one, two], rows)


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_low_rank_adapters(ids):
    x, down, up = leaf(6, 5, 7), parameter(2, 7), parameter(4, 2, seed=3)
    w = draw(4, 7)
    y = nn.functional.linear(x, w) + 0.5 * nn.functional.linear(nn.functional.linear(x, down), up)
    assert_exact(losses_of(y), ids, {"down": down, "up": up}, [x], Rows(0, 1, 5))
