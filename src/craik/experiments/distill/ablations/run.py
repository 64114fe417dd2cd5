"""What distilled trajectories live on: each part of LDT taken away, and other uses of the same privileged data.

Figure 4.9's ablations: an untrained teacher, trajectories in shuffled time, trajectories replaced by noise, a validation
set that is drawn anew at every step. Beside them: generalised distillation (Lopez-Paz et al., 2016), whose teacher learns to
predict the label from the privileged data, and a fixed random teacher with a coefficient of its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from matplotlib.figure import Figure

from craik.experiments.distill.ablations.figures import CLAIMS, draw_errors, draw_outcomes
from craik.experiments.distill.ablations.fixed_teachers import train_ablated, train_other
from craik.experiments.distill.ablations.variants import ABLATED, LABELS, OTHERS, Trial, noise_frames
from craik.experiments.distill.bodies import Look, rows_of, watch
from craik.experiments.distill.mujoco import run as distill_mujoco
from craik.lab import Row, Rows, number
from craik.lab.limits import at_least, between, not_empty, one_of, positive
from craik.tasks.bodies.rollouts import Environment
from craik.tasks.privileged import PrivilegedData

REPRODUCES = "thesis section 4.4.4, figure 4.9; paper section 4.4, figures 7 and 8"

__all__ = ["CLAIMS", "PRESETS", "REPRODUCES", "SEEDS", "Config", "figures", "progress", "run"]


@dataclass(frozen=True)
class Config:
    """Settings of one run; training, networks and data are those of `distill-mujoco`."""

    seed: int = 0
    """First seed: of the initial weights, the split, the batches and the noise. All seeds share the examples."""
    environment: Environment = "Walker2d"
    """Which body; figure 4.9 shows Walker2d."""
    variants: tuple[str, ...] = ("ldt", "untrained", "permuted", "noise-16", "redrawn", *OTHERS)
    """What to train: names of `ABLATED` and `OTHERS`, noise-n with any n from 1 to 16."""
    size: str = "quick"
    """The preset of `distill-mujoco` whose data, networks and settings are used."""
    rounds: int = 160
    """Meta-steps, each followed by 24 ordinary steps of the student; variants without a meta-step take as many steps."""
    coefficients: tuple[float, ...] = (0.01, 1.0)
    """Teaching coefficients of the fixed random teacher."""
    temperatures: tuple[float, ...] = (1.0, 4.0)
    """Temperatures of generalised distillation's soft labels."""
    imitations: tuple[float, ...] = (0.5, 0.9)
    """Its imitation parameters: the weight of the soft labels against the true ones."""

    def __post_init__(self) -> None:
        not_empty(self, "variants", "coefficients", "temperatures", "imitations")
        for variant in self.variants:
            if variant not in LABELS and not noise_frames(variant):
                raise ValueError(f"variants should be of {', '.join(LABELS)}, or noise-n. Found {variant!r}.")
        one_of(self, tuple(distill_mujoco.PRESETS), "size")
        at_least(self, 1, "rounds")
        at_least(self, 0, "coefficients")
        positive(self, "temperatures")
        between(self, 0, 1, "imitations")


PRESETS = {
    "quick": Config(),
    "paper": Config(
        variants=(*ABLATED, *OTHERS),
        size="paper",
        rounds=1000,
        coefficients=(0.001, 0.01, 0.1, 1.0, 10.0),
        temperatures=(1.0, 2.0, 5.0, 10.0),
        imitations=(0.25, 0.5, 0.75, 1.0),
    ),
}
SEEDS = {"quick": 3, "paper": 8}


def trials(config: Config) -> list[Trial]:
    """Return all training runs of a config."""
    found: list[Trial] = []
    for variant in config.variants:
        if variant == "random-teacher":
            found += [Trial(variant, coefficient=coefficient) for coefficient in config.coefficients]
        elif variant == "generalised":
            pairs = product(config.temperatures, config.imitations)
            found += [Trial(variant, temperature=t, imitation=share) for t, share in pairs]
        else:
            found.append(Trial(variant))
    return found


def run(config: Config) -> Iterator[Row]:
    """Yield every training run's curve and summary."""
    settings = settings_of(config)
    data = distill_mujoco.make_data(settings, config.environment)
    for place, trial in enumerate(trials(config)):
        row: Row = {"environment": config.environment, "place": place, **trial._asdict()}
        yield from rows_of(measure(settings, data, trial), row)


def settings_of(config: Config) -> distill_mujoco.Config:
    """Return the settings of `distill-mujoco` that a config stands for."""
    base = distill_mujoco.PRESETS[config.size]
    return replace(base, seed=config.seed, environments=(config.environment,), rounds=config.rounds)


def measure(settings: distill_mujoco.Config, data: PrivilegedData, trial: Trial) -> Iterator[Look]:
    """Train one student and look at its errors now and then."""
    student = distill_mujoco.make_student(settings, data.train.x.shape[1])
    train = train_other if trial.variant in OTHERS else train_ablated
    yield from watch(student, data, train(settings, student, data.train, trial), settings.every, settings.rounds)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is; a run with meta-steps counts as eight without."""
    costs = [1.0 if trial.variant in (*OTHERS, "untrained") else 8.0 for trial in trials(config)]
    place = int(number(row, "place"))
    steps = config.rounds * distill_mujoco.PRESETS[config.size].student_steps
    part = number(row, "step") / steps if row["kind"] == "curve" else 1.0
    return (sum(costs[:place]) + part * costs[place]) / sum(costs), f"{row['variant']}  error {number(row, 'selection'):.4f}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the test errors while training, ablations and other uses apart (figure 4.9), and every seed's outcome."""
    return {"test-errors": draw_errors(rows), "outcomes": draw_outcomes(rows)}
