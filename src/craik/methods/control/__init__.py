"""Reinforcement learning: roll-outs, returns, and methods that take them; no trainer, agent or buffer to inherit from."""

from craik.methods.control.popart import PopArt as PopArt
from craik.methods.control.popart import PopArtLinear as PopArtLinear
from craik.methods.control.popart import art as art
from craik.methods.control.popart import normalize as normalize
from craik.methods.control.popart import pop as pop
from craik.methods.control.popart import unnormalize as unnormalize
from craik.methods.control.promp import Batch as Batch
from craik.methods.control.promp import ProMP as ProMP
from craik.methods.control.promp import adapt as adapt
from craik.methods.control.promp import exploration_credit as exploration_credit
from craik.methods.control.promp import meta_objective as meta_objective
from craik.methods.control.promp import promp_objective as promp_objective
from craik.methods.control.promp import surrogate as surrogate
from craik.methods.control.returns import discounted as discounted
from craik.methods.control.returns import gae as gae
from craik.methods.control.returns import linear_recurrence as linear_recurrence
from craik.methods.control.returns import n_step as n_step
from craik.methods.control.rollouts import Policy as Policy
from craik.methods.control.rollouts import Rollout as Rollout
from craik.methods.control.rollouts import Worlds as Worlds
from craik.methods.control.rollouts import collect as collect
from craik.methods.control.vtrace import Clips as Clips
from craik.methods.control.vtrace import VTrace as VTrace
from craik.methods.control.vtrace import vtrace as vtrace
