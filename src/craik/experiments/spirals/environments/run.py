"""How many environments it takes: averaging needs a thousand before it finds the spirals, the AND-mask a handful.

More environments make the shortcuts worse: with one vector each, a separating direction has to serve all of them at once.
Averaging switches to the mechanism when there are so many that shortcuts no longer pay.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.figure import Figure

from craik.agreement import AndMask, Mean, Rule
from craik.experiments.spirals.mechanism import run as spirals
from craik.lab import Claim, OverSeeds, Row, Rows, number
from craik.lab.drawing import COLOURS, panels
from craik.lab.limits import at_least, between, not_empty, one_of

REPRODUCES = "thesis appendix B.2.4, figure B.6; paper, the same appendix, figure 15"

SUCCESS = 0.9
"""Test accuracy from which on a run has found the spirals; chance is 0.5."""


@dataclass(frozen=True)
class Config:
    """Settings of the trials; whatever is not named here is as in a preset of `spirals`."""

    seed: int = 0
    """First seed: of the data, the initial weights and the batches."""
    board: str = "quick"
    """Preset of `spirals` for network, optimiser and data."""
    mean_counts: tuple[int, ...] = (16, 256, 1024)
    """Numbers of environments to average over."""
    mask_counts: tuple[int, ...] = (4, 8, 16)
    """Numbers of environments for the AND-mask."""
    examples: int = 16_384
    """Training examples of all environments together, the same for every number of environments."""
    per_step: int = 2048
    """Examples of all environments together in a step."""
    epochs: int = 100
    """Passes over the training data."""

    def __post_init__(self) -> None:
        one_of(self, tuple(spirals.PRESETS), "board")
        not_empty(self, "mean_counts", "mask_counts")
        at_least(self, 1, "examples", "epochs")
        between(self, 1, self.examples, "per_step", why="a step is part of the examples")
        between(self, 2, self.per_step, "mean_counts", "mask_counts", why="every environment is in a step, beside another")


PRESETS = {
    "quick": Config(),
    # As many examples as the texts' 32 environments x 1280 have together; their 1280 each would be 1.3 million at 1024.
    "paper": Config(
        board="paper",
        mean_counts=(2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
        mask_counts=(2, 4, 8, 16, 32),
        examples=32 * 1280,
        per_step=32 * 256,
        epochs=2 * (3000 // 32),
    ),
}
SEEDS = {"quick": 3, "paper": 5}


def trial(config: Config, count: int) -> spirals.Config:
    """Return the settings of a trial with so many environments, each with its part of the data and of the batch."""
    base = spirals.PRESETS[config.board]
    return replace(
        base,
        seed=config.seed,
        environments=count,
        examples=config.examples // count,
        batch=config.per_step // count,
        epochs=config.epochs,
        stop_as_printed=False,
    )


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method and number of environments."""
    for method, counts in (("mean", config.mean_counts), ("and-mask", config.mask_counts)):
        for count in counts:
            settings = trial(config, count)
            rule: Rule = AndMask(settings.threshold, settings.rescale) if method == "and-mask" else Mean()
            data, model = spirals.make_data(settings), spirals.make_model(settings)
            *_, last = spirals.train(settings, model, rule, data.train, every=max(1, spirals.steps_of(settings) // 20))
            yield {
                "method": method,
                "environments": count,
                "steps": last.step,
                "train_loss": last.train_loss,
                "train_accuracy": last.train_accuracy,
                "validation_accuracy": spirals.accuracy(model, data.validation),
                "test_accuracy": spirals.accuracy(model, data.test),
            }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    trials = [*(("mean", count) for count in config.mean_counts), *(("and-mask", count) for count in config.mask_counts)]
    place = trials.index((str(row["method"]), int(number(row, "environments"))))
    return (place + 1) / len(trials), f"{row['method']}, {row['environments']} environments"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw test accuracy against the number of environments: the best run and every run (figure B.6)."""
    figure, (axes,) = panels(
        caption="Test accuracy against the number of training environments. Line: the best run, as in the texts; dots: every "
        "seed. The examples of all environments together are the same everywhere. Dotted: chance.",
        height=2.9,
    )
    for method, label, role in (("and-mask", "AND-mask", "ours"), ("mean", "averaging", "baseline")):
        some = rows.where(method=method)
        if some:
            counts, lines = some.curves("environments", "test_accuracy")
            axes.plot(counts, np.nanmax(lines, axis=0), color=COLOURS[role], label=label)
            for line in lines:
                axes.plot(counts, line, ".", color=COLOURS[role], alpha=0.6)
    axes.axhline(0.5, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="training environments", ylabel="test accuracy", ylim=(0.4, 1.03))
    axes.legend(loc="center right")
    return {"environments": figure}


def best(method: str, count: int) -> OverSeeds:
    """Return the measure of a method's best test accuracy over seeds, as the texts report it."""
    return OverSeeds("test_accuracy", (("method", method), ("environments", count)), statistic=np.max)


_SOURCE = "thesis appendix B.2.4 and figure B.6; paper figure 15"

CLAIMS = (
    Claim(
        id="spiral-environments.mean-1024",
        text="With averaged gradients the network switches from the shortcuts to the mechanism at 1024 environments.",
        source=_SOURCE,
        printed="succeeds",
        measure=best("mean", 1024),
        holds=lambda measured: measured.value >= SUCCESS,
        condition=f"best test accuracy over seeds at 1024 environments at least {SUCCESS}",
    ),
    Claim(
        id="spiral-environments.mean-256",
        text="With a quarter of them, 256, it does not.",
        source=_SOURCE,
        printed="fails",
        measure=best("mean", 256),
        holds=lambda measured: measured.value < SUCCESS,
        condition=f"best test accuracy over seeds at 256 environments below {SUCCESS}",
    ),
    Claim(
        id="spiral-environments.mask-16",
        text="With the AND-mask a handful of environments is enough.",
        source=_SOURCE,
        printed="succeeds",
        measure=best("and-mask", 16),
        holds=lambda measured: measured.value >= SUCCESS,
        condition=f"best test accuracy over seeds at 16 environments at least {SUCCESS}",
    ),
)
