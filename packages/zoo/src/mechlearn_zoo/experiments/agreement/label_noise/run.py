"""Networks trained where a quarter of the labels is wrong, by averaging and with the AND-mask.

Wrong labels pull the network in directions that other examples do not share. With every example an environment the mask
takes these pulls out, so that the network goes on predicting the right class where the label is wrong.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Interval, MinLen
from torch import Generator

from claimlab import (
    Choice,
    LogUniform,
    Objective,
    Positive,
    Preset,
    Ranges,
    Row,
    Share,
    Single,
    Uniform,
    check_limits,
    checkpoint,
    number,
)
from mechlearn.agreement import AndMask, GeometricMean, Mean, Rule
from mechlearn_zoo.experiments.agreement.per_example import (
    WIDTHS,
    Data,
    Training,
    accuracy,
    check_images,
    fit,
    load,
    make_model,
)
from mechlearn_zoo.tasks.pictures.digits import CLASSES
from mechlearn_zoo.tasks.pictures.images import Images, with_random_labels
from mechlearn_zoo.tasks.streams import same_stream

Method = Literal["mean", "and-mask", "geometric"]


@dataclass(frozen=True)
class Config:
    """Settings of the trials; `memorisation` has those that both experiments share."""

    seed: int = 0
    """First seed: of the split, the wrong labels, the initial weights and the batches."""
    training: Literal["quick", "paper"] = "quick"
    """Preset of `memorisation` for network, batch and data."""
    data: Data = "digits"
    """digits or cifar10."""
    folder: str = ""
    """Folder that holds the public archive of CIFAR-10."""
    examples: Annotated[int, Ge(0)] = 1000
    """Training images; 0 takes all there are."""
    noise: Annotated[float, Interval(gt=0, lt=1), "some labels are wrong and some are right"] = 0.25
    """Share of the training labels that are redrawn at random."""
    thresholds: Annotated[tuple[Share, ...], MinLen(1)] = (0.2, 0.3)
    """Thresholds of the AND-mask to choose from."""
    learning_rates: Annotated[tuple[Positive, ...], MinLen(1)] = (1e-3, 5e-3)
    """Initial learning rates to choose from; the best final accuracy on clean validation images decides both choices."""
    epochs: Annotated[int, Ge(1)] = 120
    """Passes over the training images."""
    drops: tuple[Share, ...] = (0.75,)
    """Shares of the training after which the learning rate falls to a tenth: epoch 60 of 80 in the texts; none: it stays."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("mean", "and-mask")
    """Averaging, the AND-mask, and the element-wise geometric mean with the mask's thresholds."""

    def __post_init__(self) -> None:
        check_limits(self)
        check_images(self.data, self.folder, self.examples, Training.batch)

    def trial(self, learning_rate: float) -> Training:
        """Return the settings of one trial's training."""
        return Training(self.seed, WIDTHS[self.training], learning_rate, self.drops, self.epochs)

    def trials(self) -> list[tuple[str, float, float]]:
        """Return each trial's method, threshold (0 for averaging) and learning rate."""
        masks = [one for one in self.methods if one != "mean"]
        settings = [("mean", 0.0)] * ("mean" in self.methods) + [(one, tau) for one in masks for tau in self.thresholds]
        return [(*setting, rate) for setting in settings for rate in self.learning_rates]


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # Thesis section 3.2.3, limitations (ii) and (iv), at the setting that `quick` selects for the mask.
    "geometric": Preset(
        Config(seed=100, thresholds=(0.3,), learning_rates=(5e-3,), methods=("mean", "and-mask", "geometric")), seeds=6
    ),
    # Thesis appendix B.2.5: these learning rates, and the threshold that worked best (0.2 there) of memorisation's.
    "paper": Preset(Config(training="paper", thresholds=(0.1, 0.2, 0.3, 0.4), learning_rates=(5e-4, 1e-3, 5e-3)), seeds=5),
}


def rule_of(method: str, threshold: float) -> Rule:
    """Return a method's rule."""
    if method == "and-mask":
        return AndMask(threshold)
    return GeometricMean(threshold) if method == "geometric" else Mean()


def mislabelled(images: Images, share: float, generator: Generator) -> tuple[Images, Images]:
    """Return images of whose labels a share is redrawn, and those of them whose label is a wrong one now."""
    labels, wrong = with_random_labels(images.y, share, CLASSES, generator)
    return Images(images.x, labels), Images(images.x[wrong], labels[wrong])


class Trained(NamedTuple):
    """What is trained in one trial, and what is looked at.

    Attributes:
        images: with the labels to train on.
        rule: how the examples' gradients are combined.
        training: how long and how.
        looks: points of its learning curve, besides those after its first three epochs.
        measured: images on which its accuracy is measured, by the name that rows have.
    """

    images: Images
    rule: Rule
    training: Training
    looks: int
    measured: Mapping[str, Images]


def curve(name: str, trained: Trained, settings: Row) -> Iterator[Row]:
    """Yield a trial's accuracies while it trains; the last point is marked final.

    Args:
        name: of its checkpoint.
        trained: what is trained.
        settings: what its rows say of it.
    """
    saved, training, images = checkpoint(name), trained.training, trained.images
    yield from saved.values
    if saved.finished:
        return
    model = make_model(training, images.x.shape[1])
    for _ in fit(model, trained.rule, images, images.y, training, saved):
        epoch = saved.done + 1
        if epoch % max(1, training.epochs // trained.looks) and epoch not in (1, 2, 3, training.epochs):
            saved.keep(epoch)
            continue
        kind = "final" if epoch == training.epochs else "curve"
        found = {key: accuracy(model, some, some.y) for key, some in trained.measured.items()}
        yield saved.keep(epoch, {"kind": kind, **settings, "epoch": epoch, **found})
    saved.finish()


def run(config: Config) -> Iterator[Row]:
    """Yield learning curves for each method and learning rate; the last point is marked final."""
    data = load(config.data, config.folder, config.seed, config.examples)
    images, wrong = mislabelled(data.train, config.noise, same_stream(config.seed))
    measured = {"fitted_wrong": wrong, "validation_accuracy": data.validation, "test_accuracy": data.test}
    for method, threshold, learning_rate in config.trials():
        name = f"{method}, threshold {threshold}, learning rate {learning_rate}"
        settings: Row = {"data": data.name, "method": method, "threshold": threshold, "learning_rate": learning_rate}
        trained = Trained(images, rule_of(method, threshold), config.trial(learning_rate), 20, measured)
        yield from curve(name, trained, settings)


@dataclass(frozen=True)
class Trial(Config):
    """One of the trials at settings of its own, for sweeps; `thresholds` and `learning_rates` are not read."""

    method: Method = "and-mask"
    """What is trained; `methods` is not read."""
    threshold: Share = 0.2
    """The mask's; not read by averaging."""
    learning_rate: Positive = 1e-3
    """Initial learning rate."""

    def trials(self) -> list[tuple[str, float, float]]:
        """Return the method, threshold (0 for averaging) and learning rate."""
        return [(self.method, 0.0 if self.method == "mean" else self.threshold, self.learning_rate)]


_SWEPT: Ranges = Ranges(
    {"learning_rate": LogUniform(1e-4, 1e-2), "threshold": Uniform(0.05, 0.6)},
    Objective(("validation_accuracy",)),
    {"mean": {"method": "mean", "threshold": 0.0}, "and-mask": {"method": "and-mask"}},
    Single(lambda config: Trial(**asdict(config)), run),
)

RANGES = {
    "quick": _SWEPT,
    "paper": Ranges(
        {"learning_rate": Choice(5e-4, 1e-3, 5e-3), "threshold": Choice(0.1, 0.2, 0.3, 0.4)},
        _SWEPT.objective,
        _SWEPT.methods,
        _SWEPT.single,
    ),
}
"""At "paper" those of thesis appendix B.2.5; at "quick" wider ones. Validation images have their true labels."""


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    trials = config.trials()
    place = trials.index((str(row["method"]), number(row, "threshold"), number(row, "learning_rate")))
    done = (place + number(row, "epoch") / config.epochs) / len(trials)
    return done, f"{row['method']}, threshold {row['threshold']}, learning rate {row['learning_rate']}"
