"""A quarter of the labels is wrong: averaging fits them in the end, the AND-mask leaves them.

Wrong labels pull the network in directions that other examples do not share. With every example an environment the mask
takes these pulls out, so that the network goes on predicting the right class where the label is wrong.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from matplotlib.figure import Figure

from craik.agreement import AndMask, Mean, Rule
from craik.experiments.agreement.memorisation import run as memorisation
from craik.lab import Claim, Measurement, Row, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, panels
from craik.lab.limits import not_empty, one_of, positive
from craik.tasks.pictures.digits import CLASSES
from craik.tasks.pictures.images import Images, with_random_labels

REPRODUCES = "thesis section 3.3.2 and appendix B.2.5, figure 3.9; paper section 3.2, figure 9"

METHODS = ("mean", "and-mask")
_LABELS = {"mean": "averaging", "and-mask": "AND-mask"}
_ROLES = {"mean": "baseline", "and-mask": "ours"}


@dataclass(frozen=True)
class Config:
    """Settings of the trials; `memorisation` has those that both experiments share."""

    seed: int = 0
    """First seed: of the split, the wrong labels, the initial weights and the batches."""
    training: str = "quick"
    """Preset of `memorisation` for network, batch and data."""
    data: str = "digits"
    """digits or cifar10."""
    folder: str = ""
    """Folder that holds the public archive of CIFAR-10."""
    examples: int = 1000
    """Training images; 0 takes all there are."""
    noise: float = 0.25
    """Share of the training labels that are redrawn at random."""
    thresholds: tuple[float, ...] = (0.2, 0.3)
    """Thresholds of the AND-mask to choose from."""
    learning_rates: tuple[float, ...] = (1e-3, 5e-3)
    """Initial learning rates to choose from; the best final accuracy on clean validation images decides both choices."""
    epochs: int = 120
    """Passes over the training images."""
    drops: tuple[float, ...] = (0.75,)
    """Shares of the training after which the learning rate falls to a tenth: epoch 60 of 80 in the texts; none: it stays."""

    def __post_init__(self) -> None:
        one_of(self, tuple(memorisation.PRESETS), "training")
        not_empty(self, "thresholds", "learning_rates")
        positive(self, "learning_rates")
        if not 0 < self.noise < 1:
            raise ValueError(f"noise should lie between 0 and 1: some labels are wrong and some are right. Found {self.noise}.")
        for threshold in self.thresholds:
            AndMask(threshold)  # refuses one outside [0, 1] before any work
        self.trial(self.learning_rates[0])  # refuses what memorisation refuses

    def trial(self, learning_rate: float) -> memorisation.Config:
        """Return the settings of one trial's training."""
        if self.data not in ("digits", "cifar10"):
            raise ValueError(f"data should be digits or cifar10. Found {self.data!r}.")
        return replace(
            memorisation.PRESETS[self.training],
            seed=self.seed,
            data=self.data,
            folder=self.folder,
            examples=self.examples,
            learning_rate=learning_rate,
            epochs=self.epochs,
            drops=self.drops,
        )

    def trials(self) -> list[tuple[str, float, float]]:
        """Return each trial's method, threshold (0 for averaging) and learning rate."""
        settings = [("mean", 0.0), *(("and-mask", threshold) for threshold in self.thresholds)]
        return [(*setting, rate) for setting in settings for rate in self.learning_rates]


PRESETS = {
    "quick": Config(),
    # Thesis appendix B.2.5: these learning rates, and the threshold that worked best (0.2 there) of memorisation's.
    "paper": Config(training="paper", thresholds=(0.1, 0.2, 0.3, 0.4), learning_rates=(5e-4, 1e-3, 5e-3)),
}
SEEDS = {"quick": 3, "paper": 5}


def run(config: Config) -> Iterator[Row]:
    """Yield learning curves for each method and learning rate; the last point is marked final."""
    first = config.trial(config.learning_rates[0])
    data = memorisation.load(first.data, first.folder, config.seed, first.examples)
    generator = torch.Generator().manual_seed(config.seed + 2**33)
    noisy, wrong = with_random_labels(data.train.y, config.noise, CLASSES, generator)
    mislabelled = Images(data.train.x[wrong], noisy[wrong])
    for method, threshold, learning_rate in config.trials():
        trial = config.trial(learning_rate)
        model = memorisation.make_model(trial, data.train.x.shape[1])
        rule: Rule = AndMask(threshold, first.rescale) if method == "and-mask" else Mean()
        for epoch, _ in enumerate(memorisation.fit(model, rule, data.train, noisy, trial), start=1):
            if epoch % max(1, config.epochs // 20) and epoch not in (1, 2, 3, config.epochs):
                continue
            yield {
                "kind": "final" if epoch == config.epochs else "curve",
                "data": data.name,
                "method": method,
                "threshold": threshold,
                "learning_rate": learning_rate,
                "epoch": epoch,
                "fitted_wrong": memorisation.accuracy(model, mislabelled, mislabelled.y),
                "validation_accuracy": memorisation.accuracy(model, data.validation, data.validation.y),
                "test_accuracy": memorisation.accuracy(model, data.test, data.test.y),
            }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    trials = config.trials()
    place = trials.index((str(row["method"]), number(row, "threshold"), number(row, "learning_rate")))
    done = (place + number(row, "epoch") / config.epochs) / len(trials)
    return done, f"{row['method']}, threshold {row['threshold']}, learning rate {row['learning_rate']}"


def selected(rows: Rows, method: str) -> Rows:
    """Return a method's rows of the trial with the best mean final accuracy on validation images, over all seeds."""
    some = rows.where(method=method)
    trials = {(number(row, "threshold"), number(row, "learning_rate")): row for row in some}
    chosen = [some.where(threshold=threshold, learning_rate=rate) for threshold, rate in sorted(trials)]
    return max(chosen, key=lambda group: np.mean(group.where(kind="final")["validation_accuracy"]), default=[])


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw accuracy on the wrong labels and on the test set while training (figure 3.9)."""
    figure, (left, right) = panels(
        2,
        caption="Left: share of the wrongly labelled training images whose wrong label the network gives. Dotted: chance. "
        f"Right: accuracy on test images with their own labels. Median over seeds with their range. Data: {rows[0]['data']}.",
        height=2.9,
    )
    for method in METHODS:
        some = selected(rows, method)
        if not some:
            continue
        mask = f" {some[0]['threshold']:g}" if method == "and-mask" else ""
        label = f"{_LABELS[method]}{mask}, lr {some[0]['learning_rate']:g}"
        for axes, key in ((left, "fitted_wrong"), (right, "test_accuracy")):
            band(axes, *some.curves("epoch", key), label, COLOURS[_ROLES[method]])
    left.axhline(1 / CLASSES, color=COLOURS["reference"], linewidth=0.9, linestyle=":")
    left.set(title="Wrong labels fitted", xlabel="epoch", ylim=(0, 1.03))
    right.set(title="Test accuracy", xlabel="epoch", ylim=(0.5, 1.01))
    right.legend(loc="lower right")
    return {"label-noise": figure}


def final(method: str, key: str, rows: Rows) -> Measurement | None:
    """Return a final accuracy at a method's selected learning rate."""
    found = selected(rows, method).where(kind="final")[key]
    return bootstrap(found) if found else None


def decline(method: str, rows: Rows) -> Measurement | None:
    """Return by how much test accuracy at the end lies below its peak while training; median over seeds."""
    groups = selected(rows, method).by("seed").values()
    ends = [(group["test_accuracy"], group.where(kind="final")["test_accuracy"]) for group in groups]
    falls = [max(while_training) - end for while_training, (end,) in ends]
    return bootstrap(falls) if falls else None


_SOURCE = "thesis section 3.3.2 and figure 3.9; paper section 3.2 and figure 9"
_SELECTED = "with the settings selected on clean validation images"

CLAIMS = (
    Claim(
        id="label-noise.baseline-memorises",
        text="With averaged gradients the network memorises the incorrect labels.",
        source=_SOURCE,
        printed="about 1.00",
        measure=lambda rows: final("mean", "fitted_wrong", rows),
        holds=lambda measured: measured.value >= 0.9,
        condition=f"it gives at least 0.9 of them at the end, {_SELECTED}; median over seeds",
    ),
    Claim(
        id="label-noise.mask-ignores",
        text="With the AND-mask its fit of the incorrect labels is well below chance, as it predicts correctly despite them.",
        source=_SOURCE,
        printed="below 0.10",
        measure=lambda rows: final("and-mask", "fitted_wrong", rows),
        holds=lambda measured: measured.value <= 0.1,
        condition=f"it gives at most 0.1 of them at the end, {_SELECTED}; median over seeds",
        tried="With 480 digits instead of 1000 and the texts' threshold 0.2 the mask delays the fit of wrong labels and keeps "
        "test accuracy, but gives 0.6 of them in the end; with 1000 digits 0.2 to 0.5, by seed and learning rate. What is "
        "below chance is the threshold 0.3, which we added to the choice, so that the mask has twice averaging's trials.",
    ),
    Claim(
        id="label-noise.baseline-declines",
        text="On the test set averaging peaks early and then falls as the network overfits.",
        source=_SOURCE,
        printed="above 0",
        measure=lambda rows: decline("mean", rows),
        holds=lambda measured: measured.value >= 0.02,
        condition=f"final test accuracy at least 0.02 below its peak, {_SELECTED}; median over seeds",
    ),
    Claim(
        id="label-noise.mask-improves",
        text="The AND-mask's test accuracy improves slowly but steadily.",
        source=_SOURCE,
        printed="about 0",
        measure=lambda rows: decline("and-mask", rows),
        holds=lambda measured: measured.value <= 0.02,
        condition=f"final test accuracy less than 0.02 below its peak, {_SELECTED}; median over seeds",
        tried="The peak is the best of over twenty measurements on 500 images and so errs upwards by about as much as the "
        "condition allows. With 480 digits instead of 1000, and threshold 0.2, it falls by 0.03.",
    ),
)
