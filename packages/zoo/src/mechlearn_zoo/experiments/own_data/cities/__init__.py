"""Five cities' air: cities as sites, and the hours in between as privileged columns."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.cities import figures, measures, run

EXPERIMENT = Experiment(
    name="own-data-cities",
    title="Hourly PM2.5 of five cities: a city nobody has seen, and the hours before an outcome as privileged columns.",
    reproduces="ours; the data and comparisons of Karlsson et al. 2022, arXiv:2110.14993, section 5.2, in kind",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
)
