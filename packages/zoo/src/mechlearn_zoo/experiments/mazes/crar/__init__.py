"""Planning in an abstract state, in mazes that were never seen."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.mazes.crar import figures, measures, rooms, run

EXPERIMENT = Experiment(
    name="crar-mazes",
    title="Keys in mazes that were never seen: planning depth in an abstract state learned from random steps elsewhere.",
    reproduces="Francois-Lavet et al. 2019, section 4.2, by the reading digest",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="crar-mazes",
            title="Two rooms in two numbers: with and without what keeps states apart, and an encoder that only Q trains.",
            reproduces="Francois-Lavet et al. 2019, the labyrinth of their figure 2, by the reading digest",
            presets=rooms.PRESETS,
            run=rooms.run,
            claims=claims_of(measures, "rooms.toml"),
            figures=figures.rooms,
            progress=progress_over("one", arm=rooms.ARMS),
        ),
    ),
)
