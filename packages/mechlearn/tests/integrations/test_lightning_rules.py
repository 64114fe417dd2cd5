"""A Lightning training with a rule takes the steps of an `Agreement` written out by hand, bit for bit."""

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from mechlearn.agreement import Agreement, AndMask

pytestmark = [pytest.mark.extra("integrations", "lightning"), pytest.mark.filterwarnings("ignore")]

RULE = AndMask(threshold=1.0)
QUIET = {"enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


def batches():
    generator = torch.Generator().manual_seed(0)
    data = torch.randn(48, 4, generator=generator), torch.randint(0, 3, (48,), generator=generator), torch.arange(48) % 3
    return DataLoader(TensorDataset(*data), batch_size=12)


def fitted(folder, reduced=False, manual=False, **settings):
    import lightning

    from mechlearn.integrations.lightning import WatchSources

    class Plain(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net, self.automatic_optimization = net(), not manual

        def losses_of(self, batch):
            return cross_entropy(self.net(batch[0]), batch[1], reduction="none")

        def training_step(self, batch, index):
            losses = self.losses_of(batch)
            return losses.mean() if reduced else losses

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.5)

    watcher = WatchSources(Plain.losses_of, 2, rule=RULE)
    module = Plain()
    trainer = lightning.Trainer(callbacks=[watcher], logger=False, default_root_dir=folder, **QUIET, **settings)
    try:
        trainer.fit(module, batches())
    finally:
        assert "backward" not in vars(module)
    return watcher, module.net


def by_hand(passes, precision):
    model = net()
    agreement, optimizer = Agreement(model, RULE), torch.optim.SGD(model.parameters(), 0.5)
    for number, (x, y, ids) in enumerate(list(batches())[: 2 * passes], 1):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision):
            losses = cross_entropy(model(x), y, reduction="none")
        if number % passes:
            agreement.accumulate(losses, ids, hold=True)
            continue
        record = agreement.backward(losses, ids, hold=passes > 1)
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()
        optimizer.zero_grad()
    return model, record


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("settings", [{}, {"accumulate_grad_batches": 2}, {"precision": "bf16-mixed"}])
def test_steps_are_those_by_hand(settings, tmp_path):
    watcher, found = fitted(tmp_path, max_steps=2, gradient_clip_val=0.01, **settings)
    model, record = by_hand(settings.get("accumulate_grad_batches", 1), "precision" in settings)
    assert all(torch.equal(one, other) for one, other in zip(model.parameters(), found.parameters(), strict=True))
    assert not torch.equal(found[0].weight, net()[0].weight)
    assert watcher.record.share_by_parameter == {f"net.{name}": own for name, own in record.share_by_parameter.items()}
    assert [one.step for one in watcher.sources.history] == [0]


@pytest.mark.usefixtures("as_installed")
def test_what_a_rule_cannot_train_is_told(tmp_path):
    from mechlearn.integrations.lightning import WatchSources

    with pytest.raises(ValueError, match="already reduced"):
        fitted(tmp_path, reduced=True, max_steps=1)
    with pytest.raises(ValueError, match="Found manual optimization"):
        fitted(tmp_path, manual=True, max_steps=1)
    with pytest.raises(TypeError, match="rule"):
        WatchSources(lambda m, b: b, 2, rule=3)
