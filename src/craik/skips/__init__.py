"""Adaptive skip intervals: a dynamics model learns the transitions that are easy to predict (thesis chapter 2)."""

from craik.skips.candidates import candidate_losses as candidate_losses
from craik.skips.contexts import Actions as Actions
from craik.skips.dynamics import Dynamics as Dynamics
from craik.skips.evaluating import Scores as Scores
from craik.skips.evaluating import evaluate as evaluate
from craik.skips.evaluating import scored as scored
from craik.skips.latent import encoded as encoded
from craik.skips.matched import Chosen as Chosen
from craik.skips.matched import Matched as Matched
from craik.skips.matched import Steps as Steps
from craik.skips.matching import Matching as Matching
from craik.skips.matching import match as match
from craik.skips.matching import training_step as training_step
from craik.skips.matchings import Aligned as Aligned
from craik.skips.matchings import Fixed as Fixed
from craik.skips.matchings import Greedy as Greedy
from craik.skips.matchings import Predicted as Predicted
from craik.skips.matchings import SoftAligned as SoftAligned
from craik.skips.matchings import SoftGreedy as SoftGreedy
from craik.skips.matchings import displacement as displacement
from craik.skips.matchings import follow as follow
from craik.skips.predicting import Predictor as Predictor
from craik.skips.rollout import Rollout as Rollout
from craik.skips.rollout import rollout as rollout
from craik.skips.sampling import Sampled as Sampled
