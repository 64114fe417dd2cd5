"""The hooks on a model: they leave it the user's, and go."""

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import torch
from torch import nn

from craik.agreement import Agreement, AndMask
from small_models import batch, make, squared


class TestTheModelStaysTheUsers:
    def test_close_removes_every_hook(self):
        model = make("mlp", 0)
        before = {name: len(module._forward_hooks) for name, module in model.named_modules()}
        with Agreement(model, AndMask()):
            assert model.head._forward_hooks
        assert {name: len(module._forward_hooks) for name, module in model.named_modules()} == before
        assert not model._forward_pre_hooks

    def test_state_dict_is_unchanged(self):
        model = make("mlp", 0)
        keys = list(model.state_dict())
        Agreement(model, AndMask())
        assert list(model.state_dict()) == keys

    def test_copies_work_alone(self):
        model = make("mlp", 0)
        agreement = Agreement(model, AndMask())
        x, _, _ = batch(0, [0, 1])
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert torch.equal(twin(x), model(x))
        assert len(agreement._onepass.recorder.captures) == 3  # the original's latest pass alone

    def test_a_pickle_loads_without_craik(self, tmp_path):
        model = nn.Sequential(nn.Linear(2, 2))
        Agreement(model, AndMask())
        path = tmp_path / "model.pickle"
        path.write_bytes(pickle.dumps(model))
        program = (
            "import sys; sys.modules['craik'] = None\n"
            "import pickle, torch\n"
            f"model = pickle.load(open({str(path)!r}, 'rb'))\n"
            "assert model(torch.ones(1, 2)).shape == (1, 2)\n"
        )
        subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)

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
