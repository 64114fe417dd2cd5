"""Watch sources in a `transformers.Trainer`, or in any class made of it such as TRL's `SFTTrainer`."""

# ruff: noqa: ANN401  # what a trainer takes and returns is its own

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as of_classes
from torch.nn.functional import cross_entropy, mse_loss

from mechlearn.integrations.sources import SourceWatch


def watched(
    trainer: type[Any],
    losses_of: Callable[[nn.Module, Mapping[str, Any]], Tensor] | None = None,
    *,
    column: str = "source",
    every: int = 20,
) -> Any:
    """Return the same Trainer class, which also watches the sources of its rows.

    Nothing that it trains changes. Ids are a column of the data set, which reaches the step with any collator and any
    ``remove_unused_columns``. The first micro-batch of every ``every``-th optimizer step is measured, under the trainer's
    precision. The numbers go to ``trainer.log``. ``trainer.sources`` is the `SourceWatch` of the last `train`, and its page is
    "sources.html" in the output folder. Each process measures its own micro-batches, and process 0 writes the page.

    Args:
        trainer: `transformers.Trainer` or a class made of it.
        losses_of: from the model and a batch to (B,) losses. `row_losses` if left out.
        column: the data set's column of ids: one integer or string for each row.
        every: the number of optimizer steps from one measurement to the next.

    Raises:
        TypeError: if ``trainer`` is not a class, or as `SourceWatch`.
        ValueError: as `SourceWatch`, or in training if a row has no id or several.
    """
    if not isinstance(trainer, type):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        raise TypeError(
            f"`trainer` should be a class such as transformers.Trainer. Found {type(trainer).__name__}. Make the trainer of "
            "what this function returns."
        )

    class Watched(trainer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.data_collator = _Collator(self.data_collator, column)
            self.sources = SourceWatch(self.model, _with_graph(losses_of or row_losses), every)
            self._ids: Any = None

        def _set_signature_columns_if_needed(self) -> None:
            super()._set_signature_columns_if_needed()
            if column not in self._signature_columns:
                self._signature_columns = [*self._signature_columns, column]

        def training_step(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
            self._ids = _taken(inputs, column)
            return super().training_step(model, inputs, *args, **kwargs)

        def prediction_step(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            inputs.pop(column, None)
            return super().prediction_step(model, inputs, *args, **kwargs)

        def compute_loss(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            ids, self._ids = self._ids, None
            if ids is not None and self.sources.due(self.state.global_step):
                self.sources.model = model
                self.sources.measure(model, dict(inputs), environments=ids, step=self.state.global_step)
                self.log(self.sources.scalars())
            return super().compute_loss(model, inputs, *args, **kwargs)

        def train(self, *args: Any, **kwargs: Any) -> Any:
            self.sources.history.clear()
            try:
                return super().train(*args, **kwargs)
            finally:
                if self.sources.history and self.is_world_process_zero():
                    self.sources.page(Path(self.args.output_dir) / "sources.html")

    Watched.__name__ = Watched.__qualname__ = f"Watched{trainer.__name__}"
    return Watched


def row_losses(model: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
    """Return one loss for each row of a batch: of language models, classifiers of rows or tokens, and regressions.

    A row of tokens has the mean over its labelled ones, 0 without any. Of the losses that fit the shapes, such as of shifted
    labels or not, it is the one whose mean is the model's own loss.

    Args:
        model: of transformers, wrapped or not. It returns loss and logits.
        inputs: with "labels". A label of -100 does not count.

    Raises:
        TypeError: if none of these losses is the model's own.
        ValueError: if there are no labels.
    """
    if inputs.get("labels") is None:
        raise ValueError("A batch should have labels. Found none. Pass `losses_of`, a function of model and batch.")
    outputs, labels = model(**inputs), inputs["labels"]
    own, logits = getattr(outputs, "loss", None), getattr(outputs, "logits", None)
    if isinstance(own, Tensor) and isinstance(logits, Tensor):
        target, logits = own.detach().double(), logits.float()
        near = 1e-4 if own.dtype == torch.float32 else 0.02
        with torch.no_grad():
            errors = [
                (float((_mean(loss(logits)) - target).abs()), place) for place, loss in enumerate(_losses(logits, labels))
            ]
        if errors and min(errors)[0] <= near * max(1e-4, float(target.abs())):
            return _mean(_losses(logits, labels)[min(errors)[1]](logits), rows=True)
    raise TypeError(
        "The model's loss should be that of a language model, a classifier or a regression, from its logits and labels. "
        f"Found another one, of {type(model).__name__}. Pass `losses_of`, a function of model and batch that returns one loss "
        "for each row."
    )


def _losses(logits: Tensor, labels: Tensor) -> list[Callable[[Tensor], tuple[Tensor, Tensor]]]:
    """Return the losses that fit shapes, each from logits to losses and a mask of those that count."""
    found: list[Callable[[Tensor], tuple[Tensor, Tensor]]] = []
    if logits.shape[:-1] == labels.shape and not labels.is_floating_point():
        found.append(lambda x: (cross_entropy(x.movedim(-1, 1), labels, reduction="none"), labels != -100))
    if found and labels.dim() == 2:
        after = labels[:, 1:]
        found.append(lambda x: (cross_entropy(x[:, :-1].movedim(-1, 1), after, reduction="none"), after != -100))
    if logits.numel() == labels.numel():
        wanted = labels.view_as(logits).float()
        found.append(lambda x: (mse_loss(x, wanted, reduction="none"), wanted > -math.inf))
        found.append(lambda x: (of_classes(x, wanted, reduction="none"), wanted > -math.inf))
    return found


def _mean(found: tuple[Tensor, Tensor], *, rows: bool = False) -> Tensor:
    """Return the mean of the losses that count, of all or of each row."""
    losses, counted = found
    if rows:
        losses, counted = losses.flatten(1) if losses.dim() > 1 else losses[:, None], counted.view(len(losses), -1)
        return losses.sum(1) / counted.sum(1).clamp(min=1)
    return losses.double().sum() / counted.sum()


def _with_graph(losses_of: Callable[[nn.Module, Mapping[str, Any]], Tensor]) -> Callable[..., Tensor]:
    """Return the function with reentrant checkpoints turned into others, which keep their graph. `watch` puts them back."""

    def losses(model: nn.Module, inputs: Mapping[str, Any]) -> Tensor:
        for layer in model.modules():
            function = vars(layer).get("_gradient_checkpointing_func")
            if isinstance(function, partial):
                vars(layer)["_gradient_checkpointing_func"] = partial(function, use_reentrant=False)
        return losses_of(model, inputs)

    return losses


class _Collator:
    """A collator that any column of ids passes by.

    Args:
        collator: makes a batch of rows without it.
        column: where the ids are.
    """

    def __init__(self, collator: Callable[[list[Any]], Any], column: str) -> None:
        self.collator, self.column = collator, column

    def __call__(self, rows: list[Any]) -> Any:
        """Return the batch with the column of ids, if a row has it."""
        if not any(isinstance(row, Mapping) and self.column in row for row in rows):
            return self.collator(rows)
        ids = [_id(row.get(self.column), self.column) for row in rows]
        batch = self.collator([{name: value for name, value in row.items() if name != self.column} for row in rows])
        batch[self.column] = torch.tensor(ids) if all(isinstance(one, int) for one in ids) else ids
        return batch

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "collator":
            raise AttributeError(name)
        return getattr(self.collator, name)


def _id(found: object, column: str) -> Hashable:
    if isinstance(found, Tensor) and found.numel() == 1:
        found = found.item()
    if found is None or (isinstance(found, Sequence | Tensor) and not isinstance(found, str)):
        raise ValueError(
            f"Each row should have one source in the column {column!r}. Found {'none' if found is None else 'several'}. Fill "
            "it, and do not pack sources into one row."
        )
    return found if isinstance(found, Hashable) else str(found)


def _taken(batch: Any, column: str) -> Any:
    if column not in batch:
        raise ValueError(
            f"Each batch should have the rows' sources in {column!r}. Found {', '.join(map(repr, batch))}. Add the column to "
            "the data set or pass column=..., its name. Turn packing off, which drops it."
        )
    return batch.pop(column)
