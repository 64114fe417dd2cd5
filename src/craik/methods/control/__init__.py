"""Reinforcement learning: roll-outs, returns, and methods that take them; no trainer, agent or buffer to inherit from."""

from craik.methods.control.counterfactual import Scenarios as Scenarios
from craik.methods.control.counterfactual import counterfactual_rollouts as counterfactual_rollouts
from craik.methods.control.counterfactual import evaluate as evaluate
from craik.methods.control.counterfactual import log_likelihood as log_likelihood
from craik.methods.control.counterfactual import posterior as posterior
from craik.methods.control.crar import Abstraction as Abstraction
from craik.methods.control.crar import Planner as Planner
from craik.methods.control.crar import Transitions as Transitions
from craik.methods.control.crar import crar_losses as crar_losses
from craik.methods.control.disagreement import jensen_renyi as jensen_renyi
from craik.methods.control.disagreement import jensen_shannon as jensen_shannon
from craik.methods.control.disagreement import plan as plan
from craik.methods.control.empowerment import capacity as capacity
from craik.methods.control.empowerment import n_step_channel as n_step_channel
from craik.methods.control.empowerment import reachable as reachable
from craik.methods.control.entropy import interpolate as interpolate
from craik.methods.control.entropy import objective as objective
from craik.methods.control.entropy import perturb as perturb
from craik.methods.control.one_shot import OneShot as OneShot
from craik.methods.control.one_shot import temporal_dropout as temporal_dropout
