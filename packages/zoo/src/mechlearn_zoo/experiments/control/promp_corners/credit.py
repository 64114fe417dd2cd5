"""Who is credited for what was tried before the inner step: formulation I, formulation II, or nobody.

All methods have ProMP's clipped outer objective, divergence and meta-steps, and differ in nothing but the credit:

    "one"       formulation I: the inner surrogate "lr" keeps the product of inner and outer gradients
    "two"       formulation II: the inner surrogate "log", and each trajectory has the task's return after the step as credit
    "two-mean"  the same with the mean over a task's trajectories instead of the sum, as E-MAML's published code
    "none"      the inner surrogate "log" alone: the control
"""

from collections.abc import Iterator

from claimlab import Preset, Row
from mechlearn_zoo.experiments.control.promp_corners import run as corners
from mechlearn_zoo.experiments.control.promp_corners.run import Config, Method

PRESETS = {"credit": Preset(Config(iterations=100), seeds=6)}


def methods(config: Config) -> dict[str, Method]:
    """Return what is compared."""
    return {
        "one": Method("lr"),
        "two": Method("log", credit=1.0),
        "two-mean": Method("log", credit=1 / config.trajectories),
        "none": Method("log"),
    }


def run(config: Config) -> Iterator[Row]:
    """Yield each method's curve, and paths at the end."""
    for method, settings in methods(config).items():
        yield from corners.train(config, method, settings)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return corners.progress_of(methods(config), config, row)
