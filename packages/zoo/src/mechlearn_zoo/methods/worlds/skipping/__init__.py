"""M with adaptive skips: a world model whose likelihood is that of *some* coming latent (thesis chapter 2, its outlook).

A world model's M predicts the next latent; here it predicts the one of the next H frames that is likeliest under its own
mixture, L_k = - log p(z_{t+k} | z_t, h_t, a_t, a_{t+1}, ...), k* = argmin L_k, and goes on from there. Its state h goes along
the matched frames. It also predicts how far it jumped, a categorical over 1..H with the cross-entropy to k*, and may predict
the rewards that were passed over, so that a dream knows how much time and reward went by. At H = 1 all this is M's ordinary
likelihood.

Two traps. A likelihood rewards small deviations where frames stand still: log scales have a floor, and with
``Greedy(H, ties="last")`` a rest is left at once. And latents of different scale are not matched alike: whiten them once
(`whitening`).

Use it where timing varies and what comes in between does not matter: dreams take fewer steps. Not where every frame is needed,
and not without looking at the mean skip: matching by likelihood can collapse to k = 1, where the near future is sharpest.

Index conventions: b a trajectory, t a frame, u a step of M, l a dimension of the latent, c a component of K, k a jump of 1..H.
"""

from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.worlds.skipping.dreams import SkippedDream as SkippedDream
from mechlearn_zoo.methods.worlds.skipping.dreams import entropies as entropies
from mechlearn_zoo.methods.worlds.skipping.dreams import skipped_dream as skipped_dream
from mechlearn_zoo.methods.worlds.skipping.latents import Whitening as Whitening
from mechlearn_zoo.methods.worlds.skipping.latents import whitening as whitening
from mechlearn_zoo.methods.worlds.skipping.likelihood import MixtureNLL as MixtureNLL
from mechlearn_zoo.methods.worlds.skipping.matched import Skipped as Skipped
from mechlearn_zoo.methods.worlds.skipping.matched import passed_over as passed_over
from mechlearn_zoo.methods.worlds.skipping.matched import skipped_nll as skipped_nll
from mechlearn_zoo.methods.worlds.skipping.memory import SkippingRNN as SkippingRNN

PAPER = Paper(
    "World model with adaptive skips",
    2021,
    "Neitz et al., algorithm 1, with Ha and Schmidhuber's M (ours)",
    "https://arxiv.org/abs/1808.04768",
    "H likelihoods a step, fewer steps a dream",
)
