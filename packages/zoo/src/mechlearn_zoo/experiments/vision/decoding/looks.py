"""Early stopping of a search: its pictures on the way, and what each score had where the same one of validation was best."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

from claimlab import EarlyStopping, Row
from mechlearn_zoo.experiments.vision.decoding.networks import LOOKS, Extractor
from mechlearn_zoo.methods.vision.reconstructing import Pixels, Prior, reconstruct

SCORES = ("pairwise", "r", "recognised")
"""What reconstructions are scored by; each stops a search for itself, which favours stopping."""


@dataclass
class Watched:
    """An extractor that keeps the pictures it is shown at looks: what a search shows it at call k, it has after k steps.

    Attributes:
        extractor: what answers.
        steps: of the search.
        calls: so far.
        kept: pictures by steps.
    """

    extractor: Extractor
    steps: int
    calls: int = 0
    kept: dict[int, Tensor] = field(default_factory=dict[int, Tensor])
    looks: EarlyStopping = field(default_factory=lambda: EarlyStopping(LOOKS))

    def __call__(self, images: Tensor) -> dict[str, Tensor]:
        """Return the features of pictures."""
        if self.looks.due(self.calls / self.steps):
            self.kept[self.calls] = images.detach().clone()
        self.calls += 1
        return self.extractor(images)


def searched(extractor: Extractor, wanted: Mapping[str, Tensor], way: Pixels | Prior) -> dict[int, Tensor]:
    """Search; return the pictures by steps at each look, those of the end as the last."""
    watched = Watched(extractor, way.steps)
    images = reconstruct(watched, wanted, way).images
    return {**watched.kept, way.steps: images}


def stops() -> dict[str, EarlyStopping]:
    """Return what each score may stop."""
    return {score: EarlyStopping(LOOKS) for score in SCORES}


def look(
    stopping: Mapping[str, EarlyStopping], share: float, validation: Mapping[str, float], found: Mapping[str, float]
) -> None:
    """Keep each score of test pictures where the same of validation pictures is better than before."""
    for score, one in stopping.items():
        one.look(share, validation[score], {score: found[score]})


def stopped(stopping: Mapping[str, EarlyStopping]) -> Row:
    """Return the columns `stopped_...` of each score, and after which share of the steps it was."""
    row: Row = {}
    for score, one in stopping.items():
        row |= {f"stopped_{score}": one.row[f"stopped_{score}"], f"stopped_at_{score}": one.row["stopped_at"]}
    return row
