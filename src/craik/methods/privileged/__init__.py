"""What others make of privileged data: losses beside the label's, to compare with `craik.distill`."""

from craik.methods.privileged.auxiliary import auxiliary_loss
from craik.methods.privileged.contrastive import FutureScores, info_nce
from craik.methods.privileged.gated import Gated, gated_loss
from craik.methods.privileged.generalised import generalised_distillation_loss
from craik.methods.privileged.hindsight import HindsightLosses, hindsight_losses

__all__ = [
    "FutureScores",
    "Gated",
    "HindsightLosses",
    "auxiliary_loss",
    "gated_loss",
    "generalised_distillation_loss",
    "hindsight_losses",
    "info_nce",
]
