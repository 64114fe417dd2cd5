"""Causal InfoGAN: abstract states whose transitions stand for what can be done, and plans through them (Kurutach et al. 2018).

From pairs of observations some steps apart, without rewards: s ~ P(s), s' ~ T(.|s), noise n, (o, o') = G(n, s, s'); D judges
pairs and Q(s|o) reads the state of either observation. With D's value V,
min_{G,T,Q} max_D V - lambda I,  I = E[log Q(s|o) + log Q(s'|o')] + H(s) + H(s'|s)  (equations 3 to 5 of https://arxiv.org/abs/1807.09341).
H(s'|s) depends on T and belongs to I: it keeps T from becoming deterministic.

`pair_losses` gives the scalars; you step two optimisers: D's with `discriminator`, that of G, T and Q with
``generator - weight * information``. It is a GAN: watch D's loss (2 log 2 = 1.39 where it is fooled), T's entropy and the
generated pairs, and
take k-means on the observations where it does as well. Index convention: b a sample, k one of K states, o an observation.
"""

from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.worlds.infogan.pairs import CausalInfoGAN as CausalInfoGAN
from mechlearn_zoo.methods.worlds.infogan.pairs import PairLosses as PairLosses
from mechlearn_zoo.methods.worlds.infogan.pairs import pair_losses as pair_losses
from mechlearn_zoo.methods.worlds.infogan.plans import Plan as Plan
from mechlearn_zoo.methods.worlds.infogan.plans import interpolate as interpolate
from mechlearn_zoo.methods.worlds.infogan.plans import most_plausible as most_plausible
from mechlearn_zoo.methods.worlds.infogan.plans import waypoints as waypoints
from mechlearn_zoo.methods.worlds.infogan.states import GaussianTransition as GaussianTransition
from mechlearn_zoo.methods.worlds.infogan.states import OneHot as OneHot
from mechlearn_zoo.methods.worlds.infogan.states import States as States
from mechlearn_zoo.methods.worlds.infogan.states import Transition as Transition
from mechlearn_zoo.methods.worlds.infogan.states import TransitionTable as TransitionTable
from mechlearn_zoo.methods.worlds.infogan.states import Uniform as Uniform
from mechlearn_zoo.methods.worlds.infogan.states import straight_through as straight_through

PAPER = Paper(
    "Causal InfoGAN",
    2018,
    "Kurutach et al., equations 3 to 5",
    "https://arxiv.org/abs/1807.09341",
    "a GAN's two steps, and Q's",
)
