"""Watch sources in a `lightning.Trainer`, or train them with a rule: the callback `WatchSources`."""

# ruff: noqa: ANN401  # what a trainer takes and returns is its own

from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from torch import Tensor

from mechlearn.agreement import Agreement, Record
from mechlearn.agreement.rules import Rule, check_rule
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
        """Measure the first micro-batch of every ``every``-th optimizer step, and train with a rule if you pass one.

        Without a rule nothing that is trained changes. The numbers go to the trainer's loggers. ``sources`` is the
        `SourceWatch` of the last fit, and its page is "sources.html" in the trainer's ``default_root_dir``. Each process
        measures its own micro-batches, and process 0 writes the page.

        With a rule, let ``training_step`` return (B,) losses, one for each row. Each optimizer step is that of ``agreement``,
        an `Agreement` over all micro-batches and processes, and ``record`` is the last step's `Record`. Clipping acts after the
        rule.

        Args:
            losses_of: from the module and a batch to (B,) losses.
            source: the place of the ids in a batch, a key or an index, or a function from a batch to them. If the batch is a
                dictionary with "example_ids", the page names rows by them.
            every: the number of optimizer steps from one measurement to the next.
            rule: how to combine the sources' gradients, for example `AndMask`. None: as the trainer does.

        Raises:
            TypeError: if ``rule`` is not a rule, or as `SourceWatch`.
            ValueError: as `SourceWatch`. With a rule, if ``training_step`` returns a mean, for manual optimization, for a
                compiled module, or in float16.
        """

        def __init__(
            self, losses_of: Callable[[Any, Any], Tensor], source: Any, every: int = 20, rule: Rule | None = None
        ) -> None:
            self.losses_of, self.source, self.every, self.rule = losses_of, source, every, rule
            self.record: Record | None = None
            if rule is not None:
                check_rule(rule)

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            self.sources = SourceWatch(pl_module, self.losses_of, self.every)
            if self.rule is not None:
                _check_module(trainer, pl_module)
                self.agreement = Agreement(pl_module, self.rule)
                pl_module.backward = partial(self._combine, trainer)

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            del batch_idx
            if self.rule is not None or self.sources.due(trainer.global_step):
                self._ids: Any = self.source(batch) if callable(self.source) else _taken(batch, self.source)
            if self.sources.due(trainer.global_step):
                with trainer.precision_plugin.train_step_context():
                    rows = batch.get("example_ids") if isinstance(batch, Mapping) else None
                    self.sources.measure(pl_module, batch, environments=self._ids, step=trainer.global_step, examples=rows)
                for logger in trainer.loggers:
                    logger.log_metrics(self.sources.scalars(), step=trainer.global_step)

        def _combine(self, trainer: Any, losses: Tensor, *args: Any, **kwargs: Any) -> None:
            """Take the place of ``LightningModule.backward``, for losses that are divided by the number of micro-batches."""
            del args, kwargs
            last = not trainer.fit_loop._should_accumulate()
            passes = trainer.accumulate_grad_batches
            step = self.agreement.backward if last else self.agreement.accumulate
            self.record = step(losses * passes, self._ids, hold=passes * trainer.world_size > 1) or self.record

        def on_train_end(self, trainer: Any, pl_module: Any) -> None:
            vars(pl_module).pop("backward", None)
            if trainer.is_global_zero and self.sources.history:
                self.sources.page(Path(trainer.default_root_dir) / "sources.html")

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            del trainer, exception
            vars(pl_module).pop("backward", None)

    WatchSources.__qualname__ = "WatchSources"  # where pickle looks for it
    return WatchSources


def _check_module(trainer: Any, module: Any) -> None:
    """Reject what a rule cannot train."""
    wrong = {
        "manual optimization": not module.automatic_optimization,
        "a compiled module": getattr(module, "_compiler_ctx", None) is not None,
        "precision 16-mixed": getattr(trainer.precision_plugin, "scaler", None) is not None,
    }
    if any(wrong.values()):
        raise ValueError(
            "A rule should have a module with automatic optimization, not compiled, in float32 or bfloat16. Found "
            f"{', '.join(name for name, there in wrong.items() if there)}. Change it, or call Agreement in `training_step`."
        )


def _taken(batch: Any, source: Any) -> Any:
    try:
        return batch[source]
    except (KeyError, IndexError, TypeError):
        raise ValueError(
            f"Each batch should have the rows' sources at {source!r}. Found a {type(batch).__name__} without. Add them to the "
            "data set, or pass `source`, their place or a function of the batch."
        ) from None
