import functools
import math
import threading
import time
from collections import OrderedDict

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from cpu_alone import ON_A_GPU
from mechlearn.nn.perceptrons import mlp, relu_mlp
from mechlearn.nn.stacks import Stack, StackedAdam
from mechlearn_zoo.nn.convolutions import Scale

SINGLE = ON_A_GPU
"""Whether torch's weight norm takes its roots in float32 whatever the type, as on a GPU; a stack's are in that type."""

RATES, DECAYS = [0.1, 0.03, 0.01, 0.003], [0.0, 0.1, 0.3, 1.0]


def perceptrons(weight_norm=False):
    return [relu_mlp((5, 7, 3), torch.Generator().manual_seed(m), weight_norm).double() for m in range(4)]


def batches(steps):
    generator = torch.Generator().manual_seed(9)
    for _ in range(steps):
        yield (torch.randn(4, 11, 5, dtype=torch.float64, generator=generator), torch.randint(3, (4, 11), generator=generator))


def one_by_one(members, steps, decoupled, stops=(99,) * 4):
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    for m, member in enumerate(members):
        optimizer = kind(member.parameters(), lr=RATES[m], weight_decay=DECAYS[m])
        for step, (x, y) in enumerate(batches(steps)):
            if step < stops[m]:
                optimizer.zero_grad()
                F.cross_entropy(member(x[m]), y[m]).backward()
                optimizer.step()


def together(stack, steps, decoupled, stops=(99,) * 4):
    optimizer = StackedAdam(stack.parameters(), RATES, DECAYS, decoupled)
    for step, (x, y) in enumerate(batches(steps)):
        optimizer.zero_grad()
        F.cross_entropy(stack(x).movedim(-1, 1), y, reduction="none").mean(1).sum().backward()
        optimizer.step(running=torch.tensor([step < stop for stop in stops]))


def apart(stack, members):
    return max(
        float((ours - theirs).abs().max().detach())
        for m, member in enumerate(members)
        for ours, theirs in zip(stack.member(m).parameters(), member.parameters(), strict=True)
    )


@pytest.mark.parametrize("decoupled", [False, True])
@pytest.mark.parametrize(("steps", "tolerance"), [(1, 1e-12), (50, 1e-9)])
@pytest.mark.parametrize("weight_norm", [False, True])
def test_members_train_as_they_would_alone(decoupled, steps, tolerance, weight_norm):
    members = perceptrons(weight_norm)
    stack = Stack(members)
    together(stack, steps, decoupled)
    one_by_one(members, steps, decoupled)
    assert apart(stack, members) < (1e-5 if SINGLE and weight_norm else tolerance)


def test_a_member_that_stopped_stays_and_the_others_do_not_notice():
    members, stops = perceptrons(), (50, 10, 0, 30)
    stack = Stack(members)
    together(stack, 50, True, stops)
    one_by_one(members, 50, True, stops)
    assert apart(stack, members) < 1e-9


def test_a_member_that_diverged_and_stopped_spoils_nothing():
    stack = Stack(perceptrons())
    before = stack.member(1)
    optimizer = StackedAdam(stack.parameters(), RATES, DECAYS, decoupled=True)
    for _, parameter in stack.named_parameters():
        parameter.grad = torch.ones_like(parameter)
        parameter.grad[1] = torch.nan
    optimizer.step(running=torch.tensor([True, False, True, True]))
    assert all(bool(parameter.isfinite().all()) for parameter in stack.parameters())
    assert all(torch.equal(a, b) for a, b in zip(stack.member(1).parameters(), before.parameters(), strict=True))


def test_other_architectures_go_through_vmap():
    def network(seed):
        first = nn.Conv1d(2, 4, 3)
        with torch.no_grad():
            first.weight.copy_(torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(seed)))
            first.bias.zero_()
        return nn.Sequential(first, nn.LayerNorm(6)).double()

    members = [network(m) for m in range(3)]
    x = torch.randn(3, 5, 2, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    expected = torch.stack([member(rows) for member, rows in zip(members, x, strict=True)])
    torch.testing.assert_close(Stack(members)(x), expected, rtol=0, atol=1e-12)


def shared_activation():
    activation = nn.Tanh()
    return nn.Sequential(nn.Linear(3, 4), activation, nn.Linear(4, 4), activation, nn.Linear(4, 2))


def shared_layer():
    layer = nn.Linear(3, 3)
    return nn.Sequential(layer, nn.ReLU(), layer, nn.ReLU(), nn.Linear(3, 2))


def shared_normalised_layer():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
    return nn.Sequential(layer, nn.ReLU(), layer)


def shared_weight():
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    second.weight = first.weight
    return nn.Sequential(first, nn.ReLU(), second)


@pytest.mark.parametrize("make", [shared_activation, shared_layer, shared_normalised_layer, shared_weight])
def test_a_layer_at_several_places_is_called_at_each(make):
    members = [make().double() for _ in range(3)]
    x = torch.randn(3, 5, 3, dtype=torch.float64)
    wanted = torch.stack([member(rows) for member, rows in zip(members, x, strict=True)])
    stack = Stack(members)
    rounding = 1e-6 if SINGLE and make is shared_normalised_layer else 1e-12
    torch.testing.assert_close(stack(x), wanted, rtol=0, atol=rounding)
    torch.testing.assert_close(stack.member(1)(x[1]), wanted[1], rtol=0, atol=0)


def dropping():
    return nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))


def test_the_mode_of_a_stack_is_its_members():
    members, x = [dropping().eval() for _ in range(2)], torch.randn(2, 5, 3)
    wanted = torch.stack([member(rows) for member, rows in zip(members, x, strict=True)])
    stack = Stack(members)
    assert not stack.training
    torch.testing.assert_close(stack(x), wanted)
    assert stack.train().training
    assert stack.member(0)[1].training
    with pytest.raises(ValueError, match=r"no random numbers.*Found Dropout at '1' in train mode\. Call eval\(\) on the stack"):
        stack(x)
    nn.Sequential(stack).eval()
    torch.testing.assert_close(stack(x), wanted)
    assert Stack([dropping()]).training
    assert not any(member.training for member in members)


def test_draws_outside_of_layers_are_refused_and_other_errors_stay():
    class Drawing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            return self.layer(x) + torch.randn(3)

    with pytest.raises(ValueError, match="Found an operation that draws"):
        Stack([Drawing()])(torch.ones(1, 5, 3))
    with pytest.raises(RuntimeError, match="Expected size"):
        Stack([dropping().eval()])(torch.ones(1, 5, 4))


class Attention(nn.Module):
    def __init__(self, heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(4, heads)


class Kept(nn.Module):
    """A layer with one more attribute."""

    def __init__(self, kept):
        super().__init__()
        self.layer, self.kept = nn.Linear(2, 2), kept


def times(factor):
    return lambda x: factor * x


def through_another(factor):
    inner = times(factor)
    return lambda x: 1 + inner(x)


class Factor:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x


class Slotted:
    __slots__ = ("__factor",)

    def __init__(self, factor):
        self.__factor = factor


def local_class(factor):
    class Local(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 2)

        def forward(self, x):
            return factor * self.layer(x)

    return Local()


def hooked(factor):
    member = nn.Sequential(nn.Linear(2, 2))
    member[0].register_forward_hook(lambda module, inputs, output: factor * output)
    return member


class WithLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.LSTM(2, 2)
        self.again = [self.inner]


def half_trained():
    member = dropping()
    member[1].eval()
    return member


ENDS = r".+vice='cuda:\d'" if ON_A_GPU else r".\]"


def leaky(slope):
    return functools.partial(F.leaky_relu, negative_slope=slope)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        (
            nn.Sequential(nn.Linear(3, 3), Scale(1.0)),
            nn.Sequential(nn.Linear(3, 3), Scale(2.0)),
            r"2\.0 .* 1\.0 as 'factor' of '1'",
        ),
        (Attention(1), Attention(2), r"2 instead of 1 as 'num_heads' of 'inner'"),
        (dropping(), half_trained(), r"False instead of True as 'training' of '1'"),
        (Kept(None), Kept("gelu"), r"'gelu' instead of None as 'kept' of the member itself"),
        (Kept((1, [2])), Kept((1, [3])), "as 'kept'"),
        (Kept({"a": 1}), Kept({"a": 2}), "as 'kept'"),
        (Kept({"a": 1}), Kept({"b": 1}), "as 'kept'"),
        (Kept(torch.float32), Kept(torch.float64), "as 'kept'"),
        (Kept(torch.device("cpu")), Kept(torch.device("meta")), "as 'kept'"),
        (Kept(torch.relu), Kept(torch.tanh), "as 'kept'"),
        (Kept(F.relu), Kept(F.silu), "as 'kept'"),
        (Kept(times(1)), Kept(times(2)), "as 'kept'"),
        (Kept(leaky(0.1)), Kept(leaky(0.2)), "as 'kept'"),
        (Kept(torch.zeros(2)), Kept(torch.ones(2)), rf"tensor\(\[1., 1{ENDS}\) instead of tensor\(\[0., 0{ENDS}\) as 'kept'"),
        (Kept(torch.zeros(2)), Kept(torch.zeros(1)), "as 'kept'"),
        (Kept(torch.zeros(2)), Kept(None), "as 'kept'"),
        (Kept(np.zeros(2)), Kept(np.ones(2)), "as 'kept'"),
        (Kept(np.zeros(2)), Kept(np.zeros((2, 1))), "as 'kept'"),
        (Kept(np.array([1, None])), Kept(np.array([2, None])), "as 'kept'"),
        (Kept(times(torch.ones(2))), Kept(times(torch.zeros(2))), "as 'kept'"),
        (Kept(through_another(1.0)), Kept(through_another(2.0)), "as 'kept'"),
        (Kept(Factor(1.0)), Kept(Factor(2.0)), "as 'kept'"),
        (Kept(Factor(1.0).__call__), Kept(Factor(2.0).__call__), "as 'kept'"),
        (Kept(Slotted(1.0)), Kept(Slotted(2.0)), "as 'kept'"),
        (Kept({1, 2}), Kept({1, 3}), "as 'kept'"),
        (Kept({nn.ReLU(): 1}), Kept({nn.ReLU(): 2}), "as 'kept'"),
        (Kept([nn.LeakyReLU(0.1)]), Kept([nn.LeakyReLU(0.2)]), "as 'kept'"),
        (Kept([nn.LSTM(2, 2)]), Kept([nn.LSTM(2, 2)]), "as 'kept'"),  # no parameters of the members: all would use the first's
        (Kept(threading.Lock()), Kept(threading.Lock()), "as 'kept'"),
        (Kept(nn.ReLU), Kept(nn.Tanh), "as 'kept'"),
        (local_class(1.0), local_class(2.0), "as 'class' of the member itself"),
        (hooked(1.0), hooked(2.0), "as '_forward_hooks' of '0'"),
    ],
)
def test_members_with_other_settings_are_refused(one, other, found):
    with pytest.raises(ValueError, match=rf"(?s)one architecture\. Found at 2: .*{found}.* Stack each architecture apart"):
        Stack([one, one, other])


@torch.no_grad()
def constant(layer):
    for parameter in layer.parameters():
        parameter.fill_(1.0)
    return layer


def repeated(entries):
    entries.append(entries)
    return entries


@pytest.mark.parametrize(
    "kept",
    [
        lambda: math.nan,
        lambda: times(2),
        lambda: times(torch.ones(3)),
        lambda: leaky(0.1),
        lambda: {"a": [1, (2.0, None)], 3: torch.relu},
        lambda: [torch.ones(2), nn.ReLU(), torch.Generator()],
        lambda: {nn.ReLU(): 1},
        lambda: torch.ones(2),
        lambda: torch.tensor([torch.nan, 1.0]),
        lambda: np.array([np.nan, 1.0]),
        lambda: np.array(["a", "b"]),
        lambda: [constant(nn.LSTM(2, 2))],
        lambda: through_another(torch.ones(2)),
        lambda: Factor(2.0),
        lambda: Factor(2.0).__call__,
        lambda: Slotted(2.0),
        lambda: {1, "a"},
        lambda: repeated([1]),
    ],
)
def test_members_with_equal_settings_are_taken(kept):
    assert len(Stack([Kept(kept()), Kept(kept())])) == 2


def test_what_a_member_holds_of_its_own_parameters_is_no_setting():
    assert len(Stack([WithLSTM(), WithLSTM()])) == 2
    assert len(Stack([hooked(2.0), hooked(2.0)])) == 2


class Doubled(nn.Linear):
    def forward(self, x):
        return 2 * super().forward(x)


def patched(layer):
    layer.forward = functools.partial(torch.Tensor.mul, other=3.0)
    return layer


@pytest.mark.parametrize(
    "layer",
    [
        lambda: nn.utils.parametrizations.weight_norm(Doubled(3, 3)),
        lambda: Doubled(3, 3),
        lambda: patched(nn.Linear(3, 3)),
        lambda: patched(nn.ReLU()),
    ],
)
@pytest.mark.filterwarnings("ignore:There is a performance drop")  # vmap of torch's weight norm
def test_a_layer_is_dense_by_its_own_forward_alone(layer):
    members = [nn.Sequential(layer(), nn.Tanh(), nn.Linear(3, 2)) for _ in range(2)]
    x = torch.randn(2, 5, 3)
    wanted = torch.stack([member(rows) for member, rows in zip(members, x, strict=True)])
    torch.testing.assert_close(Stack(members)(x), wanted)
    patched(members[0])
    patched(members[1])
    torch.testing.assert_close(Stack(members)(x), 3 * x)


def test_a_function_that_closes_over_a_part_of_a_member_is_refused():
    def member():
        made = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
        layer = made[0]
        layer.forward = lambda x: 3 * F.linear(x, layer.weight, layer.bias)
        return made

    with pytest.raises(
        ValueError, match=r"Found one that closes over a part, 'forward' of '0'\. Make it a method, or a module"
    ):
        Stack([member(), member()])


def test_names_that_a_stack_cannot_keep_apart_are_refused():
    def collide():
        return nn.Sequential(OrderedDict({"a-b": nn.Linear(3, 3), "a": nn.Sequential(OrderedDict({"b": nn.Linear(3, 3)}))}))

    with pytest.raises(ValueError, match=r"Found 'a\.b\.weight', as 'a-b-weight' what 'a-b\.weight' is, too\. Rename"):
        Stack([collide(), collide()])
    for name in ("member", "stacked"):
        network = nn.Linear(2, 2)
        network.register_parameter(name, nn.Parameter(torch.ones(2)))
        with pytest.raises(ValueError, match=rf"Found '{name}', as '{name}' an attribute of the stack\. Rename"):
            Stack([network])


@pytest.mark.parametrize(
    "make", [lambda: nn.Sequential(nn.Linear(3, 2)), lambda: nn.Sequential(nn.Linear(3, 2), nn.LayerNorm(2))]
)
def test_a_stack_goes_through_functional_call(make):
    stack = Stack([make().double() for _ in range(3)])
    x = torch.randn(3, 5, 3, dtype=torch.float64)

    def loss(params):
        return torch.func.functional_call(stack, params, (x,)).square().sum()

    found = torch.func.grad(loss)(dict(stack.named_parameters()))
    stack(x).square().sum().backward()
    for name, parameter in stack.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=0, atol=1e-12)


def test_rates_are_changed_in_place():
    stack = Stack(perceptrons())
    optimizer = StackedAdam(stack.parameters(), RATES)
    rates = optimizer.param_groups[0]["lr"]
    rates.mul_(torch.tensor([0.0, 1.0, 1.0, 1.0], device=rates.device))
    before = stack.member(0), stack.member(1)
    stack(torch.ones(4, 2, 5, dtype=torch.float64)).square().sum().backward()
    optimizer.step()
    still = [torch.equal(a, b) for a, b in zip(before[0].parameters(), stack.member(0).parameters(), strict=True)]
    assert all(still)
    assert not torch.equal(before[1][0].weight, stack.member(1)[0].weight)


def test_members_that_share_layers_in_other_ways_are_refused():
    a, b, c, d = (nn.Linear(2, 2) for _ in range(4))
    with pytest.raises(ValueError, match=r"'2\.weight' shared with '1\.weight' instead of '2\.weight' shared with '0\.weight'"):
        Stack([nn.Sequential(a, b, a), nn.Sequential(c, d, d)])


def test_a_hook_of_a_member_is_called():
    members = [relu_mlp((3, 4, 2), torch.Generator().manual_seed(seed)) for seed in range(2)]
    for member in members:
        member[0].register_forward_hook(lambda module, inputs, output: 2 * output)
    x = torch.randn(2, 5, 3)
    wanted = torch.stack([member(rows) for member, rows in zip(members, x, strict=True)])
    torch.testing.assert_close(Stack(members)(x), wanted)


def test_members_stay_as_they_are_and_come_back():
    members = perceptrons()
    stack = Stack(members)
    assert len(stack) == 4
    assert set(stack.stacked()) == set(dict(members[0].named_parameters()))
    together(stack, 2, False)
    assert apart(Stack(members), perceptrons()) == 0.0
    x = torch.ones(4, 2, 5, dtype=torch.float64)
    torch.testing.assert_close(stack.member(2)(x[2]), stack(x)[2])


def test_a_stack_is_saved_like_any_module():
    stack, other = Stack(perceptrons()), Stack(perceptrons()[::-1])
    other.load_state_dict(stack.state_dict())
    x = torch.ones(4, 2, 5, dtype=torch.float64)
    assert torch.equal(stack(x), other(x))


def test_many_small_networks_are_faster_together():
    # 64 networks of 32 hidden units on 256 rows; measured 5 to 20 times on one core, asked for: more than twice.
    members = [mlp(10, 2, torch.Generator().manual_seed(m), hidden=32, layers=1) for m in range(64)]
    x, y = torch.randn(256, 10), torch.randint(2, (256,))

    def alone():
        for member in members:
            F.cross_entropy(member(x), y).backward()

    stack = Stack(members)

    def stacked():
        outputs = stack(x.expand(64, 256, 10))
        (F.cross_entropy(outputs.flatten(0, 1), y.repeat(64)) * 64).backward()

    def seconds(run):
        run()
        times = []
        for _ in range(5):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        return min(times)

    assert seconds(alone) > 2 * seconds(stacked)


def test_refusals():
    first, other = relu_mlp((5, 7, 3), torch.Generator()), relu_mlp((5, 8, 3), torch.Generator())
    with pytest.raises(ValueError, match="at least one member"):
        Stack([])
    with pytest.raises(TypeError, match=r"(?i)members"):
        Stack([3, 3])
    with pytest.raises(ValueError, match="one architecture"):
        Stack([first, other])
    with pytest.raises(ValueError, match="buffer"):
        Stack([nn.BatchNorm1d(3)])
    with pytest.raises(ValueError, match="parameters"):
        Stack([nn.ReLU()])
    stack = Stack([first, first])
    with pytest.raises(ValueError, match=r"expand\(2"):
        stack(torch.ones(3, 4, 5))
    with pytest.raises(ValueError, match="one number for each of 2"):
        StackedAdam(stack.parameters(), [0.1, 0.1, 0.1])
    with pytest.raises(TypeError, match=r"rates"):
        StackedAdam(stack.parameters(), [None, 0.1])
    with pytest.raises(ValueError, match=r"decays\[1\]"):
        StackedAdam(stack.parameters(), decays=[0.1, -1.0])
    with pytest.raises(ValueError, match="leading axis"):
        StackedAdam([torch.ones(2, 3), torch.ones(3, 3)])
    optimizer = StackedAdam(stack.parameters())
    with pytest.raises(TypeError, match="running"):
        optimizer.step(running=torch.ones(2))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        optimizer.step(running=torch.ones(3, dtype=torch.bool))


def test_rates_and_parameters_of_another_kind(as_installed):
    stack = Stack([relu_mlp((5, 7, 3), torch.Generator())] * 2)
    with pytest.raises(TypeError, match=r"`rates` should be a number, or one for each member. Found NoneType"):
        StackedAdam(stack.parameters(), None)
    with pytest.raises(TypeError, match="`betas` should be a pair"):
        StackedAdam(stack.parameters(), betas=0.9)
    with pytest.raises(ValueError, match="`betas` should be a pair"):
        StackedAdam(stack.parameters(), betas=(0.9,))
    for params in (stack.named_parameters(), [{"params": list(stack.parameters())}]):
        with pytest.raises(TypeError, match=r"`params` should be a list of parameters.*without groups or names"):
            StackedAdam(params)
    for rates in (np.float32(0.1), np.full(2, 0.1, dtype=np.float32)):
        found = StackedAdam(stack.parameters(), rates).param_groups[0]["lr"]
        assert found.tolist() == [float(np.float32(0.1))] * 2
