"""What does not find the spirals, and what does (thesis figure 3.6)."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.spirals.baselines import figures, measures, ranges, run, search

EXPERIMENT = Experiment(
    name="spirals-baselines",
    title="What does not find the spirals, and what does: dropout, L1, L2, BatchNorm, DANN, IRM and the AND-mask, drawn alike.",
    reproduces="thesis section 3.3.1, figure 3.6 and tables B.1 and B.2; paper section 3.1, figure 6 and tables 1 and 2",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    ranges=ranges.RANGES,
    parts=(
        Experiment(
            name="spirals-baselines",
            title="A random search of the AND-mask's settings on the spirals, selected on held-out environments.",
            reproduces="thesis appendix B.2, table B.1; paper table 1",
            presets=search.PRESETS,
            run=search.run,
            claims=claims_of(measures, "search.toml"),
            figures=figures.search,
            progress=search.progress,
        ),
    ),
)
