"""`.grad` is filled as `loss.backward()` fills it: in place, and past the user's hooks, once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.agreement.engine.delivery import deliver
from one_layer import PAIRED, SPREAD, TWINS, B, linear, noise

RULE = AndMask(0.6)


class TestInPlace:
    def test_views_of_a_flat_buffer_are_filled(self):
        model = linear()
        flat = torch.ones(sum(p.numel() for p in model.parameters()), dtype=torch.float64)
        for parameter, part in zip(model.parameters(), flat.split([p.numel() for p in model.parameters()]), strict=True):
            parameter.grad = part.view(parameter.shape)
        Agreement(model, Mean()).backward(model(noise(B, 6)).square().sum(1), SPREAD)
        twin = linear()
        twin(noise(B, 6)).square().sum(1).mean().backward()
        torch.testing.assert_close(flat - 1, torch.cat([p.grad.flatten() for p in twin.parameters()]))

    def test_the_tensor_that_was_there_stays(self):
        leaf = torch.zeros(3, requires_grad=True)
        leaf.grad = held = torch.ones(3)
        deliver(leaf, torch.ones(3))
        assert leaf.grad is held
        assert held.tolist() == [2.0, 2.0, 2.0]

    @pytest.mark.filterwarnings(
        "ignore:Sparse invariant checks are implicitly disabled:UserWarning"
    )  # as a GPU's tensor is made
    def test_a_sparse_gradient_that_was_there(self):
        leaf = torch.zeros(3, requires_grad=True)
        leaf.grad = torch.sparse_coo_tensor([[1]], [5.0], (3,), check_invariants=True)
        deliver(leaf, torch.ones(3))
        assert leaf.grad.to_dense().tolist() == [1.0, 6.0, 1.0]


class TestHooks:
    """Each hook runs once a step, in every step, on the combined gradient."""

    def steps(self, model, losses, rule, ids):
        agreement = Agreement(model, rule)
        for call in range(3):
            model.zero_grad()
            agreement.backward(losses(noise(B, 6, seed=call)), ids)
            yield

    def check(self, losses_of, rule=RULE, ids=SPREAD):
        model, twin = linear(), linear()
        seen, done = [], []
        model.weight.register_hook(lambda gradient: seen.append(gradient.clone()) or 2 * gradient)
        model.weight.register_post_accumulate_grad_hook(lambda p: done.append(p.grad.clone()))
        plain = self.steps(twin, losses_of(twin), rule, ids)
        for call, _ in enumerate(self.steps(model, losses_of(model), rule, ids)):
            next(plain)
            assert len(seen) == len(done) == call + 1
            assert torch.equal(seen[-1], twin.weight.grad)
            assert torch.equal(model.weight.grad, 2 * twin.weight.grad)
            assert torch.equal(done[-1], model.weight.grad)
            assert torch.equal(model.bias.grad, twin.bias.grad)

    def test_on_the_layer_path(self):
        self.check(lambda model: lambda x: model(x).square().sum(1))

    def test_on_the_definitions_path(self, recwarn):
        self.check(lambda model: lambda x: (model(x) * model(x)[TWINS]).sum(1))

    def test_with_a_rule_that_reads_sums(self):
        self.check(lambda model: lambda x: model(x).square().sum(1), Mean())

    def test_with_one_environment(self, recwarn):
        self.check(lambda model: lambda x: model(x).square().sum(1), ids=[3] * B)

    def test_of_a_leaf_outside_the_model(self):
        model, seen = linear(), []
        x = noise(B, 6).requires_grad_()
        x.register_hook(seen.append)
        Agreement(model, AndMask()).backward(model(2 * x).square().sum(1), PAIRED)
        assert len(seen) == 1
        assert torch.equal(x.grad, seen[0])


def test_hooks_are_run_once_a_step_by_threads_that_share_a_model():
    model, seen, calls = linear(), [], 25
    model.weight.register_hook(lambda gradient: seen.append(len(gradient)))

    def work():
        agreement = Agreement(model, RULE)
        for _ in range(calls):
            agreement.backward(model(noise(B, 6)).square().sum(1), SPREAD)

    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(work) for _ in range(3)]:
            done.result()
    assert len(seen) == 3 * calls
    assert len(model.weight._backward_hooks) == 1


@pytest.mark.skipif(not hasattr(torch.Tensor, "grad_dtype"), reason="of torch 2.10 and later")
@pytest.mark.parametrize("wanted", [torch.float64, torch.float32, None])
def test_a_gradient_has_the_type_that_its_parameter_asks_for(wanted):
    model = linear().float()
    model.bias.grad_dtype = wanted
    for _ in range(2):
        Agreement(model, RULE).backward(model(noise(B, 6).float()).square().sum(1), SPREAD)
    assert model.bias.grad.dtype == (wanted or torch.float32)
    assert model.weight.grad.dtype == torch.float32


def test_hooks_on_tensors_within_run_as_in_any_backward_pass():
    model, seen = nn.Sequential(linear(), nn.Tanh(), linear()), []
    h = model[0](noise(B, 6))
    h.register_hook(lambda gradient: seen.append(len(gradient)))
    Agreement(model, AndMask()).backward(model[2](model[1](h)).square().sum(1), SPREAD)
    assert seen == [B]
