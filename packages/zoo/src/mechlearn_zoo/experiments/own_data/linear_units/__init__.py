"""The linear unit tests for invariance discovery, with other people's methods beside ours."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.linear_units import figures, measures, run, units

EXPERIMENT = Experiment(
    name="own-data-linear-units",
    title="Linear unit tests: three examples, scrambled or not, 3 and 8 environments, settings chosen without test data.",
    reproduces="arXiv:2102.10867, table 1 and its published results by number of environments",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    parts=(
        Experiment(
            name="own-data-linear-units",
            title="Linear unit tests: one rule for cows and margins, and what it needs.",
            reproduces="ours; the problems of arXiv:2102.10867, examples 1 to 3",
            presets=units.PRESETS,
            run=units.run,
            claims=claims_of(measures, "units.toml"),
            figures=figures.units,
        ),
    ),
)
