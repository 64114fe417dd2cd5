"""A maze with a television: which bonus explores it, and which one watches."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.mazes.television import figures, measures, run, skips, skips_figures, skips_measures

EXPERIMENT = Experiment(
    name="curiosity-tv",
    title="A maze with a television: curiosity, reachability and counts, with the set on and off.",
    reproduces="Burda et al. 2018, section 4.2, and Savinov et al. 2019, section 4, on a maze of textures",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="curiosity-tv",
            title="A forward model that may skip frames, paid as curiosity: televisions whose pictures pass, and that stay.",
            reproduces="nothing: the noisy television of Burda et al. 2018 with the thesis's adaptive skips as a cure",
            presets=skips.PRESETS,
            run=skips.run,
            claims=claims_of(skips_measures, "skips.toml"),
            figures=skips_figures.figures,
            progress=skips.progress,
        ),
    ),
)
