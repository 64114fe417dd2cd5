"""Curves of quality and diversity by temperature for maximum likelihood and SeqGAN; the run is `seqgan`'s."""

from collections.abc import Iterator
from dataclasses import replace

from claimlab import Preset, Row
from mechlearn_zoo.experiments.language.generators import PRESETS as SHARED
from mechlearn_zoo.experiments.language.generators import Config
from mechlearn_zoo.experiments.language.generators import run as shared_run

PRESETS = {name: Preset(replace(preset.config, arms=("mle", "seqgan")), preset.seeds) for name, preset in SHARED.items()}


def run(config: Config) -> Iterator[Row]:
    """Yield both generators' measures at T = 1 and their curves."""
    yield from shared_run(config)
