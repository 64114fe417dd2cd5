"""A skorch net that is watched trains the same, and its row losses are its own."""

import numpy as np
import pytest
import torch
from torch import nn

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


def test_bad_input_is_told():
    from mechlearn.integrations import skorch

    net = fitted(True)
    with pytest.raises(ValueError, match="sources in 'source'"):
        net.fit({"x": data()[0]["x"]}, data()[1])
    net.criterion_ = nn.Identity()
    with pytest.raises(ValueError, match="`reduction`"):
        skorch.row_losses(net, None, None)
    with pytest.raises(AttributeError, match="WatchSources"):
        _ = skorch.Wrong
