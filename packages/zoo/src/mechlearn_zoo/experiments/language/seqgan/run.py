"""SeqGAN against maximum likelihood on a random LSTM's text; the run itself is `temperature-sweep`'s, too."""

from collections.abc import Iterator
from dataclasses import replace

from claimlab import Preset, Row
from mechlearn_zoo.experiments.language.generators import PRESETS as SHARED
from mechlearn_zoo.experiments.language.generators import Config
from mechlearn_zoo.experiments.language.generators import run as shared_run

ARMS = ("mle", "seqgan", "pg-bleu")

PRESETS = {
    # The curves are `temperature-sweep`'s; here two temperatures keep them cheap.
    name: Preset(replace(preset.config, arms=ARMS, temperatures=(0.7, 1.0)), preset.seeds)
    for name, preset in SHARED.items()
}


def run(config: Config) -> Iterator[Row]:
    """Yield each generator's rounds and its measures at T = 1."""
    yield from shared_run(config)
