"""Watch sources in a `transformers.Trainer` or a class made of it such as TRL's `SFTTrainer`, or train them with a rule."""

# ruff: noqa: ANN401  # what a trainer takes and returns is its own

import math
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as of_classes
from torch.nn.functional import cross_entropy, mse_loss

from mechlearn.agreement import Agreement, Record
from mechlearn.agreement.rules import Rule, check_rule
from mechlearn.integrations.sources import SourceWatch

EXAMPLES = "example_ids"
"""The column of the rows' own ids, which need not be there."""

PRINTING = ("ProgressCallback", "PrinterCallback", "NotebookProgressCallback")
"""Callbacks of transformers that write what is logged to the terminal or below a cell."""


def watched(
    trainer: type[Any],
    losses_of: Callable[[nn.Module, Mapping[str, Any]], Tensor] | None = None,
    *,
    column: str = "source",
    every: int = 20,
    rule: Rule | None = None,
) -> Any:
    """Return the same Trainer class, which also watches the sources of its rows, and trains with a rule if you pass one.

    Without a rule nothing that it trains changes. Ids are a column of the data set, which reaches the step with any collator
    and any ``remove_unused_columns``. The first micro-batch of every ``every``-th optimizer step is measured, under the
    trainer's precision. The numbers go to ``trainer.log``, but not to the terminal. ``trainer.sources`` is the `SourceWatch`
    of the last `train`, and its page is "sources.html" in the output folder. Each process measures its own micro-batches, and
    process 0 writes the page. If the data set has a column "example_ids", the page names rows by them.

    With a rule each optimizer step is that of ``trainer.agreement``, an `Agreement` over all micro-batches and processes, and
    ``trainer.record`` is the last step's `Record`. A source's loss is the mean over its rows, and a row's over its tokens.
    Clipping acts after the rule.

    Args:
        trainer: `transformers.Trainer` or a class made of it.
        losses_of: from the model and a batch to (B,) losses. `row_losses` if left out.
        column: the data set's column of ids: one integer or string for each row.
        every: the number of optimizer steps from one measurement to the next.
        rule: how to combine the sources' gradients, for example `AndMask`. None: as the trainer does.

    Raises:
        TypeError: if ``trainer`` is not a class, if ``rule`` is not a rule, or as `SourceWatch`. In training, if the trainer's
            loss is not the model's own and no ``losses_of`` was passed with a rule.
        ValueError: as `SourceWatch`, if the data set lacks the column, or in training if a row has no id or several. With a
            rule, for arguments with float16, torch_compile, DeepSpeed or DataParallel.
    """
    if rule is not None:
        check_rule(rule)
    if not isinstance(trainer, type):  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        raise TypeError(
            f"`trainer` should be a class such as transformers.Trainer. Found {type(trainer).__name__}. Make the trainer of "
            "what this function returns."
        )

    class Watched(trainer):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            _check_column(self.train_dataset, column)
            self.data_collator = _Collator(self.data_collator, column)
            self.sources = SourceWatch(self.model, _with_graph(losses_of or row_losses), every)
            self.agreement: Agreement | None = None
            self.record: Record | None = None
            self._ids: Any = None
            self._rows: Any = None
            if rule is not None:
                _check_arguments(self.args)

        def _set_signature_columns_if_needed(self) -> None:
            super()._set_signature_columns_if_needed()
            self._signature_columns = list(dict.fromkeys([*self._signature_columns, column, EXAMPLES]))

        def training_step(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
            self._ids, self._examples = _taken(inputs, column), inputs.pop(EXAMPLES, None)
            if rule is None:
                return super().training_step(model, inputs, *args, **kwargs)
            self.accelerator.backward = self._combine
            try:
                return super().training_step(model, inputs)  # without the count of tokens: its loss is the mean over rows
            finally:
                del self.accelerator.backward

        def _combine(self, *args: Any, **kwargs: Any) -> None:
            """Take the place of ``accelerator.backward``: the graph is that of the rows' losses."""
            del args, kwargs
            assert self.agreement is not None  # compute_loss was called before
            step = self.agreement.backward if self.accelerator.sync_gradients else self.agreement.accumulate
            hold = self.args.gradient_accumulation_steps * self.args.world_size > 1
            self.record = step(*self._rows, hold=hold) or self.record
            self._rows = None

        def prediction_step(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            for name in (column, EXAMPLES):
                inputs.pop(name, None)
            return super().prediction_step(model, inputs, *args, **kwargs)

        def compute_loss(self, model: nn.Module, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            ids, self._ids = self._ids, None
            if ids is not None and self.sources.due(self.state.global_step):
                self.sources.model = model
                step, rows = self.state.global_step, self._examples
                self.sources.measure(model, dict(inputs), environments=ids, step=step, examples=rows)
                with _without_printing(self.callback_handler):
                    self.log(self.sources.scalars())
            if ids is None or rule is None:
                return super().compute_loss(model, inputs, *args, **kwargs)
            if self.agreement is None or self.agreement.model is not self.model:
                self.agreement = Agreement(self.model, rule)
                if losses_of is None:
                    _check_settings(self)
                    _check_loss(model, inputs, super().compute_loss)
            with _without_leaves(self.model):
                losses = (losses_of or row_losses)(model, inputs)
            self._rows = losses, ids
            return losses.detach().mean()

        def train(self, *args: Any, **kwargs: Any) -> Any:
            self.sources.history.clear()
            self.agreement = None
            try:
                return super().train(*args, **kwargs)
            finally:
                if self.sources.history and self.is_world_process_zero():
                    self.sources.page(Path(self.args.output_dir) / "sources.html")

    Watched.__name__ = Watched.__qualname__ = f"Watched{trainer.__name__}"
    return Watched


def _check_column(rows: Any, column: str) -> None:
    """Reject a data set whose columns are known and lack that of the ids, before anything is trained."""
    first = rows[0] if isinstance(rows, Sequence) and rows else None
    names = getattr(rows, "column_names", None) or (list(first) if isinstance(first, Mapping) else None)
    if isinstance(names, Sequence) and column not in names:
        raise _without_column(column, "The data set", names)


def _without_column(column: str, what: str, names: Iterable[str]) -> ValueError:
    return ValueError(
        f"{what} should have the rows' sources in {column!r}. Found {', '.join(map(repr, names))}. Add the column to the data "
        "set or pass column=..., its name. Turn packing off, which drops it."
    )


@contextmanager
def _without_printing(handler: Any) -> Generator[None]:
    """Leave out callbacks that write to the terminal, where dozens of numbers would hide the trainer's own."""
    everyone = handler.callbacks
    handler.callbacks = [one for one in everyone if type(one).__name__ not in PRINTING]
    try:
        yield
    finally:
        handler.callbacks = everyone


def _check_arguments(arguments: Any) -> None:
    """Reject settings under which a rule would not see the gradients that the trainer makes."""
    wrong = {
        "fp16": arguments.fp16,
        "torch_compile": arguments.torch_compile,
        "deepspeed": arguments.deepspeed is not None,
        "n_gpu > 1": arguments.n_gpu > 1,
    }
    if any(wrong.values()):
        raise ValueError(
            "The training arguments should have no fp16, torch_compile, deepspeed or DataParallel with a rule. Found "
            f"{', '.join(name for name, there in wrong.items() if there)}. Use bf16, no compiler, and torchrun with a process "
            "for each GPU."
        )


def _check_settings(trainer: Any) -> None:
    """Reject what changes the trainer's loss by name: on a model that knows nothing yet the change may not show in numbers."""
    named = {"label_smoothing_factor": trainer.args.label_smoothing_factor, "compute_loss_func": trainer.compute_loss_func}
    for name, value in named.items():
        if value:
            raise TypeError(
                f"The trainer's loss should be the model's own with a rule. Found {name}={value} instead of none. Pass "
                "`losses_of`, which returns one loss for each row."
            )


def _check_loss(model: nn.Module, inputs: Mapping[str, Any], compute_loss: Callable[..., Tensor]) -> None:
    """Reject a trainer whose loss is not the model's own, since `row_losses` would train another one."""
    losses: list[Tensor] = []
    with torch.no_grad():
        for loss_of in (lambda: model(**inputs).loss, lambda: compute_loss(model, dict(inputs))):
            with torch.random.fork_rng([inputs["labels"].device] if inputs["labels"].is_cuda else []):
                losses.append(loss_of())
    own, found = losses
    if not torch.isclose(own.float(), found.float(), rtol=1e-4 if own.dtype == torch.float32 else 0.02):
        raise TypeError(
            f"The trainer's loss should be the model's own with a rule. Found {float(found):.4g} instead of {float(own):.4g}, "
            "as label smoothing or a loss function makes it. Pass `losses_of`, which returns one loss for each row."
        )


@contextmanager
def _without_leaves(model: Any) -> Generator[None]:
    """Detach frozen embeddings, which trainers of adapters let require a gradient for reentrant checkpoints alone."""
    embeddings = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    if embeddings is None:
        yield
        return

    def detached(_: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        return output.detach() if output.is_leaf else output

    hook = embeddings.register_forward_hook(detached)
    try:
        yield
    finally:
        hook.remove()


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
        names = [row[EXAMPLES] for row in rows if EXAMPLES in row]
        apart = self.column, EXAMPLES
        batch = self.collator([{name: value for name, value in row.items() if name not in apart} for row in rows])
        batch[self.column] = torch.tensor(ids) if all(isinstance(one, int) for one in ids) else ids
        if len(names) == len(rows):
            batch[EXAMPLES] = names
        return batch

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "collator":
            raise AttributeError(name)
        return getattr(self.collator, name)


def _id(found: object, column: str) -> Hashable:
    if isinstance(found, Tensor) and found.numel() == 1:
        found = found.item()
    several = isinstance(found, Sequence | Tensor) and not isinstance(found, str)
    if found is None or found == "" or isinstance(found, float) or several:
        what = "several" if several else repr(found) if isinstance(found, float) else "none"
        raise ValueError(
            f"Each row should have one source, an integer or a string, in the column {column!r}. Found {what}. Fill it, and do "
            "not pack sources into one row."
        )
    return found if isinstance(found, Hashable) else str(found)


def _taken(batch: Any, column: str) -> Any:
    if column not in batch:
        raise _without_column(column, "Each batch", batch)
    return batch.pop(column)
