"""What others make of privileged data: losses beside the label's, to compare with `mechlearn.distill`."""

from mechlearn_zoo.methods.privileged.auxiliary import auxiliary_loss as auxiliary_loss
from mechlearn_zoo.methods.privileged.contrastive import FutureScores as FutureScores
from mechlearn_zoo.methods.privileged.contrastive import info_nce as info_nce
from mechlearn_zoo.methods.privileged.gated import Gated as Gated
from mechlearn_zoo.methods.privileged.gated import gated_loss as gated_loss
from mechlearn_zoo.methods.privileged.generalised import generalised_distillation_loss as generalised_distillation_loss
from mechlearn_zoo.methods.privileged.hindsight import HindsightLosses as HindsightLosses
from mechlearn_zoo.methods.privileged.hindsight import hindsight_losses as hindsight_losses
