"""What happens when the physics changes in the middle of training: from funnels without bounce to the standard ones.

Where a ball lands hardly changes, only how it gets there. A model that may skip the bouncing has little to relearn.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.skips import training as skips
from craik.experiments.skips.accuracy.run import LABELS, ROLES
from craik.experiments.skips.outcomes import label_accuracy
from craik.experiments.skips.training import Method, Settings, World
from craik.lab import Claim, Measurement, Row, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, panels
from craik.lab.limits import between, not_empty

REPRODUCES = "thesis section 2.3.3, figure 2.11"


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run: those of `skips-accuracy`, with a switch."""

    methods: tuple[Method, ...] = ("asi", "fixed-2", "fixed-3")
    """What to compare."""
    evaluations: int = 30_000
    """Model evaluations that each method may spend."""
    switch: float = 0.6
    """Share of them after which the standard boards replace those without bounce; the thesis switches at half of 150 epochs."""
    checks: int = 10
    """How often, evenly spaced in evaluations, accuracy is measured on standard validation boards."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task != "funnel-board":
            raise ValueError(f"task should be funnel-board: only its physics has a variant. Found {self.task}.")
        not_empty(self, "methods")
        between(self, 2, self.evaluations, "checks", why="they are spread over the evaluations")
        if not 0 < self.switch < 1:
            raise ValueError(f"switch should lie between 0 and 1. Found {self.switch}.")


PRESETS = {
    "quick": Config(decay_evaluations=12_000),  # before the switch, as in the thesis: after 15,000 of 18,750 steps at most
    "paper": Config(
        **asdict(skips.PUBLISHED),
        methods=("asi", "asi-no-exploration", "fixed-1", "fixed-2"),
        evaluations=9_000_000,
        switch=0.5,
        checks=150,
    ),
}
SEEDS = {"quick": 3, "paper": 8}


def run(config: Config) -> Iterator[Row]:
    """Train with each method; yield accuracy on standard validation boards, before and after the switch."""
    perturbed = skips.make_world(config, "train", config.episodes, perturbed=True)
    standard = skips.make_world(config, "train", config.episodes)
    validation = skips.make_world(config, "validation", config.validation_episodes)
    switch = round(config.switch * config.evaluations)
    for method in config.methods:
        model = skips.make_model(config, standard)
        every = config.evaluations // config.checks
        for report in skips.train(config, method, model, partial(_before_or_after, perturbed, standard, switch), every):
            accuracy = label_accuracy(model, validation, config.max_steps)
            row: Row = {"method": method, "after": report.evaluations > switch + every // 2, **report._asdict()}
            yield row | accuracy._asdict() | {"switch": switch, "budget": config.evaluations}
            if report.evaluations >= config.evaluations:
                break


def _before_or_after(perturbed: World, standard: World, switch: int, spent: int) -> World:
    return perturbed if spent < switch else standard


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    before = [str(method) for method in config.methods].index(str(row["method"]))
    done = min(1.0, number(row, "evaluations") / config.evaluations)
    return (before + done) / len(config.methods), f"{row['method']}  accuracy {number(row, 'accuracy'):.2f}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy against evaluations, with the switch (figure 2.11)."""
    figure, (axes,) = panels(
        caption="Label accuracy on standard validation boards. Before the dotted line training boards do not bounce, after it "
        "they are the standard ones. Median over seeds, with the band from the lowest to the highest seed.",
        height=3.2,
    )
    for method in _methods(rows):
        seeds = [rows.where(method=method, seed=seed) for seed in _seeds(rows)]
        spent = np.median([some["evaluations"] for some in seeds], axis=0) / 1000
        band(axes, spent, [some["accuracy"] for some in seeds], LABELS[method], COLOURS[ROLES[method]])
    axes.axvline(number(rows[0], "switch") / 1000, color=COLOURS["reference"], linestyle=":")
    axes.set(xlabel="model evaluations, thousands", ylabel="label accuracy", ylim=(-0.02, 1.02))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return {"switch": figure}


def _seeds(rows: Rows) -> list[int]:
    return sorted({int(number(row, "seed")) for row in rows})


def _methods(rows: Rows) -> list[str]:
    return [method for method in LABELS if rows.where(method=method)]


def loss_at_switch(rows: Rows, method: str) -> list[float]:
    """Return, for each seed, the accuracy at the last check before the switch less the lowest after it."""
    losses: list[float] = []
    for seed in _seeds(rows):
        before = rows.where(method=method, seed=seed, after=False)["accuracy"]
        after = rows.where(method=method, seed=seed, after=True)["accuracy"]
        if before and after:
            losses.append(before[-1] - min(after))
    return losses


def _measured(rows: Rows, method: str) -> Measurement | None:
    losses = loss_at_switch(rows, method)
    return bootstrap(losses) if losses else None


def _fixed(rows: Rows) -> Measurement | None:
    """The fixed step that loses most."""
    found = [_measured(rows, f"fixed-{dt}") for dt in (1, 2, 3)]
    return max((one for one in found if one is not None), key=lambda one: one.value, default=None)


_TRIED = "At this size and budget; see docs/skips-experiments.md."

CLAIMS = (
    Claim(
        id="skips-perturbation.asi-holds",
        text="ASI holds its accuracy when bouncing boards replace those without bounce.",
        source="thesis figure 2.11",
        printed=None,
        measure=lambda rows: _measured(rows, "asi"),
        holds=lambda measured: measured.value <= 0.1,
        condition="accuracy before the switch less the lowest after it, median over seeds, at most 0.10",
        tried=_TRIED,
    ),
    Claim(
        id="skips-perturbation.fixed-loses",
        text="Fixed steps quickly lose accuracy after the switch.",
        source="thesis figure 2.11 and section 2.3.3",
        printed=None,
        measure=_fixed,
        holds=lambda measured: measured.value >= 0.1,
        condition="the same for the fixed step that loses most, at least 0.10",
        tried=_TRIED,
    ),
)
