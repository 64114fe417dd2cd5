"""Methods that use environments, to compare agreement with; they share nothing with `mechlearn.agreement`."""

from mechlearn_zoo.methods.environments.clipping import clipped_gradients as clipped_gradients
from mechlearn_zoo.methods.environments.clipping import clipped_mean as clipped_mean
