"""What the AND-mask's win on the spirals needs."""

from claimlab import Experiment
from mechlearn_zoo.experiments.conflict.needs import claims, figures, run

EXPERIMENT = Experiment(
    name="conflict-needs",
    title="What the AND-mask's win on the spirals needs: L2 through Adam, and shortcuts in coordinates of their own.",
    reproduces="ours; the board of thesis section 3.3.1 on a network of a quarter of the width",
    presets=run.PRESETS,
    run=run.run,
    claims=claims.CLAIMS,
    figures=figures.figures,
)
