"""Audits of one's own models: evasion and its transfer, poisoning, reprogramming."""

from mechlearn_zoo.methods.robustness.agreeing import agreed_attack as agreed_attack
from mechlearn_zoo.methods.robustness.agreeing import agreed_gradient as agreed_gradient
from mechlearn_zoo.methods.robustness.agreeing import agreement_score as agreement_score
from mechlearn_zoo.methods.robustness.agreeing import transferred_gain as transferred_gain
from mechlearn_zoo.methods.robustness.closed_forms import as_target as as_target
from mechlearn_zoo.methods.robustness.closed_forms import as_torch as as_torch
from mechlearn_zoo.methods.robustness.evasion import maximum_confidence as maximum_confidence
from mechlearn_zoo.methods.robustness.evasion import security_curve as security_curve
from mechlearn_zoo.methods.robustness.norms import Ball as Ball
from mechlearn_zoo.methods.robustness.norms import project as project
from mechlearn_zoo.methods.robustness.norms import steepest as steepest
from mechlearn_zoo.methods.robustness.poisoning import Learner as Learner
from mechlearn_zoo.methods.robustness.poisoning import Sample as Sample
from mechlearn_zoo.methods.robustness.poisoning import flipped as flipped
from mechlearn_zoo.methods.robustness.poisoning import poison as poison
from mechlearn_zoo.methods.robustness.poisoning import poisoning_gradient as poisoning_gradient
from mechlearn_zoo.methods.robustness.reprogramming import LabelMap as LabelMap
from mechlearn_zoo.methods.robustness.reprogramming import Program as Program
from mechlearn_zoo.methods.robustness.reprogramming import reprogramming_loss as reprogramming_loss
from mechlearn_zoo.methods.robustness.transfer import alignment as alignment
from mechlearn_zoo.methods.robustness.transfer import gradient_size as gradient_size
from mechlearn_zoo.methods.robustness.transfer import input_gradient as input_gradient
from mechlearn_zoo.methods.robustness.transfer import transfer_bound as transfer_bound
from mechlearn_zoo.methods.robustness.transfer import transfer_matrix as transfer_matrix
from mechlearn_zoo.methods.robustness.transfer import variability as variability
