"""Fine-tuned models merged by six methods on six families."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.agreement.merging import figures, measures, run

EXPERIMENT = Experiment(
    name="merging",
    title="Six families of digit classifiers, fine-tuned apart and merged by six methods.",
    reproduces="ours; TIES (arXiv:2306.01708) and DARE (arXiv:2311.03099) at toy size",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over(family=run.KINDS, network=run.NETWORKS),
)
