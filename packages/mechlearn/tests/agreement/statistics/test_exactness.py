"""Statistics from one pass against gradients that are formed one by one, in float64."""

from unittest import mock

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import definition_oracles
import statistics_oracles as oracle
import traced_models
from mechlearn.agreement.statistics import gradient_statistics, pieces
from mechlearn.agreement.statistics.sums import squares_of_rows

ROWS = 13


def compared(case, ids, *, examples=True, pairs=True):
    model, losses_of, drawn = case
    batch = drawn(len(ids))
    found = gradient_statistics(model, losses_of(*batch), ids, examples=examples, pairs=pairs)
    stacks = oracle.stacks_of(model, losses_of, batch, ids)
    oracle.assert_statistics(found, stacks, oracle.rows_of(model, losses_of, batch) if examples else None)
    return found


@pytest.mark.parametrize("examples", [False, True])
@pytest.mark.parametrize("name", traced_models.CASES)
def test_equal_to_the_definition(name, examples):
    compared(traced_models.made(name), traced_models.scattered(ROWS, 4), examples=examples)


@pytest.mark.parametrize("name", traced_models.CASES)
def test_every_row_an_environment(name):
    found = compared(traced_models.made(name), range(7), pairs=name != "mlp")
    torch.testing.assert_close(found.example_norms, found.norms)


@pytest.mark.parametrize("examples", [False, True])
@pytest.mark.parametrize("name", traced_models.CASES)
def test_in_the_smallest_pieces(name, examples, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", 8)
    compared(traced_models.made(name), traced_models.scattered(ROWS, 3, seed=1), examples=examples)


@settings(max_examples=40)
@given(number=st.integers(0, 10**6), environments=st.integers(1, 6), examples=st.booleans(), piece=st.sampled_from([16, 2**20]))
def test_equal_on_generated_networks(number, environments, examples, piece):
    model, losses_of, batch = traced_models.random_case(number)
    case = model, losses_of, lambda rows: batch(rows, number)
    with mock.patch.object(pieces, "PIECE", piece):
        compared(case, traced_models.scattered(11, environments, seed=number), examples=examples)


def test_equal_to_vmap_of_grad():
    """Of a small GPT-2 block with a tied table: every row its own environment, and rows within environments."""
    model, losses_of, drawn = traced_models.made("untied, attention by hand")
    (x,) = drawn(9)
    named = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters, row):
        logits = torch.func.functional_call(model, parameters, (row[None, :-1],))
        return nn.functional.cross_entropy(logits[0], row[1:])

    rows = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(named, x)
    rows = {name: one.flatten(1) for name, one in rows.items()}
    oracle.assert_statistics(gradient_statistics(model, losses_of(x), range(9)), rows, rows)
    ids = torch.tensor([2, 0, 2, 1, 2, 0, 1, 1, 1])
    stacks = {name: torch.stack([one[ids == e].mean(0) for e in range(3)]) for name, one in rows.items()}
    oracle.assert_statistics(gradient_statistics(model, losses_of(x), ids, examples=True), stacks, rows)


class Reads(nn.Module):
    """Parameters read in parts, in parts that overlap, by several operations, by a fused LSTM, and by nothing."""

    def __init__(self):
        super().__init__()
        self.packed, self.table = nn.Parameter(traced_models.noise(9, 6)), nn.Embedding(7, 6, padding_idx=2)
        self.lstm, self.grouped = nn.LSTM(6, 6, batch_first=True), nn.Conv1d(4, 4, 3, groups=2, padding=1)
        self.turned, self.idle = nn.ConvTranspose1d(4, 4, 3, padding=1), nn.Linear(2, 2)
        self.cross, self.frozen = nn.MultiheadAttention(6, 2, batch_first=True), nn.Linear(6, 6).requires_grad_(False)

    def forward(self, x):
        tokens = (x.detach() * 5).long().abs().sum(-1) % 7
        h = x + self.table(tokens) + x @ self.packed[:6] + self.frozen(x).tanh() @ self.packed[3:9].T
        h = h + x @ self.table.weight[:6].T + self.cross(h, x, x * 2, need_weights=False)[0]
        h = self.turned(self.grouped(h.tanh()))
        return self.lstm(h)[0].sum((1, 2))


@pytest.mark.parametrize("piece", [8, 2**20])
@pytest.mark.parametrize("examples", [False, True])
def test_parameters_read_in_parts(piece, examples, monkeypatch):
    monkeypatch.setattr(pieces, "PIECE", piece)
    torch.manual_seed(0)
    model = Reads().double()
    case = model, lambda x: model(x).square(), lambda rows: (traced_models.noise(rows, 4, 6),)
    ids = [1, 0, 1, 2, 0, 0, 2, 3]
    assert {name.partition(".")[0] for name in compared(case, ids, examples=examples).parameters} == {
        *("packed", "table", "lstm", "grouped", "turned", "cross")
    }


@pytest.mark.parametrize("examples", [False, True])
def test_rows_that_meet_take_the_definition(examples):
    """Of losses that read the batch's mean, each environment's and each row's gradient is that through the whole graph."""
    torch.manual_seed(0)
    model, x, ids = nn.Sequential(nn.Linear(3, 4), nn.Tanh()).double(), traced_models.noise(8, 3), [1, 0, 1, 1, 2, 0, 1, 2]
    h = model(x)
    losses = (h - h.mean(0)).square().sum(1)
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = gradient_statistics(model, losses, ids, examples=examples)
    assert set(found.paths.values()) == {"per-environment"}
    stacks, rows = (
        dict(zip(names, (one.flatten(1) for one in definition_oracles.stacks_of(losses, some, parameters)), strict=True))
        for some in (ids, range(8))
    )
    oracle.assert_statistics(found, stacks, rows if examples else None)


class Largest(TorchDispatchMode):
    """Remembers the largest tensor that an operation returns."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for one in tree_leaves(out):
            if isinstance(one, torch.Tensor):
                self.numel = max(self.numel, one.untyped_storage().nbytes() // one.element_size())
        return out


@pytest.mark.parametrize("ids", [[0, 1, 2, 3] * 4, range(16), [0, 1, 1, 1] * 4], ids=["equal", "rows", "unequal"])
@pytest.mark.parametrize("examples", [False, True])
def test_no_more_is_held_than_a_piece(ids, examples, monkeypatch):
    """Of linear layers, a convolution, and a table that is tied: a sixteenth of what E gradients of each would take."""
    monkeypatch.setattr(pieces, "PIECE", 2**12)
    tied, conv, head = nn.Embedding(300, 64), nn.Conv1d(64, 64, 3, padding=1), nn.Linear(64, 256)
    model = nn.ModuleDict({"tied": tied, "conv": conv, "head": head})
    tokens = torch.randint(0, 300, (16, 3))
    h = conv(tied(tokens).mT).mT
    losses = (head(h).square().mean((1, 2)) + (h @ tied.weight.T).square().mean((1, 2))) / 8
    with Largest() as seen:
        found = gradient_statistics(model, losses, ids, examples=examples)
    assert set(found.paths.values()) == {"layer"}
    assert seen.numel <= max(p.numel() for p in model.parameters())  # one row's gradient, or the forward pass's own tensors


@pytest.mark.parametrize("scale", [1.0, 1e-18, 1e18, 0.0])
def test_squares_are_those_of_float64_also_where_float32_cannot_hold_them(scale):
    gradients = torch.randn(3, 50, 7, generator=torch.Generator().manual_seed(0)) * scale
    gradients[1] = 0
    torch.testing.assert_close(squares_of_rows(gradients), gradients.double().square().sum((1, 2)), rtol=1e-5, atol=0)
