import json

import pytest
import torch
from torch import nn

from mechlearn.losses import BinaryCrossEntropy, SquaredError
from mechlearn.nn.saving import write_at_once
from mechlearn.schedules import Linear
from mechlearn.skips import Dynamics, Greedy, load, save


def net(seed=0, hidden=4):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, hidden), nn.BatchNorm1d(hidden), nn.Linear(hidden, 3))


class Extra(nn.Linear):
    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        pass


def absolute(z, x):
    return (z - x).abs().mean(1)


@pytest.mark.parametrize(
    "loss", [SquaredError(), SquaredError("sum", torch.tensor([1.0, 2.0, 0.5])), BinaryCrossEntropy(epsilon=1e-3)]
)
def test_what_was_saved_comes_back(tmp_path, loss):
    model = net()
    model(torch.randn(8, 3))  # running averages
    save(Dynamics(model, loss), tmp_path / "a", {"matching": Greedy(8, scale=[1.0] * 8), "exploration": Linear(30), "seed": 0})
    found = load(tmp_path / "a", net(seed=1))
    model.eval(), found.dynamics.model.eval()
    x = torch.rand(5, 3)
    assert torch.equal(found.dynamics.model(x), model(x))
    assert torch.equal(found.dynamics.loss(x, x / 2), loss(x, x / 2))
    settings = found.card["settings"]
    assert settings["matching"] == {
        "name": "Greedy", "horizon": 8, "exploration": 0.0, "scale": [1.0] * 8, "ties": "first", "nearest": 1
    }  # fmt: skip
    assert settings["exploration"]["name"] == "Linear"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["card.json", found.card["weights"]]


def test_an_encoder_is_saved_too_and_functions_are_asked_for(tmp_path):
    encoder = nn.Linear(3, 2)
    save(Dynamics(net(), absolute, compare=encoder, feedback=torch.detach), tmp_path)
    other = nn.Linear(3, 2)
    with pytest.raises(ValueError, match="`compare` should be given"):
        load(tmp_path, net(), loss=absolute, feedback=torch.detach)
    with pytest.raises(ValueError, match="`feedback` should be given"):
        load(tmp_path, net(), loss=absolute, compare=other)
    with pytest.raises(ValueError, match=r"`loss` should be given.*none of mechlearn.losses"):
        load(tmp_path, net(), compare=other, feedback=torch.detach)
    found = load(tmp_path, net(), loss=absolute, compare=other, feedback=torch.detach)
    assert torch.equal(other.weight, encoder.weight)
    assert found.dynamics.loss is absolute


def test_another_model_is_refused_and_left_alone(tmp_path):
    save(Dynamics(net(), SquaredError()), tmp_path)
    other = net(hidden=5)
    before = other[0].weight.clone()
    with pytest.raises(ValueError, match=r"Found \(5,\) where \(4,\) was saved, 'model.0.bias' and \d+ more"):
        load(tmp_path, other)
    assert torch.equal(other[0].weight, before)


def test_weights_of_another_card_are_refused(tmp_path):
    save(Dynamics(net(0), SquaredError()), tmp_path / "a")
    save(Dynamics(net(1), SquaredError()), tmp_path / "b")
    (one,), (other,) = ((tmp_path / name).glob("model-*.safetensors") for name in "ab")
    other.replace(one)
    with pytest.raises(ValueError, match="Found others in"):
        load(tmp_path / "a", net())


KEYS = {"weights_sha256": "", "loss": None, "functions": []}


@pytest.mark.parametrize(
    ("text", "error", "found"),
    [
        (None, FileNotFoundError, "Found no card.json"),
        ("{}", ValueError, "Found no 'weights_sha256'"),
        ("[1]", ValueError, "Found no 'weights_sha256'"),
        ("{", ValueError, "Found no JSON"),
        (json.dumps(KEYS | {"weights": "../model.safetensors"}), ValueError, "Found weights '../model.safetensors'"),
        (json.dumps(KEYS), FileNotFoundError, "Found no model.safetensors"),
    ],
)
def test_what_is_no_card_is_refused(tmp_path, text, error, found):
    save(Dynamics(net(), SquaredError()), tmp_path)
    (tmp_path / "card.json").unlink()
    if text is not None:
        (tmp_path / "card.json").write_text(text)
    with pytest.raises(error, match=found):
        load(tmp_path, net())


def test_what_cannot_be_saved_is_refused_and_nothing_is_written(tmp_path, as_installed):
    with pytest.raises(TypeError, match=r"should be a torch.nn.Module. Found function"):
        save(Dynamics(lambda x: x, SquaredError()), tmp_path / "new")
    with pytest.raises(TypeError, match=r"`settings` should be numbers.*Found function"):
        save(Dynamics(net(), SquaredError()), tmp_path / "new", {"stop": absolute})
    with pytest.raises(TypeError, match=r"`settings` should be a dictionary, or None. Found"):
        save(Dynamics(net(), SquaredError()), tmp_path / "new", [1])
    with pytest.raises(TypeError, match=r"Found dict under 'model._extra_state'"):
        save(Dynamics(Extra(3, 3), SquaredError()), tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_a_weight_comes_back_in_its_type_and_bits(tmp_path, dtype):
    weight = torch.tensor([0.1, 1.3, 2.0], dtype=torch.float64).to(dtype)
    save(Dynamics(net(), SquaredError(weight=weight)), tmp_path / "a")
    found = load(tmp_path / "a", net()).dynamics.loss.weight
    assert found.dtype == dtype
    assert torch.equal(found, weight.to(found.device))


def test_a_card_without_the_weight_s_type_is_read(tmp_path):
    save(Dynamics(net(), SquaredError(weight=torch.tensor([0.1, 1.3, 2.0]))), tmp_path / "a")
    card = json.loads((tmp_path / "a" / "card.json").read_text())
    del card["loss"]["weight_dtype"]
    (tmp_path / "a" / "card.json").write_text(json.dumps(card))
    found = load(tmp_path / "a", net()).dynamics.loss.weight
    assert torch.equal(found, torch.tensor([0.1, 1.3, 2.0], device=found.device))


def test_a_folder_holds_the_old_dynamics_or_the_new_whenever_saving_ends(tmp_path, monkeypatch):
    one, other, x = net(0).eval(), net(1).eval(), torch.ones(2, 3)
    save(Dynamics(one, SquaredError()), tmp_path)

    def ends(path, content):
        if path.name == "card.json":
            raise KeyboardInterrupt
        write_at_once(path, content)

    with monkeypatch.context() as patched:
        patched.setattr("mechlearn.skips.saving.write_at_once", ends)
        with pytest.raises(KeyboardInterrupt):
            save(Dynamics(other, SquaredError()), tmp_path)
    assert torch.equal(load(tmp_path, net(2).eval()).dynamics.model(x), one(x))
    save(Dynamics(other, SquaredError()), tmp_path)
    assert torch.equal(load(tmp_path, net(2).eval()).dynamics.model(x), other(x))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_whose_card_names_no_weights_is_read_and_replaced(tmp_path):
    save(Dynamics(net(), SquaredError()), tmp_path)
    card = json.loads((tmp_path / "card.json").read_text())
    (tmp_path / card.pop("weights")).replace(tmp_path / "model.safetensors")
    (tmp_path / "card.json").write_text(json.dumps(card))
    assert torch.equal(load(tmp_path, net(1)).dynamics.model[0].weight, net()[0].weight)
    save(Dynamics(net(), SquaredError()), tmp_path)
    assert not (tmp_path / "model.safetensors").exists()


def test_weights_are_not_rounded_to_a_fresh_model_s_type(tmp_path):
    save(Dynamics(nn.Linear(2, 2).double(), SquaredError()), tmp_path)
    with pytest.raises(ValueError, match=r"Found torch.float32 where torch.float64 was saved.*model\.to\(torch.float64\)"):
        load(tmp_path, nn.Linear(2, 2))
    save(Dynamics(nn.Linear(2, 2), SquaredError()), tmp_path)
    load(tmp_path, nn.Linear(2, 2).double())
