"""Models that the user compiles, whole or in parts, before or after the agreement is made: as the definition has them."""

import pytest
import torch
from torch import nn

from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.agreement.statistics import gradient_statistics, watch
from one_layer import PAIRED, B, noise
from statistics_oracles import assert_statistics, rows_of, stacks_of

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),  # torch.compile imports what torch deprecates
    pytest.mark.filterwarnings("ignore:.*one backward pass for each environment"),
    pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf"),
]
IDS = torch.tensor(PAIRED)
X = noise(B, 5)


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    torch._dynamo.reset()


class Chain(nn.Sequential):
    """torch does not compile the forward pass of its own modules in place."""

    def forward(self, x):
        for layer in self:
            x = layer(x)
        return x


def net():
    torch.manual_seed(0)
    middle = Chain(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 8), nn.Softplus())
    return Chain(nn.Linear(5, 8), middle, nn.Linear(8, 1)).double()


def whole(model):
    return torch.compile(model, backend="aot_eager")


def whole_in_place(model):
    model.compile(backend="aot_eager")
    return model


def a_part(model):
    model[1] = torch.compile(model[1], backend="aot_eager")
    return model


def a_part_in_place(model):
    model[1].compile(backend="aot_eager")
    return model


FORMS = [whole, whole_in_place, a_part, a_part_in_place]


def losses_of(model):
    return lambda x: (model(x)[:, 0] - 1) ** 2


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
class TestForms:
    @pytest.mark.parametrize("rows", [None, "independent"])
    def test_backward(self, form, rows):
        model = form(net())
        agreement = Agreement(model, AndMask(0.6), rows=rows)
        for _ in range(2):
            record = assert_definition(agreement, losses_of(model)(X), IDS)
            losses_of(model)(X).mean().backward()  # an ordinary step between
        assert list(record.paths) == [name for name, _ in model.named_parameters()]
        within = {path for name, path in record.paths.items() if ".1." in f".{name}" or form in (whole, whole_in_place)}
        assert within == {"per-environment"}
        assert form in (whole, whole_in_place) or record.paths["2.weight"] == "layer"

    def test_the_compiled_step(self, form):
        model = form(net())
        step = Agreement(model, AndMask(0.6)).compile(losses_of(model), backend="aot_eager")
        record = step(X, environments=IDS)
        assert step.reason is None
        assert set(record.paths.values()) == {"compiled"}
        found = [p.grad.clone() for p in model.parameters()]
        plain = net()
        assert_definition(Agreement(plain, AndMask(0.6)), losses_of(plain)(X), IDS)
        for gradient, p in zip(found, plain.parameters(), strict=True):
            torch.testing.assert_close(gradient, p.grad)

    def test_statistics(self, form):
        model, plain = form(net()), net()
        stacks = stacks_of(plain, losses_of(plain), (X,), IDS)
        renamed = dict(zip((name for name, _ in model.named_parameters()), stacks.values(), strict=True))
        losses_of(model)(X).mean().backward()  # compiled for one pass, which gives its buffers away
        model.zero_grad()
        for _ in range(2):
            losses = losses_of(model)(X)
            found = gradient_statistics(model, losses, IDS, examples=True)
            assert_statistics(found, renamed)
            squares = torch.cat(list(rows_of(plain, losses_of(plain), (X,)).values()), 1).square().sum(1)
            torch.testing.assert_close(found.example_norms, squares.sqrt(), rtol=1e-8, atol=1e-12)
            losses.mean().backward()  # the graph that was measured
            for p, q in zip(model.parameters(), plain.parameters(), strict=True):
                (wanted,) = torch.autograd.grad(losses_of(plain)(X).mean(), q)
                torch.testing.assert_close(p.grad, wanted, rtol=1e-9, atol=1e-12)
            model.zero_grad()

    def test_watching(self, form):
        model, plain = form(net()), net()
        found = watch(model, losses_of(model), X, environments=IDS)
        assert set(found.paths.values()) == {"layer"}
        torch.testing.assert_close(found.cosines, gradient_statistics(plain, losses_of(plain)(X), IDS).cosines)


class TestBatchNorm:
    """A compiled graph does not show that rows meet in it."""

    def model(self):
        torch.manual_seed(0)
        return Chain(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 1)).double()

    def test_in_train_mode_it_is_refused(self):
        model = whole_in_place(self.model())
        with pytest.raises(ValueError, match=r"BatchNorm in train mode.*statistics='pooled'"):
            Agreement(model, AndMask(0.6)).backward(losses_of(model)(X), IDS)
        with pytest.raises(ValueError, match="Found 4 environments in one batch"):
            Agreement(model, AndMask(0.6), statistics="per-environment").backward(losses_of(model)(X), IDS)
        with pytest.raises(ValueError, match="Found BatchNorm in train mode"):
            gradient_statistics(model, losses_of(model)(X), IDS)
        with pytest.raises(ValueError, match="Found BatchNorm in train mode"):
            watch(model, losses_of(model), X, environments=IDS)
        assert all(p.grad is None for p in model.parameters())

    def test_a_choice_is_taken(self):
        model = whole_in_place(self.model())
        assert_definition(Agreement(model, AndMask(0.6), statistics="pooled"), losses_of(model)(X), IDS)
        apart = Agreement(model, AndMask(0.6), statistics="per-environment")
        for e in range(3):
            rows = e == IDS
            (apart.backward if e == 2 else apart.accumulate)(losses_of(model)(X[rows]), IDS[rows])

    def test_in_eval_mode_it_is_served(self):
        model = whole_in_place(self.model().eval())
        assert_definition(Agreement(model, AndMask(0.6)), losses_of(model)(X), IDS)

    def test_a_mean_asks_for_nothing(self):
        model = whole_in_place(self.model())
        Agreement(model, Mean()).backward(losses_of(model)(X), IDS)
        assert all(p.grad is not None for p in model.parameters())
