"""Tables whose sites are known, six boards: codes of a site's own, a tag, wards, and nothing planted."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.own_data.codes import figures, measures, run

EXPERIMENT = Experiment(
    name="own-data-codes",
    title="Noisy digits with a site's own code: sites by rows, every way to train, a site that nobody has seen.",
    reproduces="ours; a shortcut in coordinates of its own",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.codes,
    parts=(
        Experiment(
            name="own-data-codes",
            title="Weak columns of cells at exchangeable clinics: a null, by sites and rows.",
            reproduces="ours; a null on real columns",
            presets=run.WEAK,
            run=run.weak,
            claims=claims_of(measures, "weak.toml"),
            figures=figures.weak,
        ),
        Experiment(
            name="own-data-codes",
            title="Local ward codes at clinics: a shortcut of eight columns, few rows.",
            reproduces="ours; a shortcut of many values with few rows",
            presets=run.WARDS,
            run=run.wards,
            claims=claims_of(measures, "wards.toml"),
            figures=figures.wards,
        ),
        Experiment(
            name="own-data-codes",
            title="A tag that most sites share: reversed, shuffled and as before at a new site.",
            reproduces="ours; what agreement costs where the shortcut holds",
            presets=run.TAG,
            run=run.tag,
            claims=claims_of(measures, "tag.toml"),
            figures=figures.tag,
        ),
        Experiment(
            name="own-data-codes",
            title="Clinics that differ in base rate and calibration only: no column changes its meaning.",
            reproduces="ours; real differences that agreement cannot use",
            presets=run.CALIBRATION,
            run=run.calibrated,
            claims=claims_of(measures, "calibration.toml"),
            figures=figures.calibration,
        ),
        Experiment(
            name="own-data-codes",
            title="Digits by writer: real sites as they are, and with a code of each writer's own.",
            reproduces="ours; a natural null, and a shortcut planted in real sites",
            presets=run.WRITERS,
            run=run.written,
            claims=claims_of(measures, "writers.toml"),
            figures=figures.writers,
        ),
    ),
)
