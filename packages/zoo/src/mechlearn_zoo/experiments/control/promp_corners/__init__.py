"""A policy that one gradient step adapts to the corner that pays: ProMP against MAML on equal steps."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.control.promp_corners import credit, estimators, figures, measures, run

EXPERIMENT = Experiment(
    name="promp-corners",
    title="Points that must find out which corner pays: ProMP against MAML with policy gradients, on equal steps.",
    reproduces="ProMP (Rothfuss et al. 2019), sections 6.1 and 6.3, on its 2-D corner task",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=run.progress,
    parts=(
        Experiment(
            name="promp-corners",
            title="Meta-gradients of policy search: biases and variances of three surrogates, exactly.",
            reproduces="ProMP (Rothfuss et al. 2019), theorem 2 and figures 4 and 5, on finite MDPs",
            presets=estimators.PRESETS,
            run=estimators.run,
            claims=claims_of(measures, "estimators.toml"),
            figures=figures.estimators,
            progress=progress_over(mdp=lambda config: range(config.mdps)),
        ),
        Experiment(
            name="promp-corners",
            title="Who is credited for what was tried before the step: formulation I, formulation II, or nobody.",
            reproduces="ProMP (Rothfuss et al. 2019), sections 4 and 6.3, on its 2-D corner task",
            presets=credit.PRESETS,
            run=credit.run,
            claims=claims_of(measures, "credit.toml"),
            figures=figures.credit,
            progress=credit.progress,
        ),
    ),
)
