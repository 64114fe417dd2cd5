"""A skorch net that is watched trains the same, and its row losses are its own."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask

pytestmark = [pytest.mark.extra("integrations", "skorch"), pytest.mark.filterwarnings("ignore")]


class Reads(nn.Module):
    def __init__(self, out=3):
        super().__init__()
        self.net, self.out = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Tanh(), nn.Linear(8, out)), out

    def forward(self, x, source=None):
        return self.net(x).softmax(1) if self.out > 1 else self.net(x)


def data():
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(90, 4)).astype("float32"), draw.integers(0, 3, 90)
    return {"x": x, "source": np.arange(90) % 3}, y


def fitted(watching, page=None):
    from skorch import NeuralNetClassifier

    from mechlearn.integrations.skorch import WatchSources

    torch.manual_seed(0)
    callbacks = [("sources", WatchSources(every=5, page=page))] if watching else []
    net = NeuralNetClassifier(
        Reads, max_epochs=4, batch_size=18, lr=0.1, optimizer__momentum=0.9, verbose=0, callbacks=callbacks
    )
    return net.fit(*data())


@pytest.mark.usefixtures("as_installed")  # the type checker of the tests draws random numbers
def test_a_watched_training_is_the_same_bit_for_bit(tmp_path):
    from mechlearn.integrations import skorch

    plain = fitted(False)
    draws = torch.get_rng_state()
    net = fitted(True, tmp_path / "sources.html")
    assert torch.equal(draws, torch.get_rng_state())
    tensors = [
        [*n.module_.state_dict().values(), *(s["momentum_buffer"] for s in n.optimizer_.state.values())] for n in (plain, net)
    ]
    assert all(torch.equal(one, other) for one, other in zip(*tensors, strict=True))
    assert plain.history[:, "train_loss"] == net.history[:, "train_loss"]
    sources = dict(net.callbacks_)["sources"].sources_
    assert [one.step for one in sources.history] == [0, 5, 10, 15]
    assert net.history[0, "batches", 0]["sources/1/loss"] == sources.history[0].sources[1].loss
    assert (tmp_path / "sources.html").is_file()
    assert getattr(skorch, type(dict(net.callbacks_)["sources"]).__qualname__) is skorch.WatchSources  # a net can be copied


def test_a_row_s_loss_is_the_net_s_own():
    from skorch import NeuralNetRegressor

    from mechlearn.integrations.skorch import row_losses

    x, y = data()
    net = fitted(False)
    rows = {"x": torch.tensor(x["x"][:6])}
    net.module_.eval()
    found = row_losses(net, rows, torch.tensor(y[:6]))
    expected = -net.module_(rows["x"]).gather(1, torch.tensor(y[:6])[:, None])[:, 0].log()
    torch.testing.assert_close(found, expected)
    assert net.criterion_.reduction == "mean"
    net = NeuralNetRegressor(Reads, module__out=1).initialize()
    assert row_losses(net, rows, torch.zeros(6, 1)).shape == (6,)


@pytest.mark.usefixtures("as_installed")
def test_steps_with_a_rule_are_those_by_hand():
    from skorch import NeuralNetRegressor

    from mechlearn.integrations.skorch import WatchSources

    watch = WatchSources(every=1, rule=AndMask(threshold=1.0))
    torch.manual_seed(0)
    (x, _), y = data(), torch.randn(90, 1)
    settings = {
        "batch_size": 45, "max_epochs": 1, "lr": 0.5, "train_split": None, "verbose": 0, "iterator_train__shuffle": False,
    }  # fmt: skip
    net = NeuralNetRegressor(Reads, module__out=1, callbacks=[("sources", watch)], **settings).initialize()
    net.module_.net[1].p = 0.0
    model = copy.deepcopy(net.module_)
    net.partial_fit(x, y)
    agreement, optimizer = Agreement(model, AndMask(threshold=1.0)), torch.optim.SGD(model.parameters(), 0.5)
    shares = []
    for rows in (slice(0, 45), slice(45, 90)):
        optimizer.zero_grad()
        losses = (model(torch.tensor(x["x"][rows])) - y[rows]).square()[:, 0]
        shares.append(agreement.backward(losses, x["source"][rows]).share)
        optimizer.step()
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), net.module_.parameters(), strict=True))
    assert net.history[0, "batches", :, "share"] == shares
    assert [one.step for one in watch.sources_.history] == [0, 1]
    assert "train_step_single" not in vars(net)


def test_bad_input_is_told():
    from mechlearn.integrations import skorch

    net = fitted(True)
    with pytest.raises(ValueError, match="sources in 'source'"):
        net.fit({"x": data()[0]["x"]}, data()[1])
    net.criterion_ = nn.Identity()
    with pytest.raises(ValueError, match="`reduction`"):
        skorch.row_losses(net, {"x": torch.zeros(2, 4)}, None)
    with pytest.raises(AttributeError, match="WatchSources"):
        _ = skorch.Wrong
