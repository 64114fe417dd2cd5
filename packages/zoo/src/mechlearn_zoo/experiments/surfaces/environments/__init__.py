"""One surface for each environment, on the plane through two solutions: figure 3.1 of the thesis, from networks."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.surfaces.environments import audit, audit_figures, figures, measures, run

EXPERIMENT = Experiment(
    name="environment-surfaces",
    title="The mean loss and two environments' on a plane through what averaging and what the AND-mask found on the spirals.",
    reproduces="thesis figure 3.1, which is drawn by hand, with trained networks",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="environment-surfaces",
            title="Audit of two trained networks: which environments disagree about them, and in which parameters.",
            reproduces="definition (2) of the paper, (3.1) and (3.2) of the thesis, on the networks of figure 3.6",
            presets=audit.PRESETS,
            run=audit.run,
            claims=claims_of(measures, "audit.toml"),
            figures=audit_figures.figures,
        ),
    ),
)
