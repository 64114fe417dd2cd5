"""A Lightning training that is watched is the same, and measures what a loop by hand does."""

import random

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from mechlearn.agreement.statistics import watch

pytestmark = [pytest.mark.extra("integrations", "lightning"), pytest.mark.filterwarnings("ignore")]

QUIET = {"enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False, "accelerator": "cpu"}


def losses_of(module, batch):
    return cross_entropy(module.net(batch["x"]), batch["y"], reduction="none")


def rows(count=96):
    generator = torch.Generator().manual_seed(0)
    x, y = torch.randn(count, 4, generator=generator), torch.randint(0, 3, (count,), generator=generator)
    return [{"x": a, "y": b, "source": "abc"[i % 3]} for i, (a, b) in enumerate(zip(x, y, strict=True))]


def fitted(folder, watching, **settings):
    import lightning
    from lightning.pytorch.loggers import CSVLogger

    from mechlearn.integrations.lightning import WatchSources

    class Plain(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Tanh(), nn.Linear(8, 3))

        def training_step(self, batch, index):
            return losses_of(self, batch).mean()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), 0.01)

    lightning.seed_everything(0)
    module, watcher = Plain(), WatchSources(losses_of, "source", every=5)
    start = {name: value.clone() for name, value in module.state_dict().items()}
    trainer = lightning.Trainer(
        max_steps=20, callbacks=[watcher] if watching else [], logger=CSVLogger(folder), default_root_dir=folder, **QUIET,
        **settings,
    )  # fmt: skip
    trainer.fit(module, DataLoader(rows(), batch_size=12, shuffle=True))
    optimizer = [v for s in trainer.optimizers[0].state.values() for v in s.values()]
    tensors = [*module.state_dict().values(), *optimizer, torch.get_rng_state()]
    draws = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    return tensors, draws, getattr(watcher, "sources", None), (module, start, trainer)


@pytest.mark.usefixtures("as_installed")  # the type checker of the tests draws random numbers
@pytest.mark.parametrize(
    "settings", [{}, {"accumulate_grad_batches": 2, "gradient_clip_val": 0.1}, {"precision": "bf16-mixed"}]
)
def test_a_watched_training_is_the_same_bit_for_bit(settings, tmp_path):
    tensors, draws, *_ = fitted(tmp_path, False, **settings)
    watched, others, sources, (_, _, trainer) = fitted(tmp_path, True, **settings)
    assert all(torch.equal(one, other) for one, other in zip(tensors, watched, strict=True))
    assert draws == others
    assert [one.step for one in sources.history] == [0, 5, 10, 15]
    assert (tmp_path / "sources.html").is_file()
    trainer.logger.save()
    assert any("sources/a/loss" in path.read_text() for path in tmp_path.rglob("metrics.csv"))


def test_a_measurement_is_that_of_the_batch(tmp_path):
    import lightning

    *_, sources, (module, start, _) = fitted(tmp_path, True, max_epochs=1)
    lightning.seed_everything(0)
    type(module)()  # what was drawn before
    batch = next(iter(DataLoader(rows(), batch_size=12, shuffle=True)))
    module.load_state_dict(start)
    module.eval()  # without dropout the losses are close
    found = watch(module, losses_of, module, batch, environments=batch["source"])
    assert {source: one.rows for source, one in sources.history[0].sources.items()} == dict(
        zip(found.environments, found.sizes, strict=True)
    )


def tuples(losses_of, source, folder):
    """Train one step on batches that are lists, and return the watch."""
    import lightning

    from mechlearn.integrations.lightning import WatchSources

    class Tuples(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(4, 3)

        def training_step(self, batch, index):
            return cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    watcher = WatchSources(losses_of, source)
    data = TensorDataset(torch.randn(8, 4), torch.arange(8) % 3)
    trainer = lightning.Trainer(max_steps=1, callbacks=[watcher], logger=False, default_root_dir=folder, **QUIET)
    trainer.fit(Tuples(), DataLoader(data, batch_size=8))
    return watcher.sources


def test_ids_may_be_a_function_of_the_batch(tmp_path):
    found = tuples(lambda m, b: cross_entropy(m.net(b[0]), b[1], reduction="none"), lambda b: b[1] % 2, tmp_path)
    assert list(found.history[0].sources) == [0, 1]


@pytest.mark.usefixtures("as_installed")
def test_missing_ids_and_names_are_told():
    from mechlearn.integrations import lightning

    with pytest.raises(AttributeError, match="WatchSources"):
        _ = lightning.Wrong
    with pytest.raises(TypeError, match="`losses_of` should be"):
        tuples(3, 0, None)
    with pytest.raises(ValueError, match=r"sources at 2\. Found a list without"):
        tuples(lambda m, b: b, 2, None)
