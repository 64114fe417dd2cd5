"""The fused LSTM: whole networks against one backward pass an environment, and where its gates come from."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.checkpoint import checkpoint

from cpu_alone import cpu_alone
from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask, Combined
from mechlearn.agreement.engine.layers import gates, recurrent

pytestmark = cpu_alone("the node of a fused LSTM is oneDNN's; cuDNN's takes one backward pass for each environment")

IDS = {"adjacent": [0, 0, 1, 1, 2, 2], "mixed": [2, 0, 1, 0, 2, 1], "unequal": [0, 0, 0, 1, 2, 2], "single": list(range(6))}


class Squares:
    """Brings the mean of squares to the light, which no sign hides."""

    needs = frozenset({"square"})

    def __call__(self, statistics):
        return Combined(statistics.square / statistics.environments, torch.ones_like(statistics.square))


class Network(nn.Module):
    """A linear layer, a fused LSTM, and a readout of all its states."""

    def __init__(self, **options):
        super().__init__()
        self.start = options.pop("start", False)
        self.residual = options.pop("residual", False)
        self.again = options.pop("again", False)
        self.last = options.pop("last", True)
        self.embed, self.lstm = nn.Linear(5, 8), nn.LSTM(8, 8, batch_first=True, **options)
        width = 8 * (1 + self.lstm.bidirectional)
        width = options.get("proj_size", width)
        self.head = nn.Linear(width, 1)
        states = self.lstm.num_layers * (1 + self.lstm.bidirectional)
        self.first = nn.Parameter(torch.randn(2, states, 1, 8)) if self.start == "learned" else None

    def forward(self, x):
        h = self.embed(x)
        start = None
        if self.first is not None:
            start = tuple(self.first.expand(2, -1, len(x), 8).contiguous())
        elif self.start:
            start = torch.linspace(-1, 1, 2 * self.lstm.num_layers * 8, dtype=x.dtype).view(2, -1, 1, 8)
            start = tuple(start.repeat(1, 1, len(x), 1))
        out = checkpoint(self.lstm, h, start, use_reentrant=False) if self.again == "checkpoint" else self.lstm(h, start)
        out, (last, cell) = out
        out = out + h if self.residual else out
        if self.again == "twice":
            out = self.lstm(out)[0]
        found = self.head(out).mean((1, 2))
        return found + last.sum((0, 2)) + cell.square().sum((0, 2)) if self.last else found


def made(**options):
    torch.manual_seed(0)
    return Network(**options)


OPTIONS = {
    "one layer": {},
    "three layers": {"num_layers": 3, "last": False},
    "their last states": {"num_layers": 3},
    "both directions": {"bidirectional": True, "num_layers": 2, "last": False},
    "dropout": {"num_layers": 2, "dropout": 0.5},
    "no bias": {"num_layers": 2, "bias": False},
    "projected": {"proj_size": 4},
    "first states": {"start": "given"},
    "learned first states": {"start": "learned", "num_layers": 2},
    "residual": {"residual": True, "num_layers": 2},
    "twice": {"again": "twice", "last": False},
    "checkpoint": {"again": "checkpoint", "num_layers": 2},
}


def definition(losses, ids, leaves):
    """Return each leaf's stacked gradients of the environments' mean losses."""
    rows = [torch.autograd.grad(losses[ids == e].mean(), leaves, retain_graph=True) for e in ids.unique()]
    return [torch.stack(found) for found in zip(*rows, strict=True)]


def assert_masked(gradient, stack, rounding):
    """A component is clear where no environment's gradient is rounding noise."""
    noise = float(rounding * stack.abs().max())
    clear = (stack.abs() > noise).all(0)
    mask = stack.sign().sum(0).abs() >= 0.6 * len(stack) - 1e-6
    assert clear.float().mean() > 0.7
    assert torch.equal((gradient != 0)[clear], mask[clear])
    torch.testing.assert_close(gradient[clear], torch.where(mask, stack.mean(0), 0)[clear], rtol=1e-3, atol=noise)


@pytest.mark.filterwarnings("ignore:LSTM with projections", "ignore:.*take one backward pass for each environment")
@pytest.mark.parametrize("ids", [IDS["adjacent"], IDS["mixed"]], ids=["adjacent", "mixed"])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_networks(options, ids, dtype):
    model, ids = made(**OPTIONS[options]).to(dtype), torch.tensor(ids)
    x = torch.randn(6, 7, 5, dtype=dtype, requires_grad=True)

    def losses():
        torch.manual_seed(3)  # of the dropout
        return model(x).square()

    names = dict(model.named_parameters())
    *stacks, of_input = definition(losses(), ids, [*names.values(), x])
    rounding = 1e-10 if dtype == torch.float64 else 2e-5
    record = Agreement(model, AndMask(0.6)).backward(losses(), ids)
    if options != "learned first states" or dtype == torch.float64:
        assert set(record.paths.values()) == {"layer"}
    for parameter, stack in zip(names.values(), stacks, strict=True):
        assert_masked(parameter.grad, stack, rounding)
    found = x.grad * float((of_input.sum(0) * x.grad).sum() / x.grad.square().sum())  # whatever its scale
    torch.testing.assert_close(found, of_input.sum(0), rtol=1e-3, atol=float(rounding * of_input.abs().max()))
    model.zero_grad()
    Agreement(model, Squares()).backward(losses(), ids)
    for parameter, stack in zip(names.values(), stacks, strict=True):
        expected = stack.square().mean(0)
        torch.testing.assert_close(parameter.grad, expected, rtol=1e-3, atol=float(rounding * expected.max()))


READ = {
    "last hidden states": lambda out, last, cell: last.sum((0, 2)),
    "last cell states": lambda out, last, cell: cell.square().sum((0, 2)),
    "both last states": lambda out, last, cell: (last * cell).sum((0, 2)),
    "states of another example": lambda out, last, cell: out.mean((1, 2)) + last.flip(1).sum((0, 2)),
    "last states of two examples": lambda out, last, cell: last.sum((0, 2)) + cell.roll(2, 1).sum((0, 2)),
    "all of another example": lambda out, last, cell: (out.mean((1, 2)) + cell.sum((0, 2))).flip(0),
}


@pytest.mark.filterwarnings("ignore:.*take one backward pass for each environment")
@pytest.mark.parametrize(
    ("options", "ids"),
    [*(({}, ids) for ids in IDS), ({"num_layers": 2}, "mixed"), ({"bidirectional": True, "num_layers": 2}, "unequal")],
    ids=str,
)
@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("follows", [False, True], ids=["input", "layer"])
def test_what_is_read_of_it(options, read, ids, follows):
    torch.manual_seed(0)
    embed, lstm = nn.Linear(5, 8) if follows else nn.Identity(), nn.LSTM(8, 6, batch_first=True, **options)
    model, x, ids = nn.ModuleList([embed, lstm]), torch.randn(6, 7, 5 if follows else 8), torch.tensor(IDS[ids])

    def losses():
        out, (last, cell) = lstm(embed(x))
        return READ[read](out, last, cell).square()

    stacks = definition(losses(), ids, list(model.parameters()))
    record = Agreement(model, AndMask(0.6)).backward(losses(), ids)
    for parameter, stack in zip(model.parameters(), stacks, strict=True):
        assert_masked(parameter.grad, stack, 2e-5)
    assert read not in list(READ)[:3] or set(record.paths.values()) == {"layer"}


@pytest.mark.parametrize("options", ["one layer", "three layers", "both directions", "residual", "twice"])
def test_what_lies_below_receives_what_autograd_sends(options):
    """To the bit: in float32 a formula's own rounding there would pass on to gradients that all but vanish."""
    model, ids = made(**OPTIONS[options]), torch.tensor(IDS["adjacent"])
    x, seen = torch.randn(6, 7, 5), []
    model.embed.register_forward_hook(lambda *seen_by: seen_by[2].register_hook(seen.append) and None)
    losses = model(x).square()
    torch.autograd.grad(losses, list(model.parameters()), torch.full((6,), 0.5), retain_graph=True)
    Agreement(model, AndMask(0.6)).backward(losses, ids)
    assert len(seen) == 2
    assert torch.equal(*seen)


def layer(steps, examples, inputs, size, scale=1.0, reverse=False):
    """Return a fused layer's node, and what went in and out of it."""
    torch.manual_seed(0)
    lstm = nn.LSTM(inputs, size, bidirectional=reverse)
    with torch.no_grad():
        for parameter in lstm.parameters():
            parameter.mul_(scale)
    node = lstm(torch.randn(steps, examples, inputs))[0].grad_fn
    node = node.next_functions[1][0] if reverse else node
    assert node.name() == "MkldnnRnnLayerBackward0"
    return node, recurrent._past(node)


SHAPES = [(5, 3, 4, 6), (1, 1, 1, 1), (7, 5, 16, 32), (3, 70, 4, 5), (40, 2, 30, 128), (9, 8, 24, 100)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_gates_are_found_where_this_release_leaves_them(shape, reverse):
    """A release that leaves them elsewhere is served as well, and slower: then this is the test that says so."""
    node, past = layer(*shape, reverse=reverse)
    with torch.no_grad():
        found, expected = gates.kept(past, node._saved_result3), gates.opened(past)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
        states = gates.cells(past, expected)[1:].tanh() * expected[:, :, 3]
    torch.testing.assert_close(states, past.states, rtol=1e-4, atol=1e-6)


def spoiled(gates_kept, how):
    """Return a copy of what was kept, with something else in it."""
    found = gates_kept.clone()
    if how == "two gates change places":
        found = found[:, :, [2, 1, 0, 3]]
    elif how == "one step is another's":
        found[3] = found[2].clone()
    elif how == "two examples change places":
        found[:, [0, 1]] = found[:, [1, 0]].clone()
    elif how == "units are rolled":
        found = found.roll(1, -1)
    elif how == "not a number":
        found[2, 1] = torch.nan
    return found


SPOILED = ["two gates change places", "one step is another's", "two examples change places", "units are rolled", "not a number"]


@pytest.mark.parametrize("scale", [1.0, 1e-4, 1e-8])
@pytest.mark.parametrize("how", SPOILED)
def test_other_numbers_are_not_taken_for_gates(how, scale):
    """Small weights leave every gate near its centre, where all look alike."""
    node, past = layer(5, 3, 4, 16, scale)
    with torch.no_grad():
        workspace = node._saved_result3.clone()
        rows = workspace[: 5 * 3 * 64 * 4].view(torch.float32).view(5, 3, 4, 16)
        assert scale < 1 or gates.kept(past, workspace) is not None
        rows.copy_(spoiled(rows, how))
        assert gates.kept(past, workspace) is None


def test_a_workspace_of_another_make_is_left_alone():
    node, past = layer(5, 3, 4, 16)
    workspace = node._saved_result3
    with torch.no_grad():
        assert gates.kept(past, workspace[:64]) is None
        assert gates.kept(past, workspace[1:]) is None
        assert gates.kept(past, workspace.to(torch.int16)) is None
        assert gates.kept(past._replace(states=past.states.bfloat16()), workspace) is None


@pytest.mark.parametrize("unit", [0, 7, 15])
def test_states_that_do_not_follow_from_gates_are_noticed(unit):
    """Units that are not compared one by one: the hidden states say it."""
    node, past = layer(5, 3, 4, 16)
    arriving = recurrent.Incoming(torch.ones(5, 3, 16), None, None)
    with torch.no_grad():
        found = gates.kept(past, node._saved_result3).clone()
        assert recurrent._propagated(past, arriving, found, doubted=True) is not None
        found[2, 1, 1, unit] *= 0.5
        assert recurrent._propagated(past, arriving, found, doubted=True) is None


@pytest.mark.parametrize("spoil", ["gates", "nothing to read"])
def test_gates_that_are_not_found_are_worked_out(spoil, monkeypatch):
    model, ids = made(num_layers=2), torch.tensor(IDS["mixed"])
    x = torch.randn(6, 7, 5)
    losses = model(x).square()
    stacks = definition(losses, ids, list(model.parameters()))
    true = gates.kept
    monkeypatch.setattr(gates, "kept", lambda *args: None if spoil == "nothing to read" else true(*args) * 0.9)
    Agreement(model, AndMask(0.6)).backward(losses, ids)
    for parameter, stack in zip(model.parameters(), stacks, strict=True):
        assert_masked(parameter.grad, stack, 2e-5)


def test_many_blocks_of_steps(monkeypatch):
    model, ids = made(num_layers=2), torch.tensor(IDS["unequal"])
    losses = model(torch.randn(6, 11, 5)).square()
    stacks = definition(losses, ids, list(model.parameters()))
    monkeypatch.setattr(gates, "CHUNK_ELEMENTS", 6 * 32 * 3)
    Agreement(model, AndMask(0.6)).backward(losses, ids)
    for parameter, stack in zip(model.parameters(), stacks, strict=True):
        assert_masked(parameter.grad, stack, 2e-5)


class Packed(nn.Module):
    """Token embeddings, a recurrent layer over sequences without their padding, and a readout.

    Args:
        layer: the recurrent one's class.
        padded: read all states, padded again, in place of the last ones.
        options: of the layer.
    """

    def __init__(self, layer, padded, **options):
        super().__init__()
        self.embed, self.layer, self.padded = nn.Embedding(20, 4), layer(4, 5, **options), padded
        self.head = nn.Linear(5 * (1 + self.layer.bidirectional), 1)

    def forward(self, tokens, lengths):
        first = self.layer.batch_first
        inputs = self.embed(tokens if first else tokens.T)
        states, last = self.layer(pack_padded_sequence(inputs, lengths, batch_first=first, enforce_sorted=False))
        if self.padded:
            return self.head(pad_packed_sequence(states, batch_first=True)[0]).sum((1, 2))
        last = last[0] if isinstance(last, tuple) else last
        return self.head(last.mT.flatten(1) if self.layer.bidirectional else last[-1]).sum(1)


PACKED = {
    "LSTM": (nn.LSTM, False, {"batch_first": True}),
    "LSTM, all states": (nn.LSTM, True, {"num_layers": 2}),
    "GRU, both directions": (nn.GRU, True, {"bidirectional": True, "batch_first": True}),
    "GRU": (nn.GRU, False, {"num_layers": 2}),
    "RNN": (nn.RNN, True, {"batch_first": True}),
}


@pytest.mark.parametrize("ids", [IDS["mixed"], IDS["unequal"]], ids=["mixed", "unequal"])
@pytest.mark.parametrize("lengths", [[3, 6, 2, 6, 1, 4], [6, 1, 1, 1, 1, 1], [6] * 6], ids=["some", "one", "all"])
@pytest.mark.parametrize("kind", PACKED)
def test_sequences_without_their_padding(kind, lengths, ids):
    layer, padded, options = PACKED[kind]
    torch.manual_seed(0)
    model = Packed(layer, padded, **options).double()
    losses = model(torch.randint(20, (6, 6)), torch.tensor(lengths)).square()
    record = assert_definition(Agreement(model, AndMask(0.6)), losses, torch.tensor(ids))
    assert set(record.paths.values()) == {"layer"}
