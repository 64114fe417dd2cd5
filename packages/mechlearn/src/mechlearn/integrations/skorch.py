"""Watch sources in a `skorch.NeuralNet`, or train them with a rule: the callback `WatchSources`."""

# ruff: noqa: ANN401  # what a trainer takes and returns is its own

from functools import cache, partial
from pathlib import Path
from typing import Any

from torch import Tensor

from mechlearn.agreement import Agreement
from mechlearn.agreement.rules import Rule
from mechlearn.integrations.sources import SourceWatch


def __getattr__(name: str) -> Any:
    """Make the callback when it is first named: until then skorch need not be installed."""
    if name == "WatchSources":
        return _made()
    raise AttributeError(f"A name of mechlearn.integrations.skorch should be WatchSources. Found {name!r}. Choose it.")


@cache
def _made() -> type[Any]:
    from skorch.callbacks import Callback  # noqa: PLC0415  # pyright: ignore[reportMissingImports]  # an extra

    class WatchSources(Callback):  # pyright: ignore[reportUntypedBaseClass]
        """Measure every ``every``-th training batch, and train with a rule if you pass one.

        Without a rule nothing that is trained changes. The numbers go to the net's history. ``sources_`` is the `SourceWatch`
        of the last fit. With a rule each step is that of ``agreement_``, an `Agreement`. ``record_`` is the last step's
        `Record`, and the history has its "share" for each batch.

        Args:
            source: the key of the ids in X, a dictionary whose other entries the module reads. If it has "example_ids", the
                page names rows by them.
            every: the number of batches from one measurement to the next.
            page: the file of the page that is written at the end of training. None: no page.
            rule: how to combine the sources' gradients, for example `AndMask`. None: as the net does.

        Raises:
            TypeError: if ``rule`` is not a rule, or as `SourceWatch`.
            ValueError: as `SourceWatch`, if X has no ids, or if the criterion has no ``reduction``.
        """

        def __init__(
            self, source: str = "source", every: int = 20, page: str | Path | None = None, rule: Rule | None = None
        ) -> None:
            self.source, self.every, self.page, self.rule = source, every, page, rule

        def on_train_begin(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:  # noqa: N803
            del X, y, kwargs
            self.sources_ = SourceWatch(net.module_, row_losses, self.every)
            if self.rule is not None:
                self.agreement_ = Agreement(net.module_, self.rule)
                net.train_step_single = partial(self._step, net)

        def on_batch_begin(self, net: Any, batch: Any = None, training: Any = None, **kwargs: Any) -> None:
            del kwargs
            if training:
                x, y = batch
                if not isinstance(x, dict) or self.source not in x:
                    raise ValueError(
                        f"X should be a dictionary with the rows' sources in {self.source!r}. Found {type(x).__name__}. Pass "
                        "fit({'x': x, 'source': ids}, y), and let the module's forward take both."
                    )
                net.module_.train()  # as the step does
                if self.sources_.step(net, x, y, environments=x[self.source], examples=x.get("example_ids")):
                    for name, value in self.sources_.scalars().items():
                        net.history.record_batch(name, value)

        def _step(self, net: Any, batch: Any, **fit_params: Any) -> dict[str, Tensor]:
            """Take the place of ``NeuralNet.train_step_single``."""
            x, y = batch
            net.module_.train()
            predicted = net.infer(x, **fit_params)
            losses = _losses(net, predicted, x, y)
            self.record_ = self.agreement_.backward(losses, x[self.source])
            net.history.record_batch("share", self.record_.share)
            return {"loss": losses.detach().mean(), "y_pred": predicted}

        def on_train_end(self, net: Any, X: Any = None, y: Any = None, **kwargs: Any) -> None:  # noqa: N803
            del X, y, kwargs
            vars(net).pop("train_step_single", None)
            if self.page is not None:
                self.sources_.page(self.page)

    WatchSources.__qualname__ = "WatchSources"  # where pickle looks for it
    return WatchSources


def row_losses(net: Any, x: Any, y: Any) -> Tensor:
    """Return the net's own loss of each row, (B,).

    Args:
        net: initialised, with a criterion that has a ``reduction``, as those of torch.
        x: the module's inputs.
        y: the targets.

    Raises:
        ValueError: if the criterion has no ``reduction``.
    """
    return _losses(net, net.infer(x), x, y)


def _losses(net: Any, predicted: Any, x: Any, y: Any) -> Tensor:
    """Return the loss of each row from what the module predicts."""
    criterion = net.criterion_
    before = getattr(criterion, "reduction", None)
    if before is None:
        raise ValueError(
            f"The criterion should have a `reduction`. Found {type(criterion).__name__} without. Give it one that returns a "
            "loss for each row if it is 'none'."
        )
    try:
        criterion.reduction = "none"
        losses: Tensor = net.get_loss(predicted, y, X=x, training=True)
    finally:
        criterion.reduction = before
    return losses.flatten(1).mean(1) if losses.dim() > 1 else losses
