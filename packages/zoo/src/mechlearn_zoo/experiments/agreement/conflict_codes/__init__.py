"""What tests for conflict gain where sites write the label in codes of their own, and cost where they are alike."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.agreement.conflict_codes import figures, measures, null, peers, run

EXPERIMENT = Experiment(
    name="conflict-codes",
    title="Digits with a code of the site's own: sites by rows, which rule gains where.",
    reproduces="ours; a shortcut in coordinates of its own",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    parts=(
        Experiment(
            name="conflict-codes",
            title="No conflict: what tests for it mask of noise, and what that costs.",
            reproduces="ours; the levels of the tests",
            presets=null.PRESETS,
            run=null.run,
            claims=claims_of(measures, "null.toml"),
            figures=figures.of_null,
        ),
        Experiment(
            name="conflict-codes",
            title="Rules of other papers on the same boards.",
            reproduces="ours; rules as their papers set them",
            presets=peers.PRESETS,
            run=peers.run,
            claims=claims_of(measures, "peers.toml"),
            figures=figures.of_peers,
        ),
    ),
)
