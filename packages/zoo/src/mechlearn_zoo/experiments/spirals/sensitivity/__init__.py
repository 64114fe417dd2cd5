"""What the AND-mask's success on the spirals hangs on: one setting changed at a time (thesis appendix B.2)."""

from claimlab import Experiment, claims_of, progress_over
from mechlearn_zoo.experiments.spirals.sensitivity import figures, measures, needs, run

EXPERIMENT = Experiment(
    name="spirals-sensitivity",
    title="What the AND-mask's success on the spirals hangs on: one setting changed at a time.",
    reproduces="thesis appendix B.2: which of the choices left open matter",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    progress=progress_over("test_accuracy", variant="variants"),
    parts=(
        Experiment(
            name="spirals-sensitivity",
            title="What the AND-mask's win on the spirals needs: L2 through Adam, and shortcuts in coordinates of their own.",
            reproduces="ours; the board of thesis section 3.3.1 on a network of a quarter of the width",
            presets=needs.PRESETS,
            run=needs.run,
            claims=claims_of(measures, "needs.toml"),
            figures=figures.of_needs,
        ),
    ),
)
