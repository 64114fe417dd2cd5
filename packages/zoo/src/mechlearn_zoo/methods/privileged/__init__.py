"""What others make of privileged data: losses beside the label's, to compare with `craik.distill`."""

from craik.methods.privileged.auxiliary import auxiliary_loss as auxiliary_loss
from craik.methods.privileged.contrastive import FutureScores as FutureScores
from craik.methods.privileged.contrastive import info_nce as info_nce
from craik.methods.privileged.gated import Gated as Gated
from craik.methods.privileged.gated import gated_loss as gated_loss
from craik.methods.privileged.generalised import generalised_distillation_loss as generalised_distillation_loss
from craik.methods.privileged.hindsight import HindsightLosses as HindsightLosses
from craik.methods.privileged.hindsight import hindsight_losses as hindsight_losses
