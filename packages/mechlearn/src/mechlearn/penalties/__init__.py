"""Penalties and weights over environments that tables compare agreement with, and columns to leave out before training.

One file and one function each, over unreduced losses and environment ids; `craik.agreement` shares nothing with them.
"""

from craik.penalties.fishr import fishr_penalty as fishr_penalty
from craik.penalties.groupdro import group_dro_loss as group_dro_loss
from craik.penalties.irm import irm_penalty as irm_penalty
from craik.penalties.pcgrad import pcgrad as pcgrad
from craik.penalties.pcgrad import pcgrad_gradients as pcgrad_gradients
from craik.penalties.screening import Screened as Screened
from craik.penalties.screening import screen as screen
from craik.penalties.vrex import vrex_penalty as vrex_penalty
