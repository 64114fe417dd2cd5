"""A generator of tokens trained by policy gradient against a discriminator."""

from claimlab import Experiment
from mechlearn_zoo.experiments.language.seqgan import claims, figures, run

EXPERIMENT = Experiment(
    name="seqgan",
    title="SeqGAN against maximum likelihood, judged by the true distribution.",
    reproduces="Yu et al. 2017, table 1, at a small size",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
