"""A maze with a television: which bonus explores it, and which one watches."""

from claimlab import Experiment
from mechlearn_zoo.experiments.mazes.television import claims, figures, run, skips, skips_claims, skips_figures

EXPERIMENT = Experiment(
    name="curiosity-tv",
    title="A maze with a television: curiosity, reachability and counts, with the set on and off.",
    reproduces="Burda et al. 2018, section 4.2, and Savinov et al. 2019, section 4, on a maze of textures",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="curiosity-tv",
            title="A forward model that may skip frames, paid as curiosity: televisions whose pictures pass, and that stay.",
            reproduces="nothing: the noisy television of Burda et al. 2018 with the thesis's adaptive skips as a cure",
            presets=skips.PRESETS,
            run=skips.run,
            claims=skips_claims.CLAIMS,
            figures=skips_figures.figures,
            progress=skips.progress,
        ),
    ),
)
