"""Methods that users compare agreement with, one file and one function each; they share nothing with `craik.agreement`."""

from craik.methods.fishr import fishr_penalty as fishr_penalty
from craik.methods.iga import iga_penalty as iga_penalty
from craik.methods.irm import irm_penalty as irm_penalty
from craik.methods.pcgrad import pcgrad as pcgrad
from craik.methods.pcgrad import pcgrad_gradients as pcgrad_gradients
from craik.methods.vrex import vrex_penalty as vrex_penalty
