"""Audit of two trained networks: which environments disagree about them, and in which parameters.

A network that averages gradients sews together one shortcut for each environment: its weights can be changed so that one
environment does not notice while another's loss explodes. A network trained with the AND-mask uses what all share. The
inconsistency score says so without test data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from craik.agreement import AndMask, Mean
from craik.experiments.spirals.mechanism import run as spirals
from craik.lab.claims import Claim, Measurement, Row, bootstrap
from craik.lab.columns import by_seed, number, numbers, where
from craik.lab.drawing import COLOURS, panels
from craik.lab.limits import between
from craik.surfaces import Audit, Consistency, Subspace, audit
from craik.tasks.boards.spirals import SpiralsData

REPRODUCES = "definition (2) of the paper, (3.1) and (3.2) of the thesis, on the networks of figure 3.6"

Method = Literal["mean", "and-mask"]

LABELS = {"mean": "averaging", "and-mask": "AND-mask"}


@dataclass(frozen=True)
class Config:
    """Settings of one run; what is not named here is as in the quick preset of `spirals`."""

    seed: int = 0
    """First seed: of the data, the initial weights, the batches and the score's random starts."""
    environments: int = 16
    """Number of training environments."""
    epochs: int = 100
    """Passes over the training data."""
    hidden: int = 256
    """Units in each of three hidden layers."""
    scored: int = 3
    """How many environments the inconsistency score compares, pair by pair: the first ones."""
    examples: int = 256
    """Training examples of each environment in the audit."""
    epsilon: float = 0.01
    """How far the loss of the environment that must not notice may rise."""
    ridge: float = 0.01
    """Multiple of the identity added to the Gauss-Newton matrices."""
    iterations: int = 30
    """Steps of the subspace method for a pair and a sign, at most."""
    tolerance: float = 0.05
    """Relative residual at which it stops."""

    def __post_init__(self) -> None:
        between(self, 2, self.environments, "scored", why="pairs of the environments are compared")
        between(self, 1, spirals.PRESETS["quick"].examples, "examples", why="they are training examples of one environment")
        training(self)
        definition(self)


def training(config: Config) -> spirals.Config:
    """Return how the networks are trained."""
    quick = spirals.PRESETS["quick"]
    return replace(quick, seed=config.seed, environments=config.environments, epochs=config.epochs, hidden=config.hidden)


def definition(config: Config) -> Consistency:
    """Return how the score is computed."""
    return Consistency(
        epsilon=config.epsilon,
        ridge=config.ridge,
        curvature="gauss-newton",
        search=Subspace(config.iterations, config.tolerance),
        not_minimum="ignore",  # the rows have the gradient's norm
    )


PRESETS = {"quick": Config(), "paper": Config(scored=8, examples=1024, iterations=200, tolerance=0.02)}
SEEDS = {"quick": 3, "paper": 5}


def audited(config: Config, model: nn.Module, data: SpiralsData) -> Audit:
    """Audit a network on part of its training data."""
    first = torch.arange(config.environments)[:, None] * spirals.PRESETS["quick"].examples
    rows = (first + torch.arange(config.examples)).flatten()
    batch = (data.train.x[rows], data.train.y[rows], data.train.environments[rows])
    generator = torch.Generator().manual_seed(config.seed)
    ids = tuple(range(config.scored))
    return audit(model.eval(), _loss, [batch], definition(config), generator, ids)


def _loss(output: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return cross_entropy(output[:, 0], labels, reduction="none")


def run(config: Config) -> Iterator[Row]:
    """Train one network by averaging and one with the AND-mask, and yield the rows of their audits."""
    settings = training(config)
    data = spirals.make_data(settings)
    for method, rule in (("mean", Mean()), ("and-mask", AndMask(settings.threshold, settings.rescale))):
        model = spirals.make_model(settings)
        *_, last = spirals.train(settings, model, rule, data.train, every=100)
        found = audited(config, model, data)
        score = found.score
        if score is None:
            raise RuntimeError("an audit with a definition of consistency has a score")
        for pair in score.pairs:
            walked = None if pair.walk is None else pair.walk.largest
            row: Row = {"kind": "pair", "method": method, "stays": pair.stays, "other": pair.other, "value": pair.value}
            yield {**row, "walked": walked, "converged": pair.converged, "iterations": pair.iterations}
        for row in found.parameter_rows():
            yield {"kind": "parameter", "method": method, **row}
        yield {
            "kind": "summary",
            "method": method,
            "train_loss": last.train_loss,
            "test_accuracy": spirals.accuracy(model, data.test),
            "lowest_cosine": found.pairs[0].cosine,
            "gradient_norm": score.gradient_norm,
            "inconsistency": score.inconsistency,
            "walked": max(0.0 if pair.walk is None else pair.walk.largest for pair in score.pairs),
            "shortcut_share": shortcut_share(model, score.displacement),
            "parameters": len(score.displacement),
            "products": score.products,
        }


def shortcut_share(model: nn.Module, displacement: torch.Tensor) -> float:
    """Return the share of the first layer's displacement, squared, in columns of shortcuts: which inputs a change concerns."""
    weight = next(iter(model.parameters()))
    moved = displacement[: weight.numel()].view_as(weight).square().sum(0)
    return float(moved[2:].sum() / moved.sum())


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw the pairs of environments and the parameters that disagree most."""
    return {"pairs": pairs(rows), "parameters": parameters(rows)}


def pairs(rows: Sequence[Row]) -> Figure:
    """Draw, for each network, every ordered pair's largest difference of true losses found by walking."""
    seed = min(by_seed(rows))
    figure, axes = panels(
        2,
        caption="How far two environments' losses come apart where that of the first has risen by no more than epsilon: the "
        f"largest difference of true losses on the way to the point that the score names, seed {seed}. Rows: the environment "
        "that must not notice; columns: the one that is compared. The colours' scale is logarithmic.",
        height=3.3,
    )
    values = [number(row, "walked") for row in where(rows, kind="pair", seed=seed)]
    limits = (np.log10(max(min(values), 1e-6)), np.log10(max(values)))
    for panel, method in zip(axes, LABELS, strict=True):
        _draw_pairs(panel, where(rows, kind="pair", method=method, seed=seed), limits)
        panel.set(title=LABELS[method], xlabel="environment compared")
    axes[0].set_ylabel("must not notice")
    return figure


def _draw_pairs(axes: Axes, some: Sequence[Row], limits: tuple[float, float]) -> None:
    ids = sorted({int(number(row, "stays")) for row in some})
    table = np.full((len(ids), len(ids)), np.nan)
    for row in some:
        place = ids.index(int(number(row, "stays"))), ids.index(int(number(row, "other")))
        table[place] = np.log10(max(number(row, "walked"), 1e-6))
    axes.imshow(table, cmap="YlOrRd", vmin=limits[0], vmax=limits[1])
    middle = sum(limits) / 2
    for (i, j), value in np.ndenumerate(table):
        if np.isfinite(value):
            axes.text(j, i, f"{10**value:.2g}", ha="center", va="center", color="white" if value > middle else COLOURS["ink"])
    axes.set(xticks=range(len(ids)), xticklabels=ids, yticks=range(len(ids)), yticklabels=ids)
    axes.grid(visible=False)


def parameters(rows: Sequence[Row]) -> Figure:
    """Draw each parameter's part in the difference of the most inconsistent pair, median over seeds."""
    figure, (axes,) = panels(
        caption="Each parameter's part in the growth of the difference between the two losses of the most inconsistent pair, "
        "as the expansion counts it, in shares of the whole: median over seeds.",
        height=2.8,
    )
    names = [str(row["name"]) for row in where(rows, kind="parameter", method="mean", seed=min(by_seed(rows)))]
    names.sort()
    for shift, (method, role) in zip((-0.2, 0.2), (("mean", "baseline"), ("and-mask", "ours")), strict=True):
        shares = [np.median(_shares(rows, method, name)) for name in names]
        axes.bar(np.arange(len(names)) + shift, shares, width=0.38, color=COLOURS[role], label=LABELS[method])
    axes.set(xticks=range(len(names)), xticklabels=names, ylabel="share of the difference")
    axes.legend()
    return figure


def _shares(rows: Sequence[Row], method: str, name: str) -> list[float]:
    shares: list[float] = []
    for group in by_seed(rows).values():
        some = where(group, kind="parameter", method=method)
        whole = sum(numbers(some, "contribution"))
        shares.append(number(where(some, name=name)[0], "contribution") / whole)
    return shares


def times_more_consistent(rows: Sequence[Row]) -> Measurement | None:
    """Return by how much averaging's inconsistency, as walked, exceeds the AND-mask's: the median ratio over seeds."""
    ratios = [
        number(where(group, kind="summary", method="mean")[0], "walked")
        / number(where(group, kind="summary", method="and-mask")[0], "walked")
        for group in by_seed(rows).values()
        if len(where(group, kind="summary")) == 2
    ]
    return bootstrap(ratios) if ratios else None


CLAIMS = (
    Claim(
        id="audit.and-mask-increases-consistency",
        text="Following what environments agree on leads to minima of higher consistency than averaging does.",
        source="thesis section 3.2.3; paper section 2.3",
        printed=None,
        measure=times_more_consistent,
        holds=lambda measured: measured.low > 1,
        condition="inconsistency of averaging over that of the AND-mask, by walks over true losses: interval above 1",
    ),
)
