"""What each surrogate of meta policy search gives when it is differentiated twice, with nothing sampled."""

from claimlab import Experiment
from mechlearn_zoo.experiments.control.promp_estimators import claims, figures, run

EXPERIMENT = Experiment(
    name="promp-estimators",
    title="Meta-gradients of policy search: biases and variances of three surrogates, exactly.",
    reproduces="ProMP (Rothfuss et al. 2019), theorem 2 and figures 4 and 5, on finite MDPs",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
    progress=run.progress,
)
