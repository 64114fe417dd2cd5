"""Methods that use environments, to compare agreement with; they share nothing with `craik.agreement`."""

from craik.methods.environments.clipping import clipped_gradients as clipped_gradients
from craik.methods.environments.clipping import clipped_mean as clipped_mean
from craik.methods.environments.fish import fish_gradients as fish_gradients
from craik.methods.environments.fishr import fishr_penalty as fishr_penalty
from craik.methods.environments.groupdro import group_dro_loss as group_dro_loss
from craik.methods.environments.iga import iga_penalty as iga_penalty
from craik.methods.environments.irm import irm_penalty as irm_penalty
from craik.methods.environments.pcgrad import pcgrad as pcgrad
from craik.methods.environments.pcgrad import pcgrad_gradients as pcgrad_gradients
from craik.methods.environments.screening import Screened as Screened
from craik.methods.environments.screening import screen as screen
from craik.methods.environments.vrex import vrex_penalty as vrex_penalty
