"""Social dilemmas: agents that talk are paid for influence, where all eat less if each eats what it can."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.worlds.social_dilemmas import box, figures, influence, measures, run, settings

EXPERIMENT = Experiment(
    name="social-dilemmas",
    title="Harvest and Cleanup: do agents with a channel eat more together if messages are paid for influence?",
    reproduces="Jaques et al. 2019: influential communication in two social dilemmas, at a small scale",
    presets=settings.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="social-dilemmas",
            title="Influence of one agent on another, recovered from play with a known coupling.",
            reproduces="Jaques et al. 2019, section 4, in the smallest game",
            presets=influence.PRESETS,
            run=influence.run,
            claims=claims_of(measures, "influence.toml"),
            figures=figures.influence,
        ),
        Experiment(
            name="social-dilemmas",
            title="One agent can let another out of a box: does it, if it is paid for influence?",
            reproduces="Jaques et al. 2019, a proof of concept of their appendix, from memory, as a game of tables",
            presets=box.PRESETS,
            run=box.run,
            claims=claims_of(measures, "box.toml"),
            figures=figures.boxed,
        ),
    ),
)
