"""Which frozen classifiers of letters can be made to read digits or count squares by one pattern around the picture."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.robustness.reprogramming import figures, measures, residual, run

EXPERIMENT = Experiment(
    name="reprogramming",
    title="Programs around small pictures: trained and random hosts, linear ones, several hosts that agree.",
    reproduces="Elsayed et al. 2019, sections 4.1 to 4.3; Englert and Lazic 2022 on random hosts",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    parts=(
        Experiment(
            name="reprogramming",
            title="A program around digits for a residual network that reads coloured letters, trained and untrained.",
            reproduces="Elsayed et al. 2019, sections 4.2 and 4.3, at a small scale",
            presets=residual.PRESETS,
            run=residual.run,
            claims=claims_of(measures, "residual.toml"),
            figures=figures.residual,
        ),
    ),
)
