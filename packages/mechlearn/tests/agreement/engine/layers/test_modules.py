"""Every layer's formulas against the oracle, over generated shapes, options and environments."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import oracles
import rules_oracles
from cpu_alone import cpu_alone
from mechlearn.agreement import Agreement, AndMask, Combined, GeometricMean
from mechlearn.agreement.engine.layers import products


class MeanSquare:
    """Brings the sum of squares to the light."""

    needs = frozenset({"square"})

    def __call__(self, statistics):
        return Combined(statistics.square / statistics.environments, torch.ones_like(statistics.square))


RULES = {"and-mask": AndMask(0.6), "geometric mean": GeometricMean(0.6), "mean square": MeanSquare()}
IDS = st.one_of(
    st.lists(st.integers(0, 3), min_size=2, max_size=9).filter(lambda ids: len(set(ids)) > 1),
    st.integers(2, 6).map(lambda e: list(range(e))),
    st.integers(2, 3).map(lambda e: sorted(list(range(e)) * 2)),
)


def assert_exact(model, x, ids, rule="and-mask", slow=frozenset()):
    """Masks, gradients and paths of one backward pass against stacked gradients."""
    ids = torch.tensor(ids)
    generator = torch.Generator().manual_seed(1)
    # A random readout, not a sum: sums of normalised outputs have no gradient.
    readout = torch.randn(model(x[:1])[0].numel(), dtype=torch.float64, generator=generator)

    def loss(output, targets):
        return ((output.flatten(1) * readout).sum(1) - 1) ** 2

    stacks = oracles.stacked_gradients(model, loss, x, x, ids)
    with Agreement(model, RULES[rule]) as agreement:
        record = agreement.backward(loss(model(x), x), ids)
    assert {key for key, path in record.paths.items() if path == "per-environment"} == set(slow)
    for key, parameter in model.named_parameters():
        gradient, mask = rules_oracles.combine(rule, stacks[key], "0.6")
        scale = float(stacks[key].abs().max())
        scale = scale**2 if rule == "mean square" else scale
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-12, atol=1e-12 * scale)
        if rule == "and-mask":
            # Gradients that are 0 in theory (a key's bias before a softmax) are rounding noise of either sign.
            clear = ((stacks[key] == 0) | (stacks[key].abs() > 1e-13 * scale)).all(0)
            assert torch.equal((parameter.grad != 0)[clear], (mask & (oracles.mean(stacks[key]) != 0))[clear])


def draw_input(seed, ids, *shape):
    return torch.randn(len(ids), *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def build(seed, make):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = make().double()
        for parameter in model.parameters():  # scales of 1 and shifts of 0 would hide a missing factor
            nn.init.normal_(parameter)
    return model


class Sparse(nn.Module):
    """Layers that read sparse rows, and a graph's sparse neighbours."""

    def __init__(self, turn):
        super().__init__()
        self.turn, self.first, self.free = turn, nn.Linear(6, 4), nn.Parameter(torch.randn(6, 3))
        self.vector = nn.Parameter(torch.randn(6))

    def forward(self, x):
        rows = self.turn(x)
        return torch.cat([self.first(rows).tanh(), rows @ self.free, torch.mv(rows, self.vector)[:, None]], 1)


@pytest.mark.filterwarnings("ignore:Sparse:UserWarning", "ignore:.*take one backward pass:UserWarning")
@pytest.mark.parametrize("turn", ["to_sparse", "to_sparse_csr"])
def test_factors_that_are_sparse_take_the_definition(turn):
    ids = [0, 1, 1, 2, 0]
    model = build(0, lambda: Sparse(lambda x: getattr(x.relu(), turn)()))
    assert_exact(model, draw_input(0, ids, 6), ids, slow={"first.weight", "free", "vector"})


@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_parameters_without_rows_or_columns():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.into, self.out = nn.Linear(4, 0), nn.Linear(0, 3)

        def forward(self, x):
            return self.out(self.into(x))

    model = build(0, Model)
    for ids in (range(5), [0, 0, 1, 1, 2]):
        model.zero_grad()
        record = Agreement(model, AndMask(0.5)).backward(model(draw_input(0, range(5), 4)).square().sum(1), torch.tensor(ids))
        assert set(record.paths.values()) == {"layer"}
        assert {name: p.grad.shape for name, p in model.named_parameters()} == {n: p.shape for n, p in model.named_parameters()}


@pytest.mark.parametrize("environments", [1, 2, 126, 127, 300])
@pytest.mark.parametrize("lacking", [False, True])
def test_sign_products_equal_the_sum_of_signs(environments, lacking, monkeypatch):
    monkeypatch.setattr(products, "BYTE_TILE_ELEMENTS", 64)  # several tiles, the last one partial
    if lacking:
        monkeypatch.setattr(products, "_BYTE_PRODUCT", None)
    generator = torch.Generator().manual_seed(0)
    deltas, inputs = (torch.randn(environments, n, generator=generator).relu() for n in (13, 10))
    deltas[:, 0], inputs[:, 0] = 1, -1  # a component on which all agree: the largest sum there can be
    found = products.sign_products(deltas, inputs)
    expected = (deltas[:, :, None] * inputs[:, None]).sign().sum(0)
    assert torch.equal(found.float(), expected)
    assert int(found[0, 0]) == -environments


def test_sign_products_of_every_small_shape_and_layout():
    generator = torch.Generator().manual_seed(0)
    for e, o, i in itertools.product((1, 2, 3, 8, 17), repeat=3):
        deltas, inputs = (torch.randint(-1, 2, (e, n), generator=generator).float() for n in (o, i))
        expected = deltas.T @ inputs
        for d, a in itertools.product((deltas, deltas.T.contiguous().T), (inputs, inputs.T.contiguous().T)):
            assert torch.equal(products.sign_products(d, a).float(), expected), (e, o, i)


@pytest.mark.parametrize("ids", [[0, 0, 1, 1, 2, 2], [2, 0, 1, 0, 2], [0, 1, 2]], ids=["equal", "unequal", "single"])
@pytest.mark.parametrize("shape", [(7,), (3, 7), (2, 2, 7)], ids=["vectors", "sequences", "two dimensions of positions"])
@pytest.mark.parametrize("outputs", [5, 9, 66], ids=["wide", "narrow", "narrow, several tiles"])
@pytest.mark.parametrize("long", [1, products.LONG], ids=["one by one", "many at a time"])
@pytest.mark.parametrize("rule", RULES)
def test_ways_to_form_a_linear_weight(ids, shape, outputs, long, rule, monkeypatch):
    monkeypatch.setattr(products, "LONG", long)
    monkeypatch.setattr("mechlearn.agreement.engine.layers.products.CHUNK_ELEMENTS", 16)  # several tiles, the last one partial
    assert_exact(build(0, lambda: nn.Linear(7, outputs)), draw_input(0, ids, *shape), ids, rule)


def test_a_narrow_weight_has_a_gradient_laid_out_like_itself():
    model = build(0, lambda: nn.Linear(3, 5))
    with Agreement(model, AndMask(0.0)) as agreement:
        agreement.backward(model(draw_input(0, range(4), 3)).sum(1), [0, 0, 1, 1])
    assert model.weight.grad.stride() == model.weight.stride()


def test_byte_sums_of_two_calls_do_not_overflow():
    model = build(0, lambda: nn.Linear(3, 2, bias=False))
    x = torch.ones(100, 3, dtype=torch.float64)
    with Agreement(model, AndMask(1.0)) as agreement:
        agreement.accumulate(model(x).sum(1), range(100))
        record = agreement.backward(model(x).sum(1), range(100, 200))
    assert record.share_by_parameter == {"weight": 1.0}
    torch.testing.assert_close(model.weight.grad, torch.ones(2, 3, dtype=torch.float64))


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@settings(max_examples=12)
@given(
    data=st.data(),
    seed=st.integers(0, 10**6),
    ids=IDS,
    rule=st.sampled_from(list(RULES)),
    groups=st.integers(1, 2),
    bias=st.booleans(),
)
def test_convolutions(dimensions, data, seed, ids, rule, groups, bias):
    def per_dimension(low, high):
        return data.draw(st.tuples(*[st.integers(low, high)] * dimensions))

    kind = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}[dimensions]
    kernel, stride, dilation = per_dimension(1, 3), per_dimension(1, 2), per_dimension(1, 2)
    padding = data.draw(st.one_of(st.tuples(*[st.integers(0, 2)] * dimensions), st.just("valid"), st.just("same")))
    if padding == "same":
        stride = (1,) * dimensions
        if any(d * (k - 1) % 2 for d, k in zip(dilation, kernel, strict=True)):
            kernel = (3,) * dimensions
    space = data.draw(st.tuples(*[st.integers(6, 7)] * dimensions))
    model = build(seed, lambda: kind(2 * groups, 3 * groups, kernel, stride, padding, dilation, groups, bias))
    assert_exact(model, draw_input(seed, ids, 2 * groups, *space), ids, rule)


def test_padding_that_is_not_the_convolution_s_own():
    ids = [0, 0, 1, 2]
    circular = build(0, lambda: nn.Conv1d(2, 3, 3, padding=1, padding_mode="circular"))
    assert_exact(circular, draw_input(0, ids, 2, 6), ids)


def test_transposed_convolution():
    ids = [0, 0, 1, 2]
    assert_exact(build(0, lambda: nn.ConvTranspose2d(2, 3, 3)), draw_input(0, ids, 2, 4, 4), ids)


class Sentence(nn.Module):
    """Token embeddings, pooled; with `tied`, the table is also the output layer's weight."""

    def __init__(self, padding=None, tied=False):
        super().__init__()
        self.table = nn.Embedding(6, 4, padding_idx=padding)
        self.mix = nn.Linear(4, 4)
        self.head = nn.Linear(4, 6, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.mix(self.table(tokens.abs().mul(3).long() % 6))).mean(1))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
@settings(max_examples=8)
@given(seed=st.integers(0, 10**6), ids=IDS, rule=st.sampled_from(list(RULES)))
def test_embeddings(tied, padding, seed, ids, rule):
    model = build(seed, lambda: Sentence(padding, tied))
    assert_exact(model, draw_input(seed, ids, 5), ids, rule)


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.LayerNorm(4),
        lambda: nn.LayerNorm((3, 4)),
        lambda: nn.LayerNorm((2, 3, 4)),
        lambda: nn.GroupNorm(1, 2),
        lambda: nn.GroupNorm(2, 2, eps=0.1),
        lambda: nn.BatchNorm2d(2).eval(),
        lambda: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(24)).eval(),
        lambda: nn.Sequential(nn.Flatten(2), nn.BatchNorm1d(2), nn.GELU()).eval(),
        lambda: nn.Sequential(nn.Unflatten(1, (2, 1)), nn.BatchNorm3d(2)).eval(),
    ],
)
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=5)
@given(seed=st.integers(0, 10**6), ids=IDS)
def test_normalisations(make, rule, seed, ids):
    model = build(seed, make)
    for module in model.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            with torch.no_grad():
                module.running_mean.uniform_(-1, 1)
                module.running_var.uniform_(0.5, 2)
    assert_exact(model, draw_input(seed, ids, 2, 3, 4), ids, rule)


class Residual(nn.Module):
    """A small residual network with shared blocks, in-place activations and dropout."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(2, 4, 3, padding=1)
        self.block = nn.Sequential(
            nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.GroupNorm(2, 4), nn.ReLU(inplace=True), nn.Conv2d(4, 4, 1)
        )
        self.down = nn.Conv2d(4, 6, 3, stride=2)
        self.norm = nn.LayerNorm(6)
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        h = torch.relu_(self.stem(x))
        for _ in range(2):
            h = h + self.block(h)
        return self.head(self.norm(self.down(h).mean((2, 3))))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), ids=IDS)
def test_residual_network(rule, seed, ids):
    assert_exact(build(seed, Residual), draw_input(seed, ids, 2, 5, 6), ids, rule)


@cpu_alone("recurrent layers whose nodes have formulas; cuDNN's take one backward pass for each environment")
@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_recurrent_layers(kind):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn, self.head = nn.Linear(3, 4), kind(4, 5, batch_first=True), nn.Linear(5, 2)

        def forward(self, x):
            return self.head(self.rnn(self.embed(x))[0][:, -1])

    ids = [0, 1, 1, 2, 0]
    assert_exact(build(0, Model), draw_input(0, ids, 6, 3), ids)


class StepsFirst(nn.Module):
    """A layer that wants (time, batch, features), as torch's default is."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.transpose(0, 1)).transpose(0, 1)


@pytest.mark.parametrize("ids", [[0, 1, 1, 2, 0], [0, 0, 1, 1, 2], [0, 0, 1, 1]])
@pytest.mark.parametrize("batch_first", [True, False])
def test_an_encoder_layer(batch_first, ids):
    layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=batch_first)
    model = build(0, lambda: layer if batch_first else StepsFirst(layer))
    assert_exact(model, draw_input(0, ids, 6, 8), ids)


def test_dropout_uses_one_forward_pass():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 40), nn.Dropout(0.5), nn.Linear(40, 3)).double()
    x, ids = draw_input(0, range(6), 5), torch.tensor([0, 0, 1, 1, 2, 2])
    with Agreement(model, AndMask(0.6)) as agreement:
        losses = model(x).square().mean(1)
        expected = [torch.autograd.grad(losses[ids == e].mean(), list(model.parameters()), retain_graph=True) for e in range(3)]
        record = agreement.backward(losses, ids)
    assert set(record.paths.values()) == {"layer"}
    for parameter, *gradients in zip(model.parameters(), *expected, strict=True):
        gradient, _ = oracles.combine("and-mask", torch.stack(gradients), "0.6")
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("ids", [[0, 1, 2, 0, 1, 2], [0, 0, 1, 2, 2, 2], list(range(6))])
@pytest.mark.parametrize("shared", [True, False])
def test_stacked_models_have_the_masks_of_each_by_itself(ids, shared):
    models = [
        build(seed, lambda: nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.LayerNorm(8), nn.Linear(8, 2))) for seed in range(3)
    ]
    stacked, _ = torch.func.stack_module_state(models)
    whole = nn.Module()
    for name, value in stacked.items():
        whole.register_parameter(name.replace(".", "_"), nn.Parameter(value.detach()))
    x = draw_input(0, ids, 4) if shared else draw_input(0, ids, 3, 4).transpose(0, 1)

    def one(parameters, x):
        return torch.func.functional_call(models[0], parameters, (x,))

    named = {name: getattr(whole, name.replace(".", "_")) for name in stacked}
    outputs = torch.func.vmap(one, (0, None if shared else 0))(named, x)
    losses = outputs.square().sum(2)  # (models, examples): one number a model and example
    record = Agreement(whole, AndMask(0.6)).backward(losses.sum(0), ids)
    assert set(record.paths.values()) == {"layer"}
    for number, model in enumerate(models):
        Agreement(model, AndMask(0.6)).backward(model(x if shared else x[number]).square().sum(1), ids)
        for name, parameter in model.named_parameters():
            found = named[name].grad[number]
            assert torch.equal(found != 0, parameter.grad != 0)
            torch.testing.assert_close(found, parameter.grad, rtol=1e-12, atol=1e-15)
