"""Watch sources in a `lightning.Trainer`: the callback `WatchSources`."""

# ruff: noqa: ANN401  # what a trainer takes and returns is its own

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from torch import Tensor

from mechlearn.integrations.sources import SourceWatch


def __getattr__(name: str) -> Any:
    """Make the callback when it is first named: until then Lightning need not be installed."""
    if name == "WatchSources":
        return _made()
    raise AttributeError(f"A name of mechlearn.integrations.lightning should be WatchSources. Found {name!r}. Choose it.")


@cache
def _made() -> type[Any]:
    from lightning.pytorch import Callback  # noqa: PLC0415  # pyright: ignore[reportMissingImports]  # an extra

    class WatchSources(Callback):  # pyright: ignore[reportUntypedBaseClass]
        """Measure the first micro-batch of every ``every``-th optimizer step.

        Nothing that is trained changes. The numbers go to the trainer's loggers. ``sources`` is the `SourceWatch` of the last
        fit, and its page is "sources.html" in the trainer's ``default_root_dir``. Each process measures its own micro-batches,
        and process 0 writes the page.

        Args:
            losses_of: from the module and a batch to (B,) losses.
            source: the place of the ids in a batch, a key or an index, or a function from a batch to them.
            every: the number of optimizer steps from one measurement to the next.

        Raises:
            TypeError: as `SourceWatch`.
            ValueError: as `SourceWatch`.
        """

        def __init__(self, losses_of: Callable[[Any, Any], Tensor], source: Any, every: int = 20) -> None:
            self.losses_of, self.source, self.every = losses_of, source, every

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            del trainer
            self.sources = SourceWatch(pl_module, self.losses_of, self.every)

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            del batch_idx
            if self.sources.due(trainer.global_step):
                ids: Any = self.source(batch) if callable(self.source) else _taken(batch, self.source)
                with trainer.precision_plugin.train_step_context():
                    self.sources.measure(pl_module, batch, environments=ids, step=trainer.global_step)
                for logger in trainer.loggers:
                    logger.log_metrics(self.sources.scalars(), step=trainer.global_step)

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            del pl_module
            if trainer.is_global_zero and self.sources.history:
                self.sources.page(Path(trainer.default_root_dir) / "sources.html")

    WatchSources.__qualname__ = "WatchSources"  # where pickle looks for it
    return WatchSources


def _taken(batch: Any, source: Any) -> Any:
    try:
        return batch[source]
    except (KeyError, IndexError, TypeError):
        raise ValueError(
            f"Each batch should have the rows' sources at {source!r}. Found a {type(batch).__name__} without. Add them to the "
            "data set, or pass `source`, their place or a function of the batch."
        ) from None
