"""An Agreement keeps nothing of a model or a step: copies, threads, thousands of them, a closed one."""

import copy
import gc
import pickle
import threading
import weakref

import pytest
import torch
from torch import nn

from cpu_alone import cpu_alone
from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask, Qualitative
from one_layer import SPREAD, B, linear, noise
from small_models import batch, make, squared


class TestTheModelStaysTheUsers:
    def test_nothing_is_put_on_it(self):
        model = make("mlp", 0)
        keys = list(model.state_dict())
        agreements = [Agreement(model, AndMask()) for _ in range(1000)]
        assert not any(m._forward_hooks or m._forward_pre_hooks or m._backward_hooks for m in model.modules())
        assert list(model.state_dict()) == keys
        assert len(agreements) == 1000

    def test_nothing_is_kept_after_backward(self):
        model = make("mlp", 0)
        agreement = Agreement(model, AndMask())
        x, y, ids = batch(0, [0, 0, 1, 1])
        seen = []
        model.head.register_forward_pre_hook(lambda layer, args: seen.append(weakref.ref(args[0].untyped_storage())))
        gc.disable()
        try:
            agreement.backward(squared(model(x), y), ids)
            assert seen[0]() is None
        finally:
            gc.enable()

    def test_no_two_layers_output_gradients_are_held(self):
        model = nn.Sequential(*[nn.Sequential(linear(), nn.Tanh()) for _ in range(8)])
        alive, most = [], []

        def watch(delta):
            alive.append(weakref.ref(delta.untyped_storage()))
            most.append(sum(storage() is not None for storage in alive))

        h = noise(B, 6)
        for layer in model:
            h = layer[0](h)
            h.register_hook(watch)
            h = layer[1](h)
        Agreement(model, AndMask()).backward(h.square().sum(1), SPREAD)
        assert len(most) == 8
        assert max(most) <= 3  # a pass holds the one that it makes from the one before; the first layer's stays to its end


class TestCopies:
    @pytest.mark.filterwarnings("ignore:.*should find a C compiler")
    @pytest.mark.parametrize("kernel", ["torch", "compiled"])
    @pytest.mark.parametrize("made", [copy.deepcopy, lambda both: pickle.loads(pickle.dumps(both))], ids=["copied", "pickled"])
    def test_a_copy_takes_the_same_step_on_its_own_model(self, made, kernel):
        model = linear().float()
        agreement = Agreement(model, AndMask(0.6), kernel=kernel)
        twin, other = made((model, agreement))
        assert other.model is twin
        for one, used in ((model, agreement), (twin, other)):
            record = used.backward(one(noise(B, 6).float()).square().sum(1), SPREAD)
            assert set(record.paths.values()) == {"layer"}
        assert torch.equal(model.weight.grad, twin.weight.grad)

    def test_a_closed_agreement_works_as_before(self):
        model = linear()
        agreement = Agreement(model, AndMask(0.6))
        with agreement:
            pass
        agreement.close()
        assert set(assert_definition(agreement, model(noise(B, 6)).square().sum(1), SPREAD).paths.values()) == {"layer"}


@cpu_alone("what puts tests' tensors on a device is the main thread's")
def test_threads_share_an_agreement():
    model = linear()
    agreement = Agreement(model, AndMask(0.6))
    failures, records = [], []

    def work(seed):
        try:
            for call in range(20):
                records.append(agreement.backward(model(noise(B, 6, seed=seed + call)).square().sum(1), SPREAD))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert all(set(record.paths.values()) == {"layer"} for record in records)
    assert len(records) == 80


@cpu_alone("what puts tests' tensors on a device is the main thread's")
def test_threads_with_a_rule_that_tests_find_what_one_alone_does():
    model = nn.Sequential(nn.Linear(300, 300), nn.Tanh(), nn.Linear(300, 1))
    agreement, ids = Agreement(model, Qualitative(0.2)), [e for e in range(8) for _ in range(16)]
    inputs = [noise(128, 300, seed=seed).float() for seed in range(2)]

    def survivors(k):
        record = agreement.backward(model(inputs[k]).square()[:, 0], ids)
        return {name: float(count) for name, count in record.share_by_parameter.items()}

    expected, found = [survivors(k) for k in range(2)], [[], []]
    threads = [threading.Thread(target=lambda k=k: found[k].extend(survivors(k) for _ in range(20))) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[one] * 20 for one in expected]
