"""Word classes of Python, and English sentences, from two examples each, by neighbourhoods of word vectors."""

from claimlab import Experiment, claims_of
from mechlearn_zoo.experiments.language.grammar import english, figures, measures, run

EXPERIMENT = Experiment(
    name="grammar",
    title="Word classes from two exemplars: balls around them, their mean, hull and span; one source or several that agree.",
    reproduces="embedding grammars, as the reading digest has them; sources that agree are ours",
    presets=run.PRESETS,
    run=run.run,
    claims=claims_of(measures),
    figures=figures.figures,
    parts=(
        Experiment(
            name="grammar",
            title="English sentences: patterns with one open word, matched from two example sentences.",
            reproduces="embedding grammars, as the reading digest has them, on English",
            presets=english.PRESETS,
            run=english.run,
            claims=claims_of(measures, "english.toml"),
            figures=figures.english,
        ),
    ),
)
