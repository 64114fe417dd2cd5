"""Adaptive skip intervals: a dynamics model learns the transitions that are easy to predict (thesis chapter 2)."""

from craik.skips.contexts import Actions as Actions
from craik.skips.latent import encoded as encoded
from craik.skips.matched import Matched as Matched
from craik.skips.matched import Rollout as Rollout
from craik.skips.matching import candidate_losses as candidate_losses
from craik.skips.matching import match as match
from craik.skips.rollout import rollout as rollout
from craik.skips.settings import FixedStep as FixedStep
from craik.skips.settings import Greedy as Greedy
from craik.skips.settings import Matching as Matching
from craik.skips.settings import OptimalAlignment as OptimalAlignment
from craik.skips.step import training_step as training_step
