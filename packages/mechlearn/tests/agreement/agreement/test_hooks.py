"""What is put on tensors inside the model sees what it would see of ``loss.backward()`` on the mean, once."""

import copy
import warnings

import pytest
import torch
from torch import nn

from definition_oracles import stacks_of
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, Qualitative

IDS = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]


def data(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(12, 4, generator=generator, dtype=torch.float64),
        torch.randn(12, generator=generator, dtype=torch.float64),
    )


class Net(nn.Module):
    """Keeps its activations in every way that a model has, and asks them to retain their gradients."""

    def __init__(self, coupled=False):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 1)
        self.kept, self.coupled, self.beside = {}, coupled, []

    def forward(self, x):
        self.h = torch.tanh(self.first(x))
        if self.coupled:
            self.h = self.h - 0.1 * self.h.mean(0)  # from here down the definition takes a pass an environment
        self.kept["second"] = self.second(self.h)
        self.beside = [torch.relu(self.kept["second"])]
        for one in self.noted():
            one.retain_grad()
        return self.third(self.beside[0])[:, 0]

    def noted(self):
        return [self.h, self.kept["second"], *self.beside]


def made(coupled=False):
    torch.manual_seed(1)
    return Net(coupled).double()


def backward(model, rule, **settings):
    x, y = data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Agreement(model, rule, **settings).backward((model(x) - y) ** 2, IDS)


def of_the_mean(model):
    x, y = data()
    ((model(x) - y) ** 2).mean().backward()
    return model


CALLS = {
    "layers": (AndMask(1.0), {}),
    "plain": (Mean(), {}),
    "memoryless test": (Qualitative(0.5), {}),
    "divided by tensors": (AndMask(1.0), {"normalise": "tensor"}),
    "divided by the model's norm": (AndMask(1.0), {"normalise": "model"}),
    "with other statistics": (GeometricMean(1.0), {"normalise": "model"}),
}


@pytest.mark.parametrize("coupled", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_what_retains_its_gradient_has_that_of_the_mean(call, coupled):
    """It had E times as much, and with a norm that of two passes."""
    rule, settings = CALLS[call]
    model = made(coupled)
    backward(model, rule, **settings)
    for found, wanted in zip(model.noted(), of_the_mean(made(coupled)).noted(), strict=True):
        torch.testing.assert_close(found.grad, wanted.grad, rtol=1e-10, atol=1e-12)


def test_gradients_are_added_to_what_is_there_and_stay_where_a_call_fails():
    model = made()
    x, y = data()
    losses = (model(x) - y) ** 2
    model.h.grad = torch.ones_like(model.h)
    with pytest.raises(ValueError, match="should have one id"):
        Agreement(model, AndMask()).backward(losses, [0])
    assert torch.equal(model.h.grad, torch.ones_like(model.h))
    Agreement(model, AndMask()).backward(losses, IDS)
    wanted = of_the_mean(made()).h.grad + 1
    torch.testing.assert_close(model.h.grad, wanted, rtol=1e-10, atol=1e-12)


def test_what_a_forward_hook_keeps_in_a_dictionary_of_its_own_is_found():
    acts, model = {}, nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)).double()

    def note(module, inputs, output):
        output.retain_grad()
        acts["middle"] = output

    model[1].register_forward_hook(note)
    twin = copy.deepcopy(model)
    x, y = data()
    Agreement(model, AndMask()).backward((model(x)[:, 0] - y) ** 2, IDS)
    found = acts["middle"].grad
    ((twin(x)[:, 0] - y) ** 2).mean().backward()
    torch.testing.assert_close(found, acts["middle"].grad, rtol=1e-10, atol=1e-12)


class Seen:
    """A full backward hook that keeps what it saw."""

    def __init__(self, change=None):
        self.calls, self.change = [], change

    def __call__(self, module, incoming, outgoing):
        self.calls.append([None if one is None else one.clone() for one in (*incoming, *outgoing)])
        return None if self.change is None else tuple(None if one is None else self.change(one) for one in incoming)


def layers():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 1)).double()


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")  # torch's, of a module whose inputs need no gradient
@pytest.mark.parametrize("place", [0, 1, 2, 4])
@pytest.mark.parametrize("rule", [AndMask(0.5), Mean(), Qualitative(0.5)], ids=str)
def test_a_full_backward_hook_fires_once_and_leaves_the_fast_path(rule, place):
    """It fired E times, and all parameters below took a pass an environment."""
    x, y = data()
    model, twin, plain = layers(), layers(), layers()
    seen, wanted = Seen(), Seen()
    model[place].register_full_backward_hook(seen)
    twin[place].register_full_backward_hook(wanted)
    record = Agreement(model, rule).backward((model(x)[:, 0] - y) ** 2, IDS)
    ((twin(x)[:, 0] - y) ** 2).mean().backward()
    assert len(seen.calls) == len(wanted.calls) == 1
    for found, right in zip(seen.calls[0], wanted.calls[0], strict=True):
        assert (found is None) == (right is None)
        if found is not None:
            torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-12)
    assert set(record.paths.values()) == {"plain" if isinstance(rule, Mean) else "layer"}
    without = Agreement(plain, rule).backward((plain(x)[:, 0] - y) ** 2, IDS)
    assert record.share_by_parameter == without.share_by_parameter
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-12)


def by_the_definition(model, rule, weigh):
    """Each environment's gradient by itself, of its mean loss as a share of the mean over environments; hooks act on that."""
    x, y = data()
    gradients = []
    for e in range(3):
        rows = torch.tensor(IDS) == e
        losses = (model(x)[:, 0] - y) ** 2
        gradients.append(torch.autograd.grad(losses[rows].mean() / 3, list(model.parameters())))
    norms = [torch.stack([g.square().sum() for g in one]).sum().sqrt() for one in gradients]
    divided = [[g / norm if weigh else 3 * g for g in one] for one, norm in zip(gradients, norms, strict=True)]
    for k, _ in enumerate(model.parameters()):
        together = torch.stack([one[k] for one in divided])
        agree = together.sign().sum(0).abs() >= 3 * rule.threshold
        yield together.mean(0) * agree


def test_a_module_s_hook_that_clamps_rows_acts_as_in_the_pass_of_the_mean():
    model, twin = layers(), layers()
    for one in (model, twin):
        one[2].register_full_backward_hook(Seen(lambda g: g.clamp(-0.01, 0.01)))
    x, y = data()
    Agreement(model, AndMask(0.5)).backward((model(x)[:, 0] - y) ** 2, IDS)
    for parameter, wanted in zip(model.parameters(), by_the_definition(twin, AndMask(0.5), weigh=False), strict=True):
        torch.testing.assert_close(parameter.grad, wanted, rtol=1e-10, atol=1e-12)


class Clamped(nn.Module):
    """A tensor inside has a hook that clamps, as gradient clipping inside recurrent networks does; a graph does not show it."""

    def __init__(self, kind, dtype):
        super().__init__()
        torch.manual_seed(3)
        self.first, self.second, self.norm = nn.Linear(4, 6), nn.Linear(6, 1), nn.LayerNorm(6)
        self.kind = kind
        self.to(dtype)

    def forward(self, x):
        h = self.first(x)
        if self.kind == "clamps":
            h.register_hook(lambda gradient: gradient.clamp(-0.02, 0.02))
        if self.kind == "doubles":
            h.register_hook(lambda gradient: 2 * gradient)
        return self.second(torch.tanh(self.norm(h)))


@pytest.mark.parametrize("rule", [AndMask(0.5), GeometricMean(0.5)], ids=["signs", "other statistics"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_a_hook_that_is_not_linear_is_refused_with_the_model_s_norm_before_a_gradient_is_touched(rule, dtype):
    """The second pass sees other numbers than the first: the result was off by half."""
    x, y = (one.to(dtype) for one in data())
    for kind in ("none", "doubles", "clamps"):
        model = Clamped(kind, dtype)
        losses = (model(x)[:, 0] - y) ** 2
        if kind != "clamps":
            Agreement(model, rule, normalise="model").backward(losses, IDS)
            continue
        with pytest.raises(ValueError, match=r"Hooks inside the model should be linear with normalise='model'.*Found a second"):
            Agreement(model, rule, normalise="model").backward(losses, IDS)
        assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("rule", [AndMask(0.5), GeometricMean(0.5)], ids=["signs", "other statistics"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_that_rounding_alone_leaves_are_no_hook(rule, dtype):
    """Nothing above a layer norm moves the sum of what it returns: gradients there are noise, and differ from pass to pass."""
    for seed in range(5):
        torch.manual_seed(seed)
        model = nn.Transformer(16, 2, 1, 1, 32, dropout=0.0, batch_first=True).to(dtype)
        losses = model(torch.randn(12, 3, 16, dtype=dtype), torch.randn(12, 2, 16, dtype=dtype)).sum((1, 2))
        weight, bias = stacks_of(losses, IDS, list(model.decoder.norm.parameters()))  # which have all of the norm
        Agreement(model, rule, normalise="model").backward(losses, IDS)
        if isinstance(rule, AndMask):
            wanted = bias / torch.cat([weight, bias], 1).norm(dim=1, keepdim=True)
            torch.testing.assert_close(model.decoder.norm.bias.grad, wanted.mean(0))


def test_a_module_s_hook_with_the_model_s_norm_is_refused_where_there_would_be_two_passes():
    x, y = data()
    model = layers()
    seen = Seen()
    model[2].register_full_backward_hook(seen)
    with pytest.raises(ValueError, match=r"Found a module with a full backward hook. Remove"):
        Agreement(model, AndMask(0.5), normalise="model").backward((model(x)[:, 0] - y) ** 2, IDS)
    assert seen.calls == []
    Agreement(model, AndMask(0.5), normalise="model").backward((model(x[:3])[:, 0] - y[:3]) ** 2, [0, 1, 2])  # which takes one
    assert len(seen.calls) == 1


def test_a_function_of_that_name_is_not_torch_s():
    class BackwardHookFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.flip(0)

        @staticmethod
        def backward(ctx, gradient):
            return gradient.flip(0)

    model, (x, y) = layers(), data()
    with pytest.warns(UserWarning, match="BackwardHookFunctionBackward is not known to keep rows apart"):
        record = Agreement(model, AndMask(0.5)).backward((BackwardHookFunction.apply(model(x))[:, 0] - y) ** 2, IDS)
    assert set(record.paths.values()) == {"per-environment"}


def test_several_tensors_through_a_hooked_module_keep_their_places():
    class Pair(nn.Module):
        def forward(self, a, b):
            return b.tanh(), a

    class Outer(nn.Module):
        def __init__(self, hooked):
            super().__init__()
            torch.manual_seed(4)
            self.one, self.two, self.pair, self.out = nn.Linear(4, 3), nn.Linear(4, 3), Pair(), nn.Linear(3, 1)
            if hooked:
                self.pair.register_full_backward_hook(lambda *_: None)
            self.double()

        def forward(self, x):
            a, b = self.pair(self.one(x), self.two(x))
            return self.out(a + 2 * b)[:, 0]

    (x, y), models = data(), [Outer(hooked) for hooked in (False, True)]
    records = [Agreement(model, AndMask(0.5)).backward((model(x) - y) ** 2, IDS) for model in models]
    assert records[0].paths == records[1].paths
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-10, atol=1e-12)
