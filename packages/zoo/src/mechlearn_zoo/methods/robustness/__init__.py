"""Audits of one's own models: evasion and its transfer, poisoning, reprogramming."""

from craik.methods.robustness.agreeing import agreed_attack as agreed_attack
from craik.methods.robustness.agreeing import agreed_gradient as agreed_gradient
from craik.methods.robustness.agreeing import agreement_score as agreement_score
from craik.methods.robustness.agreeing import transferred_gain as transferred_gain
from craik.methods.robustness.closed_forms import as_target as as_target
from craik.methods.robustness.closed_forms import as_torch as as_torch
from craik.methods.robustness.evasion import maximum_confidence as maximum_confidence
from craik.methods.robustness.evasion import security_curve as security_curve
from craik.methods.robustness.norms import Ball as Ball
from craik.methods.robustness.norms import project as project
from craik.methods.robustness.norms import steepest as steepest
from craik.methods.robustness.poisoning import Learner as Learner
from craik.methods.robustness.poisoning import Sample as Sample
from craik.methods.robustness.poisoning import flipped as flipped
from craik.methods.robustness.poisoning import poison as poison
from craik.methods.robustness.poisoning import poisoning_gradient as poisoning_gradient
from craik.methods.robustness.reprogramming import LabelMap as LabelMap
from craik.methods.robustness.reprogramming import Program as Program
from craik.methods.robustness.reprogramming import reprogramming_loss as reprogramming_loss
from craik.methods.robustness.transfer import alignment as alignment
from craik.methods.robustness.transfer import gradient_size as gradient_size
from craik.methods.robustness.transfer import input_gradient as input_gradient
from craik.methods.robustness.transfer import transfer_bound as transfer_bound
from craik.methods.robustness.transfer import transfer_matrix as transfer_matrix
from craik.methods.robustness.transfer import variability as variability
