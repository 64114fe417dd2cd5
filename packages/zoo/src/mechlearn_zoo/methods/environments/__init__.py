"""Methods that use environments, to compare agreement with; they share nothing with `craik.agreement`."""

from craik.methods.environments.clipping import clipped_gradients as clipped_gradients
from craik.methods.environments.clipping import clipped_mean as clipped_mean
from craik.methods.environments.fish import fish_gradients as fish_gradients
from craik.methods.environments.iga import iga_penalty as iga_penalty
