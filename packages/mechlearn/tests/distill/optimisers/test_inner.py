from dataclasses import replace

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import distill_models as models
from mechlearn.distill import SGD, Adam, inner_from, state_from
from mechlearn.params import parameters_of

RULES = {
    "sgd": (SGD(0.1, weight_decay=0.2), lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.2)),
    "momentum": (SGD(0.1, 0.75, 0.2), lambda p: torch.optim.SGD(p, 0.1, momentum=0.75, weight_decay=0.2)),
    "nesterov": (SGD(0.1, 0.75, 0.2, True), lambda p: torch.optim.SGD(p, 0.1, momentum=0.75, weight_decay=0.2, nesterov=True)),
    "adam": (Adam(0.1, (0.8, 0.9), 1e-8, 0.2), lambda p: torch.optim.Adam(p, 0.1, (0.8, 0.9), weight_decay=0.2)),
    "adamw": (Adam(0.1, (0.8, 0.9), 1e-8, 0.2, True), lambda p: torch.optim.AdamW(p, 0.1, (0.8, 0.9), weight_decay=0.2)),
}


def train(optimizer, module, steps, seed):
    for step in range(steps):
        optimizer.zero_grad()
        for k, parameter in enumerate(module.parameters()):
            parameter.grad = models.randn(seed + 10 * step + k, *parameter.shape)
        optimizer.step()


@pytest.mark.parametrize("name", RULES)
def test_updates_are_those_of_torch(name):
    rule, make = RULES[name]
    module = models.student("mlp")
    params = parameters_of(module)
    params = {key: value.clone() for key, value in params.items()}
    state = rule.init(params)
    optimizer = make(module.parameters())
    for step in range(4):
        gradients = {key: models.randn(10 * step + k, *value.shape) for k, (key, value) in enumerate(params.items())}
        params, state = rule.update(params, gradients, state)
        train(optimizer, module, 1, 10 * step)
    assert state.step == 4
    assert models.largest_error(params, parameters_of(module)) < 1e-7


@pytest.mark.parametrize("name", RULES)
def test_a_torch_optimiser_has_its_counterpart(name):
    rule, make = RULES[name]
    assert inner_from(make(models.student("mlp").parameters())) == rule


@pytest.mark.parametrize("name", RULES)
def test_a_warm_start_goes_on_where_the_student_is(name):
    rule, make = RULES[name]
    module = models.student("mlp")
    optimizer = make(module.parameters())
    train(optimizer, module, 3, 0)
    params = {key: value.clone() for key, value in parameters_of(module).items()}
    state = state_from(optimizer, module, rule)
    assert state.step == (3 if "adam" in name else 0)  # torch's SGD counts no steps, and needs none
    gradients = {key: models.randn(50 + k, *value.shape) for k, (key, value) in enumerate(params.items())}
    params, _ = rule.update(params, gradients, state)
    kept = {moment: {key: value.clone() for key, value in values.items()} for moment, values in state.moments.items()}
    train(optimizer, module, 1, 50)
    assert models.largest_error(params, parameters_of(module)) < 1e-7
    for moment, values in kept.items():  # copies: the optimiser has moved on
        assert all(torch.equal(state.moments[moment][key], value) for key, value in values.items())


def test_before_its_first_step_a_warm_start_is_fresh():
    module = models.student("mlp")
    state = state_from(torch.optim.Adam(module.parameters()), module, Adam())
    assert state.step == 0
    assert all(not tensor.any() for moment in state.moments.values() for tensor in moment.values())


def test_what_cannot_be_differentiated_is_refused():
    module = models.student("mlp")
    parameters = list(module.parameters())
    with pytest.raises(TypeError, match=r"can be differentiated.*Found RMSprop"):
        inner_from(torch.optim.RMSprop(parameters))
    for optimizer in (
        torch.optim.Adam(parameters, amsgrad=True),
        torch.optim.SGD(parameters, 0.1, maximize=True),
        torch.optim.SGD(parameters, 0.1, momentum=0.5, dampening=0.5),
    ):
        with pytest.raises(ValueError, match=r"mechlearn\.distill can differentiate\. Found"):
            inner_from(optimizer)
    groups = [{"params": parameters[:1], "lr": 0.1}, {"params": parameters[1:], "lr": 0.2}]
    with pytest.raises(ValueError, match="Found 2 parameter groups"):
        inner_from(torch.optim.SGD(groups))
    adam = torch.optim.Adam(parameters)
    train(adam, module, 1, 0)
    with pytest.raises(ValueError, match="Found no 'momentum_buffer' in Adam"):
        state_from(adam, module, SGD(0.1, 0.5))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: SGD(-0.1), r"`lr` should be finite and at least 0\. Found -0\.1"),
        (lambda: SGD(0.1, momentum=-0.5), r"`momentum` should be finite and at least 0\. Found -0\.5"),
        (lambda: SGD(0.1, weight_decay=float("nan")), r"`weight_decay` should be finite and at least 0\. Found nan"),
        (lambda: SGD(0.1, nesterov=True), r"Nesterov's step should have a momentum > 0\. Found 0\.0"),
        (lambda: Adam(lr=float("nan")), r"`lr` should be finite and at least 0\. Found nan"),
        (lambda: SGD(torch.tensor(-0.5)), r"`lr` should be finite and at least 0\. Found -0\.5"),
        (lambda: SGD(torch.tensor([0.1, torch.inf])), r"`lr` should be finite and at least 0\. Found inf"),
        (lambda: Adam(torch.tensor(-0.5, requires_grad=True)), r"`lr` should be finite and at least 0\. Found -0\.5"),
        (lambda: Adam(torch.tensor(torch.nan)), r"`lr` should be finite and at least 0\. Found nan"),
        (lambda: Adam(betas=(0.9, 1.0)), r"`betas` should be two numbers in \[0, 1\)\. Found \(0\.9, 1\.0\)"),
        (lambda: Adam(eps=-1e-8), r"`eps` should be positive and finite.*Found -1e-08"),
        (lambda: Adam(eps=0.0), r"`eps` should be positive and finite.*Found 0\.0.*default is 1e-8"),
        (lambda: inner_from(torch.optim.Adam([torch.zeros(1)], eps=0.0)), r"`eps` should be positive"),
        (lambda: Adam(eps=1e-13).init({"a": torch.zeros(1)}), r"`eps` should be 1\.4e-13 at least for .*float32.*for 'a'"),
        (lambda: Adam(weight_decay=-1.0), r"`weight_decay` should be finite and at least 0\. Found -1\.0"),
    ],
)
def test_settings_that_torch_refuses_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("name", RULES)
def test_a_learning_rate_may_be_a_tensor(name):
    rule, _ = RULES[name]
    params, gradients = {"a": models.randn(0, 3)}, {"a": models.randn(1, 3)}
    lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    moved, _ = replace(rule, lr=lr).update(params, gradients, rule.init(params))
    expected, _ = rule.update(params, gradients, rule.init(params))
    torch.testing.assert_close(moved["a"].detach(), expected["a"], rtol=1e-14, atol=0)
    (slope,) = torch.autograd.grad(moved["a"].sum(), lr)
    torch.testing.assert_close(slope, (moved["a"].detach() - params["a"]).sum() / 0.1)


@pytest.mark.usefixtures("as_installed")
def test_a_learning_rate_that_is_hidden_is_not_looked_at():
    def moved(lr):
        rule = SGD(lr)
        return rule.update({"a": torch.ones(2)}, {"a": torch.ones(2)}, rule.init({"a": torch.ones(2)}))[0]["a"].sum()

    rates = torch.tensor([0.1, 0.2])
    torch.testing.assert_close(torch.func.vmap(moved)(rates), 2 - 2 * rates)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(moved))(rates), torch.full((2,), -2.0))
    torch.testing.assert_close(make_fx(moved)(rates[0])(rates[1]), moved(rates[1]))


def test_the_root_is_differentiable_at_zero():
    zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    rule = Adam(lr=0.1, eps=1e-3)
    moved, _ = rule.update({"a": torch.zeros(1, dtype=torch.float64)}, {"a": zero}, rule.init({"a": zero.detach()}))
    (slope,) = torch.autograd.grad(moved["a"].sum(), zero)
    assert float(slope) == pytest.approx(-0.1 / 1e-3)  # what torch's step has on either side of 0


@pytest.mark.parametrize(("eps", "dtype"), [(2e-13, torch.float32), (2e-13, torch.bfloat16), (1e-100, torch.float64)])
def test_down_to_its_bound_a_root_has_a_derivative(eps, dtype):
    zero = torch.zeros(1, dtype=dtype, requires_grad=True)
    rule = Adam(lr=0.1, eps=eps)
    moved, _ = rule.update({"a": torch.zeros(1, dtype=dtype)}, {"a": zero}, rule.init({"a": zero.detach()}))
    (slope,) = torch.autograd.grad(moved["a"].sum(), zero)
    assert float(slope) == pytest.approx(-0.1 / eps, rel=0.02)
