"""Penalties and weights over environments that tables compare agreement with, and columns to leave out before training.

One file and one function each, over unreduced losses and environment ids; `mechlearn.agreement` shares nothing with them.
"""

from mechlearn.penalties.agreement_filtering import gaf as gaf
from mechlearn.penalties.conflict_averse import cagrad as cagrad
from mechlearn.penalties.fishr import fishr_penalty as fishr_penalty
from mechlearn.penalties.groupdro import group_dro_loss as group_dro_loss
from mechlearn.penalties.irm import irm_penalty as irm_penalty
from mechlearn.penalties.pcgrad import pcgrad as pcgrad
from mechlearn.penalties.pcgrad import pcgrad_gradients as pcgrad_gradients
from mechlearn.penalties.screening import Screened as Screened
from mechlearn.penalties.screening import screen as screen
from mechlearn.penalties.vrex import vrex_penalty as vrex_penalty
