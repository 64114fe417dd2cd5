import copy
import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mechlearn.agreement import AdamForm, TemporalAndMaskAdam
from mechlearn.agreement.temporal import compiled as temporal_compiled
from mechlearn.agreement.temporal import steps as temporal
from temporal_oracles import Literal1, temporal_and_mask_adam

SHAPES = st.lists(st.lists(st.integers(1, 4), max_size=3).map(tuple), min_size=1, max_size=3)


@st.composite
def settings(draw):
    return {
        "lr": draw(st.sampled_from([1e-3, 0.1])),
        "betas": tuple(draw(st.sampled_from([0.0, 0.3, 0.9, 0.99])) for _ in range(3)),
        "threshold": draw(st.sampled_from([0.0, 0.2, 0.41, 0.77])),
        "eps": draw(st.sampled_from([1e-8, 1e-3])),
        "weight_decay": draw(st.sampled_from([0.0, 0.1])),
        "bias_correction": draw(st.sampled_from(["none", "moments", "all"])),
        "eps_inside_root": draw(st.booleans()),
        "maximize": draw(st.booleans()),
    }


def gradients(shapes, steps, seed):
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        # zeros among them, and one sign that never changes
        yield [torch.randint(-1, 3, shape, generator=generator).double() + 0.1 for shape in shapes]


def make(parameters, **settings):
    form = {name: settings.pop(name) for name in list(settings) if name in AdamForm.__dataclass_fields__}
    return TemporalAndMaskAdam(parameters, **settings, form=AdamForm(**form))


def trained(shapes, options, steps=6, seed=0, **kind):
    generator = torch.Generator().manual_seed(1)
    parameters = [torch.nn.Parameter(torch.randn(shape, dtype=torch.float64, generator=generator)) for shape in shapes]
    optimizer = make(parameters, **options, **kind)
    start = [parameter.detach().clone() for parameter in parameters]
    for step in gradients(shapes, steps, seed):
        for parameter, gradient in zip(parameters, step, strict=True):
            parameter.grad = gradient
        optimizer.step()
    return start, parameters, optimizer


KINDS = [{"implementation": "loop"}, {"implementation": "foreach"}, {"implementation": "compiled"}]


@given(shapes=SHAPES, options=settings(), seed=st.integers(0, 100), kind=st.sampled_from(KINDS))
def test_a_step_is_the_literal_algorithm(shapes, options, seed, kind):
    start, found, optimizer = trained(shapes, options, seed=seed, **kind)
    for index, (theta, parameter) in enumerate(zip(start, found, strict=True)):
        oracle = Literal1.of(theta)
        for step in gradients(shapes, 6, seed):
            oracle, mask = temporal_and_mask_adam(oracle, step[index], **options)
        torch.testing.assert_close(parameter.detach(), oracle.theta, rtol=1e-12, atol=1e-12)
        assert optimizer.survivors()[index] == pytest.approx(mask.double().mean().item())


WAYS = [
    {"lr": 0.1, "weight_decay": 0.1, "threshold": 0.3, "bias_correction": "all"},
    {"lr": 0.2, "betas": (0.0, 0.5, 0.8), "threshold": 0.5, "maximize": True},
]


SEVERAL = [(3, 4), (), (5,), (7, 11), (2, 3, 4)]


def assert_the_loop(kind, options, shapes):
    _, loop, _ = trained(shapes, options, implementation="loop")
    _, other, _ = trained(shapes, options, **kind)
    for one, two in zip(loop, other, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", WAYS)
def test_the_foreach_step_is_the_loop(options, monkeypatch):
    monkeypatch.setattr(temporal, "BLOCK_ELEMENTS", 16)  # several blocks, the last one partial
    assert_the_loop({"implementation": "foreach"}, options, SEVERAL)


@pytest.fixture
def no_kernels(monkeypatch):
    """As on a GPU, or without a C compiler."""
    monkeypatch.setattr(temporal_compiled, "_kernels", lambda like: None)


@pytest.mark.usefixtures("no_kernels")
@pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning")  # torch's own compiler
def test_without_kernels_the_loop_is_compiled_once_for_all(monkeypatch):
    monkeypatch.setattr(temporal, "BLOCK_ELEMENTS", 16)
    assert_the_loop({"implementation": "compiled"}, WAYS[0], SEVERAL)
    compiled = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    assert compiled > 0
    for options in WAYS:
        assert_the_loop({"implementation": "compiled"}, options, [*SEVERAL, (9, 9, 2)])
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == compiled


def test_a_compiled_step_tells_autograd_that_weights_have_changed():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = TemporalAndMaskAdam([parameter], threshold=0.0, implementation="compiled")
    loss = parameter.square().sum()
    parameter.grad = torch.ones(3)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("kind", KINDS)
def test_strides_and_types_may_differ(kind, monkeypatch):
    monkeypatch.setattr(temporal, "BLOCK_ELEMENTS", 8)
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(4, 6, generator=generator).T, torch.randn(3, 3, dtype=torch.float64, generator=generator)]
    parameters = [torch.nn.Parameter(tensor.clone(memory_format=torch.preserve_format)) for tensor in start]
    optimizer = TemporalAndMaskAdam(parameters, lr=0.1, threshold=0.05, **kind)
    oracles = [Literal1.of(tensor.double()) for tensor in start]
    options = (0.1, (0.9, 0.999, 0.9), 0.05, 1e-8, 0.0, "none", True, False)
    for _ in range(4):
        for index, parameter in enumerate(parameters):
            parameter.grad = torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator)
            oracles[index], _ = temporal_and_mask_adam(oracles[index], parameter.grad.double(), *options)
        optimizer.step()
    for parameter, oracle in zip(parameters, oracles, strict=True):
        torch.testing.assert_close(parameter.detach().double(), oracle.theta, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("no_kernels")
def test_without_any_compiler_nothing_moves(monkeypatch):
    def broken(*_):
        raise RuntimeError("InvalidCxxCompiler: No working C++ compiler found")

    monkeypatch.setattr(temporal_compiled, "_fused", lambda: broken)
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = TemporalAndMaskAdam([parameter], implementation="compiled")
    parameter.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match=r"`implementation='compiled'` should find a C\+\+ compiler.*choose 'foreach'"):
        optimizer.step()
    assert torch.equal(parameter, torch.ones(2))
    assert optimizer.state[parameter]["step"] == 0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", KINDS)
def test_nonfinite_gradients_are_refused_or_seen(value, kind):
    fine, broken = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = TemporalAndMaskAdam([fine, broken], threshold=0.99, **kind)
    fine.grad, broken.grad = torch.ones(2), torch.tensor([1.0, value])
    with pytest.raises(FloatingPointError, match=r"Found NaN or infinity.*nothing has moved"):
        optimizer.step()
    assert torch.equal(fine, torch.ones(2))
    assert not optimizer.state
    optimizer.param_groups[0]["refuse_nonfinite"] = False
    optimizer.step()
    assert broken.isnan().tolist() == [False, True]  # though the mask lets nothing through
    assert torch.equal(fine, torch.ones(2))


@pytest.mark.parametrize("kind", KINDS)
def test_finite_gradients_whose_sum_overflows_pass(kind):
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = TemporalAndMaskAdam([parameter], **kind)
    parameter.grad = torch.full((2,), 3e38)
    optimizer.step()
    assert optimizer.state[parameter]["step"] == 1


def test_a_state_loads_into_another_type():
    shapes, options = [(3,), (2, 2)], {"lr": 0.1, "threshold": 0.3}
    _, parameters, optimizer = trained(shapes, options)
    twins = [torch.nn.Parameter(parameter.detach().float()) for parameter in parameters]
    twin = TemporalAndMaskAdam(twins)
    twin.load_state_dict(optimizer.state_dict())
    assert twin.state[twins[0]]["sign_avg"].dtype == torch.float32
    assert twin.param_groups[0]["threshold"] == 0.3
    for parameter in twins:
        parameter.grad = torch.ones_like(parameter)
    twin.step()
    assert twin.state[twins[0]]["step"] == 7


def test_threshold_zero_with_adams_choices_is_adam():
    shapes, options = [(3, 4)], {"lr": 0.1, "threshold": 0.0, "bias_correction": "moments", "eps_inside_root": False}
    start, found, _ = trained(shapes, options)
    parameter = torch.nn.Parameter(start[0].clone())
    adam = torch.optim.Adam([parameter], lr=0.1)
    for (gradient,) in gradients(shapes, 6, 0):
        parameter.grad = gradient
        adam.step()
    torch.testing.assert_close(found[0], parameter, rtol=1e-12, atol=1e-12)


def test_masked_weights_do_not_move_but_decay():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = TemporalAndMaskAdam([parameter], lr=0.1, betas=(0.0, 0.9, 0.5), threshold=0.6, weight_decay=0.5)
    for sign in (1.0, -1.0, 1.0, -1.0):
        parameter.grad = torch.tensor([sign, 1.0])
        optimizer.step()
    assert parameter[0].item() == pytest.approx(0.95**4)
    assert parameter[1].item() < 0.95**4
    assert optimizer.survivors() == [0.5]


@pytest.mark.parametrize(
    ("beta", "dtype", "steps"),
    [(0.9, torch.float32, 30), (0.999, torch.float32, 1500), (0.9, torch.bfloat16, 200), (0.99, torch.float64, 600)],
)
def test_corrected_signs_that_never_change_pass_threshold_one(beta, dtype, steps):
    parameter = torch.nn.Parameter(torch.ones(3, dtype=dtype))
    form = AdamForm(bias_correction="all")
    optimizer = TemporalAndMaskAdam([parameter], threshold=1.0, betas=(0.9, 0.999, beta), form=form)
    for _ in range(steps):
        parameter.grad = torch.tensor([0.1, -0.2, 3.0], dtype=dtype)
        optimizer.step()
        assert optimizer.survivors() == [1.0]
    parameter.grad = torch.tensor([-0.1, -0.2, 3.0], dtype=dtype)
    optimizer.step()
    assert optimizer.survivors() == [pytest.approx(2 / 3)]


def test_an_empty_parameter_survives():
    parameter = torch.nn.Parameter(torch.ones(0))
    optimizer = TemporalAndMaskAdam([parameter])
    parameter.grad = torch.ones(0)
    optimizer.step()
    assert optimizer.survivors() == [1.0]


def test_groups_have_settings_of_their_own_and_latecomers_their_own_count():
    one, other = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))
    groups = [{"params": [one], "threshold": 0.0}, {"params": [other], "lr": 0.5}]
    optimizer = TemporalAndMaskAdam(groups, lr=0.1, threshold=0.99, form=AdamForm(bias_correction="moments"))
    one.grad = torch.ones(2)
    optimizer.step()
    other.grad = torch.ones(2)
    optimizer.step()
    assert (one < 1).all()
    assert torch.equal(other, torch.ones(2))  # an uncorrected average of signs takes its time
    assert [optimizer.state[p]["step"].item() for p in (one, other)] == [2, 1]


def test_a_state_dict_goes_on_where_it_was():
    shapes, options = [(3,), (2, 2)], {"lr": 0.1, "threshold": 0.3, "bias_correction": "all"}
    _, parameters, optimizer = trained(shapes, options)
    twins = [torch.nn.Parameter(parameter.detach().clone()) for parameter in parameters]
    twin = TemporalAndMaskAdam(twins, lr=7.0)
    twin.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for step in gradients(shapes, 3, seed=5):
        for some in (parameters, twins):
            for parameter, gradient in zip(some, step, strict=True):
                parameter.grad = gradient.clone()
        optimizer.step()
        twin.step()
    assert all(torch.equal(one, other) for one, other in zip(parameters, twins, strict=True))


@pytest.mark.parametrize("kind", ["foreach", "loop"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_signs_are_averaged_in_four_bytes_and_stay_so_when_loaded(dtype, kind):
    """In bfloat16 an average whose signs are all equal stood still at 0.75, where its last digit is more than is added."""
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=dtype))
    settings = {"lr": 0.1, "betas": (0.9, 0.999, 0.99), "threshold": 0.9, "implementation": kind}
    optimizer = TemporalAndMaskAdam([parameter], **settings)
    for step in range(240):
        parameter.grad = torch.ones_like(parameter)
        optimizer.step()
        if step == 100:
            fresh = TemporalAndMaskAdam([parameter], **settings)
            fresh.load_state_dict(optimizer.state_dict())
            optimizer = fresh
    average = optimizer.state[parameter]["sign_avg"]
    assert average.dtype == torch.float32
    assert float(average) == pytest.approx(1 - 0.99**240, rel=1e-4)
    assert optimizer.survivors() == [1.0]
    assert parameter.dtype == dtype
    assert optimizer.state[parameter]["exp_avg"].dtype == torch.float32
    assert float(parameter.detach()) < 0


def test_a_scheduler_and_a_closure_work_as_ever():
    parameter = torch.nn.Parameter(torch.tensor([2.0]))
    optimizer = TemporalAndMaskAdam([parameter], lr=0.1, threshold=0.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.0)

    def closure():
        optimizer.zero_grad()
        loss = parameter.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 4.0
    scheduler.step()
    moved = parameter.detach().clone()
    optimizer.step(closure)
    assert torch.equal(parameter, moved)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"lr": -1.0}, "`lr` should be finite and at least 0. Found -1.0"),
        ({"eps": float("nan")}, "`eps` should be finite"),
        ({"weight_decay": -0.1}, "`weight_decay`"),
        ({"betas": (0.9, 0.999)}, "three numbers"),
        ({"betas": (0.9, 0.999, 1.0)}, r"`betas\[2\]` should lie in \[0, 1\)"),
        ({"threshold": 1.5}, "`threshold` should lie in"),
        ({"bias_correction": "some"}, "`bias_correction` should be"),
    ],
)
def test_settings_out_of_range_are_refused(options, sentence):
    parameter = torch.nn.Parameter(torch.ones(1))
    with pytest.raises(ValueError, match=sentence):
        make([parameter], **options)
    optimizer = TemporalAndMaskAdam([torch.nn.Parameter(torch.ones(1))])
    with pytest.raises(ValueError, match=sentence):
        optimizer.add_param_group({"params": [parameter], **options})
    assert len(optimizer.param_groups) == 1


def test_sparse_and_complex_gradients_are_refused_before_anything_moves():
    fine = torch.nn.Parameter(torch.ones(2))
    embedding = torch.nn.Embedding(3, 2, sparse=True)
    optimizer = TemporalAndMaskAdam([fine, *embedding.parameters()], threshold=0.0)
    fine.grad = torch.ones(2)
    embedding(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match="Found a sparse gradient"):
        optimizer.step()
    assert torch.equal(fine, torch.ones(2))
    complex_one = torch.nn.Parameter(torch.ones(2, dtype=torch.complex64))
    complex_one.grad = torch.ones(2, dtype=torch.complex64)
    with pytest.raises(ValueError, match="Found a complex gradient"):
        TemporalAndMaskAdam([complex_one]).step()


@pytest.mark.parametrize("correction", ["none", "moments"])
def test_a_threshold_that_an_average_never_reaches(correction):
    """But by rounding: in float32 (1 + a) / 2 is 1 after 25 steps."""
    with pytest.raises(ValueError, match=r"below 1 for an average.*nothing would ever move.*bias_correction='all'"):
        make([torch.nn.Parameter(torch.ones(1))], threshold=1.0, bias_correction=correction)
    make([torch.nn.Parameter(torch.ones(1))], threshold=1.0, bias_correction="all")
    make([torch.nn.Parameter(torch.ones(1))], threshold=1.0, betas=(0.9, 0.9, 0.0), bias_correction=correction)


class TestAdamsState:
    """A checkpoint of torch's Adam has no average of signs."""

    def setup_method(self):
        self.parameters = [torch.nn.Parameter(torch.randn(3, 2)), torch.nn.Parameter(torch.randn(4))]
        self.adam = torch.optim.Adam(self.parameters, lr=0.03, betas=(0.8, 0.95), weight_decay=0.1)
        for step in gradients([(3, 2), (4,)], 4, seed=0):
            for parameter, gradient in zip(self.parameters, step, strict=True):
                parameter.grad = gradient.float()
            self.adam.step()
        self.state = copy.deepcopy(self.adam.state_dict())

    @pytest.mark.parametrize("kind", KINDS)
    def test_its_averages_go_on_and_those_of_signs_start(self, kind):
        twins = [torch.nn.Parameter(parameter.detach().clone()) for parameter in self.parameters]
        optimizer = TemporalAndMaskAdam(twins, threshold=0.05, betas=(0.1, 0.1, 0.9), **kind)
        with pytest.warns(UserWarning, match="averages of signs. Found none.*start from 0"):
            optimizer.load_state_dict(self.state)
        assert optimizer.param_groups[0]["betas"] == (0.8, 0.95, 0.9)
        assert optimizer.param_groups[0]["lr"] == 0.03
        for twin, parameter in zip(twins, self.parameters, strict=True):
            assert torch.equal(optimizer.state[twin]["exp_avg"], self.adam.state[parameter]["exp_avg"])
            assert not optimizer.state[twin]["sign_avg"].any()
            twin.grad = torch.ones_like(twin)
        optimizer.step()
        assert optimizer.survivors() == [1.0, 1.0]  # 1 - 0.9 is above the threshold
        assert optimizer.state[twins[0]]["step"] == 5
        assert "sign_avg" not in self.state["state"][0]

    def test_each_group_keeps_what_adams_does_not_have(self):
        weights = [torch.nn.Parameter(torch.ones(3)) for _ in range(2)]
        adam = torch.optim.Adam([{"params": [weight]} for weight in weights], lr=0.03)
        own = {"threshold": 0.9, "betas": (0.9, 0.999, 0.5)}, {"refuse_nonfinite": False, "eps_inside_root": False}
        pairs = zip(weights, own, strict=True)
        optimizer = TemporalAndMaskAdam([{"params": [weight], **settings} for weight, settings in pairs])
        optimizer.load_state_dict(adam.state_dict())
        first, second = optimizer.param_groups
        assert (first["threshold"], first["betas"], first["lr"]) == (0.9, (0.9, 0.999, 0.5), 0.03)
        assert (second["threshold"], second["betas"][2]) == (0.4, 0.9)
        switches = [[group[name] for name in ("refuse_nonfinite", "eps_inside_root")] for group in (first, second)]
        assert switches == [[True, True], [False, False]]

    def test_one_that_climbs_goes_on_climbing(self):
        climber = torch.nn.Parameter(torch.zeros(2))
        adam = torch.optim.Adam([climber], lr=0.1, maximize=True)
        for _ in range(5):
            climber.grad = torch.ones(2)
            adam.step()
        twin = torch.nn.Parameter(climber.detach().clone())
        form = AdamForm(bias_correction="moments", eps_inside_root=False, maximize=True)
        optimizer = TemporalAndMaskAdam([twin], lr=0.1, threshold=0.0, form=form)
        with pytest.warns(UserWarning, match="averages of signs"):
            optimizer.load_state_dict(copy.deepcopy(adam.state_dict()))
        twin.grad = torch.ones(2)
        optimizer.step()
        adam.step()
        torch.testing.assert_close(twin, climber)

    def test_with_corrected_signs_it_is_refused(self):
        optimizer = TemporalAndMaskAdam(self.parameters, form=AdamForm(bias_correction="all"))
        with pytest.raises(ValueError, match=r"as old as the others.*torch's Adam.*Choose 'moments'"):
            optimizer.load_state_dict(self.state)
        assert not optimizer.state

    def test_a_count_that_is_a_number(self):
        for entry in self.state["state"].values():
            entry["step"] = 4
        optimizer = TemporalAndMaskAdam(self.parameters)
        with pytest.warns(UserWarning, match="averages of signs"):
            optimizer.load_state_dict(self.state)
        optimizer.step()
        assert optimizer.state[self.parameters[0]]["step"] == 5

    def test_other_states_are_refused(self):
        optimizer = TemporalAndMaskAdam(self.parameters)
        descent = torch.optim.SGD(self.parameters, lr=0.1, momentum=0.9)
        descent.step()
        with pytest.raises(ValueError, match="Found one with momentum_buffer"):
            optimizer.load_state_dict(descent.state_dict())
        turned = TemporalAndMaskAdam(self.parameters[::-1])
        with pytest.raises(ValueError, match=r"averages of shape \(3, 2\) for a parameter of shape \(4,\)"):
            turned.load_state_dict(self.state)
        with pytest.raises(ValueError, match=r"Found \[2\] in its groups, where there are \[1\]"):
            TemporalAndMaskAdam(self.parameters[:1]).load_state_dict(self.state)
        assert not optimizer.state
        assert not turned.state


@pytest.mark.parametrize("kind", ["loop", "foreach", "compiled"])
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_without_an_eps_a_component_that_never_had_a_gradient_stays(kind, inside, dtype):
    weights = torch.nn.Parameter(torch.ones(3, dtype=dtype))
    form = AdamForm(eps=0.0, eps_inside_root=inside)
    optimizer = TemporalAndMaskAdam([weights], lr=0.1, betas=(0.5, 0.5, 0.5), threshold=0.4, form=form, implementation=kind)
    weights.grad = torch.tensor([0.0, 2.0, -1.0], dtype=dtype)
    optimizer.step()
    moved = 0.1 * 0.5 / 0.5**0.5  # m / sqrt(v) of a first step, whatever the gradient's size
    torch.testing.assert_close(weights.detach(), torch.tensor([1.0, 1 - moved, 1 + moved], dtype=dtype))


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("threshold", 7.0, ValueError),
        ("lr", "fast", TypeError),
        ("betas", (0.9, 2.0, 0.9), ValueError),
        ("eps", -1.0, ValueError),
    ],
)
def test_settings_that_are_changed_later_are_looked_at(name, value, error):
    weights = torch.nn.Parameter(torch.ones(2))
    optimizer = TemporalAndMaskAdam([weights], lr=0.1)
    weights.grad = torch.ones(2)
    optimizer.step()
    before = weights.detach().clone()
    optimizer.param_groups[0][name] = value
    with pytest.raises(error, match=r"should .*Found"):
        optimizer.step()
    assert torch.equal(weights, before)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "form", [AdamForm(), AdamForm(bias_correction="all", eps_inside_root=False, eps=0.0)], ids=["printed", "adam"]
)
def test_half_precision_is_wide_inside(form, dtype, kind, monkeypatch):
    """Each step is the literal one, rounded once: eps, small squares and large ones are numbers that float16 has not."""
    monkeypatch.setattr(temporal, "BLOCK_ELEMENTS", 4)
    start = torch.tensor([[0.5, -1.0, 2.0, 1e-3], [0.25, 3.0, -0.125, 1.0]], dtype=dtype)
    steps = [
        torch.tensor([[1.0, 0.0, -1.0, 1e-5], [300.0, -3e4, 6e-8, 1e-4]]) * sign
        for sign in (torch.ones(2, 4), torch.tensor([1.0, -1.0, 1.0, 1.0]).expand(2, 4), torch.full((2, 4), 0.5))
    ]
    parameters = [torch.nn.Parameter(tensor) for tensor in (start.clone(), start.T.clone(memory_format=torch.preserve_format))]
    optimizer = TemporalAndMaskAdam(parameters, lr=0.1, threshold=0.05, weight_decay=0.1, form=form, **kind)
    oracle = Literal1.of(start.double())
    eps = form.eps or torch.finfo(torch.float32).tiny
    settings = (0.1, (0.9, 0.999, 0.9), 0.05, eps, 0.1, form.bias_correction, form.eps_inside_root, False)
    for gradient in steps:
        parameters[0].grad, parameters[1].grad = gradient.to(dtype), gradient.to(dtype).T
        optimizer.step()
        oracle, _ = temporal_and_mask_adam(oracle, gradient.to(dtype).double(), *settings)
        oracle = dataclasses.replace(oracle, theta=oracle.theta.to(dtype).double())
        for found in (parameters[0], parameters[1].T):
            assert found.dtype == dtype
            # Rounding of what was computed in float32 may fall on the other side of a tie, once a step.
            torch.testing.assert_close(found.detach().double(), oracle.theta, rtol=2 * torch.finfo(dtype).eps, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradients_that_made_half_precision_nan(kind):
    found = []
    for dtype in (torch.float32, torch.float16):
        parameter = torch.nn.Parameter(torch.zeros(4, dtype=dtype))
        parameter.grad = torch.tensor([1, 0, -1, 1e-5], dtype=dtype)
        TemporalAndMaskAdam([parameter], lr=0.1, threshold=0.0, **kind).step()
        found.append(parameter.detach().float())
    torch.testing.assert_close(found[1], found[0], rtol=2e-3, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_averages_in_four_bytes_survive_saving(dtype):
    states, parameters = [], [torch.nn.Parameter(torch.zeros(3, dtype=dtype)) for _ in range(2)]
    first, second = (TemporalAndMaskAdam([parameter]) for parameter in parameters)
    parameters[0].grad = torch.tensor([1e-3, 300.0, -1.0], dtype=dtype)
    first.step()
    second.load_state_dict(copy.deepcopy(first.state_dict()))
    for optimizer, parameter in zip((first, second), parameters, strict=True):
        states.append({name: value for name, value in optimizer.state[parameter].items() if name != "step"})
    assert all(tensor.dtype == torch.float32 for state in states for tensor in state.values())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert bool(states[0]["exp_avg_sq"].isfinite().all())
    assert bool((states[0]["exp_avg_sq"] > 0).all())
