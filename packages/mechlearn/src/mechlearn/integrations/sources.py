"""Watch which sources of a training pull against each other, every so many steps."""

import math
import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from mechlearn.agreement.statistics import watch
from mechlearn.arguments import check_callable, check_whole
from mechlearn.environments import EnvironmentIds
from mechlearn.integrations.measurements import ExampleIds, Measurement, measured, names_of
from mechlearn.integrations.page import written

if TYPE_CHECKING:
    from rich.table import Table


class SourceWatch:
    """Measure, every so many steps, how the gradients of a batch's sources differ.

    Nothing that is trained changes. Call `step` in each step of your loop before the forward pass, on every process. Each
    process measures its own batches, with an additional forward and backward pass (`mechlearn.agreement.statistics.watch`).

    Args:
        model: the model that is trained. One that torch.compile, DistributedDataParallel or Accelerate wraps will do.
        losses_of: from a batch to (B,) losses, one for each row.
        every: the number of steps from one measurement to the next.

    Attributes:
        history: every `Measurement`, the oldest first.

    Raises:
        TypeError: if ``losses_of`` is not a function, or ``every`` not an integer.
        ValueError: if ``every`` is below 1.

    Example:
        >>> import torch
        >>> from mechlearn.integrations import SourceWatch
        >>> model, x = torch.nn.Linear(2, 1, bias=False), torch.eye(2).repeat(4, 1)
        >>> y = torch.tensor([9.0] * 6 + [-9.0] * 2)  # the last two rows want the opposite
        >>> sources = SourceWatch(model, lambda x, y: (model(x)[:, 0] - y) ** 2)
        >>> sources.step(x, y, environments=["a", "a", "a", "b", "b", "b", "c", "c"])
        True
        >>> sources.history[0].sources["c"].cosine < -0.9
        True
    """

    def __init__(self, model: nn.Module, losses_of: Callable[..., Tensor], every: int = 20) -> None:
        check_callable("losses_of", losses_of, "a function from a batch to one loss for each row")
        check_whole("every", every, least=1)
        self.model, self.losses_of, self.every = model, losses_of, every
        self.history: list[Measurement] = []
        self._calls = 0

    def step(self, *batch: Any, environments: EnvironmentIds, examples: ExampleIds | None = None) -> bool:  # noqa: ANN401
        """Measure this batch in each ``every``-th call, the first one included, and return whether it was measured.

        Args:
            batch: what ``losses_of`` takes.
            environments: B ids of the rows' sources: integers, strings or anything hashable.
            examples: B ids of the rows, by which the page names those to look at, after a second pass. None: it names none.

        Raises:
            TypeError: as `mechlearn.agreement.statistics.watch`.
            ValueError: as `mechlearn.agreement.statistics.watch`, for losses that are reduced or do not fit the ids.
        """
        step, self._calls = self._calls, self._calls + 1
        if due := self.due(step):
            self.measure(*batch, environments=environments, step=step, examples=examples)
        return due

    def due(self, step: int) -> bool:
        """Tell whether a step of the training is to be measured and was not measured yet."""
        return step % self.every == 0 and not any(one.step == step for one in self.history[-1:])

    def measure(
        self,
        *batch: Any,  # noqa: ANN401  # what losses_of takes
        environments: EnvironmentIds,
        step: int,
        examples: ExampleIds | None = None,
    ) -> Measurement:
        """Measure this batch and add it to the history, whichever step it is.

        Args:
            batch: what ``losses_of`` takes.
            environments: B ids of the rows' sources.
            step: the training's, for the record.
            examples: B ids of the rows, or None.

        Raises:
            TypeError: as `step`.
            ValueError: as `step`.
        """
        found = watch(self.model, self.losses_of, *batch, environments=environments, examples=True)
        names = [] if examples is None else names_of(examples, len(found.index))
        rows = watch(self.model, self.losses_of, *batch, environments=range(len(names))) if names else None
        self.history.append(measured(step, found, names, rows))
        return self.history[-1]

    def noise_scale(self, source: Hashable) -> float:
        """Return the rows of a source at which noise equals signal, from all measurements; NaN if none has two rows.

        The ratio of the mean of `SourceMeasurement.variance` to that of ``signal``. Infinite if the signal is not above 0.
        """
        own = [one.sources[source] for one in self.history if source in one.sources]
        own = [one for one in own if math.isfinite(one.variance)]
        signal, variance = sum(one.signal for one in own), sum(one.variance for one in own)
        return (variance / signal if signal > 0 else math.inf) if own else math.nan

    def scalars(self) -> dict[str, float]:
        """Return the newest measurement as a flat dictionary, for any logger: "sources/NAME/loss" and the like.

        Numbers that are not finite are left out, and so is everything before the first measurement. A character of a name
        that MLflow rejects becomes "_".
        """
        if not self.history:
            return {}
        last, found = self.history[-1], dict[str, float]()
        for source, own in last.sources.items():
            numbers = {"loss": own.loss, "norm": own.norm, "cosine": own.cosine, "noise_scale": self.noise_scale(source)}
            found |= {f"sources/{source}/{key}": value for key, value in numbers.items()}
        found |= {f"sources/pairs/{one}-{other}": cosine for (one, other), cosine in last.pairs.items()}
        found |= {f"sources/layers/{name}/sign_conflict": own.conflict for name, own in last.layers.items()}
        return {re.sub(r"[^\w./ -]", "_", name): value for name, value in found.items() if math.isfinite(value)}

    def panel(self) -> "Table":
        """Return a table of the newest measurement for the terminal, also for ``rich.live.Live``.

        Raises:
            ModuleNotFoundError: if rich is not installed.
        """
        from rich.table import Table  # noqa: PLC0415  # optional

        table = Table(title=f"sources, step {self.history[-1].step}" if self.history else "sources, not measured yet")
        for head in ("source", "rows", "loss", "norm", "noise scale", "cosine with others"):
            table.add_column(head, justify="left" if head == "source" else "right")
        for source, own in self.history[-1].sources.items() if self.history else ():
            numbers = f"{own.loss:.3g}", f"{own.norm:.3g}", f"{self.noise_scale(source):.3g}", f"{own.cosine:+.2f}"
            table.add_row(str(source), str(own.rows), *numbers, style="red" if own.cosine < 0 else None)
        return table

    def page(self, path: str | Path) -> Path:
        """Write one HTML file that needs no script and no network: which sources pull against the others, where and since when.

        Args:
            path: the file's. An existing one is replaced.

        Raises:
            ValueError: if nothing was measured.
        """
        return written(self.history, {s: self.noise_scale(s) for one in self.history for s in one.sources}, Path(path))
