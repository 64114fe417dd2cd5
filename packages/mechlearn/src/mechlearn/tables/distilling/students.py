"""Networks that columns known in training only help to train: by an auxiliary head, soft targets, or a bottleneck.

Every network has one hidden layer and six configurations. Rows are cut into folds; a configuration trains on all folds but one
and is stopped early on that one, all of them as one stack (`mechlearn.tables.fitting`); the configuration with the least loss
on the folds left out is chosen and its fold models are averaged. Index conventions as there: m a member of M, i a row of n, f a
fold of F, k an output of K, q a privileged column of Q.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from scipy.special import softmax
from torch import Tensor

from mechlearn.params import Params
from mechlearn.tables.fitting import Configuration, Sites, Task, Training, Way, fit, masked_mean, outputs, row_losses
from mechlearn.tables.reading_in import Numbers

RATES = (0.01, 0.03, 0.003)
ALONE = tuple(Configuration(rate, decay) for rate in RATES for decay in (0.03, 0.3))
HEADED = tuple(Configuration(rate, 0.1, strength=weight) for rate in RATES for weight in (0.3, 3.0))
IMITATING = tuple(Configuration(rate, 0.1, strength=share) for rate in RATES for share in (0.5, 0.9))
"""Six configurations each: weight decays of the network alone and of both parts of a bottleneck, weights of the auxiliary
loss, shares of the soft targets' loss."""

FOLDS = 3
TRAINING = Training(hidden=32, steps=240, rows_per_site=256, patience=12)


@dataclass(frozen=True, eq=False)
class Lessons:
    """Rows to learn from, standardised.

    Args:
        x: (n, J).
        y: (n, K) one column of 0 and 1 a class, or numbers.
        known: (n, Q) what is known in training only.
        task: what y is.
        training: of the networks.
        seed: of folds, initial weights and batches.
        device: where to train.
        whose: (n,) whose each row is; rows of one lie in one fold. None where rows are independent. LDT's halves, which are
            drawn anew at every meta-step from the rows that train, are of rows all the same.
        settings: how many of its configurations each network may have.
    """

    x: Numbers
    y: Numbers
    known: Numbers
    task: Task
    training: Training = TRAINING
    seed: int = 0
    device: str = "cpu"
    whose: NDArray[Any] | None = None
    settings: int = 6

    def __post_init__(self) -> None:
        if self.whose is not None and (found := len(np.unique(self.whose))) < FOLDS:
            raise ValueError(
                f"{FOLDS} folds by groups need as many. Found {found}. Leave `groups` out if rows are independent."
            )

    @property
    def folds(self) -> NDArray[np.int64]:
        """(n,) the fold of each row."""
        random = np.random.default_rng([self.seed, len(self.x)])
        if self.whose is None:
            return random.permutation(len(self.x)) % FOLDS
        _, number, rows = np.unique(self.whose, return_inverse=True, return_counts=True)
        fold, filled = np.zeros(len(rows), dtype=np.int64), np.zeros(FOLDS)
        shuffled = random.permutation(len(rows))
        for one in shuffled[np.argsort(-rows[shuffled], kind="stable")]:  # the largest first, each where there are fewest
            fold[one] = filled.argmin()
            filled[fold[one]] += rows[one]
        return fold[number]

    def sites(self, x: Numbers, y: Numbers, task: Task, known: Numbers | None = None) -> Sites:
        """Return rows fold by fold, folds as sites."""
        order = np.argsort(self.folds, kind="stable")
        single = [torch.tensor(values[order], dtype=torch.float32, device=self.device) for values in (x, y)]
        further = None if known is None else torch.tensor(known[order], dtype=torch.float32, device=self.device)
        sizes = tuple(np.bincount(self.folds, minlength=FOLDS).tolist())
        return Sites(single[0], single[1], sizes, torch.ones_like(single[0][:, 0]), task, further)


class Learnt(NamedTuple):
    """What training made.

    Layers are `0.weight` (F, U, J), `0.bias` (F, U), `2.weight` and so on, of the fold models, ReLU between them. Outside are
    (n, K) probabilities or numbers that each row's own fold model says, which was not trained on it, but stopped by it. The
    history is of the mean loss on the folds left out.
    """

    layers: Mapping[str, Numbers]
    outside: Numbers
    history: Numbers
    chosen: str

    def says(self, x: Numbers, task: Task) -> Numbers:
        """Return (n, K) the fold models' mean, as probabilities or numbers."""
        return said(self.layers, x, task).mean(0)


def said(layers: Mapping[str, Numbers], x: Numbers, task: Task) -> Numbers:
    """Return (F, n, K) what each fold model says: probabilities, or numbers."""
    z = np.broadcast_to(x, (len(layers["0.weight"]), *x.shape))
    for place in (place for place in (0, 2, 4) if f"{place}.weight" in layers):
        z = np.maximum(z, 0) if place else z
        z = z @ layers[f"{place}.weight"].transpose(0, 2, 1) + layers[f"{place}.bias"][:, None]
    return softmax(z, axis=-1) if task == "classification" else z


def alone(lessons: Lessons) -> Learnt:
    """Train the network without what is known in training only: what the others are compared with."""
    return _learnt(lessons, ALONE, masked_mean)


def auxiliary(lessons: Lessons) -> Learnt:
    """Train a network whose further outputs predict the privileged columns from the same hidden units; they are not kept.

    The loss is the label's and `Configuration.strength` times the squared error of standardised columns, averaged over them
    (Caruana 1997, Multitask learning; a hint of Abu-Mostafa 1990).
    """
    return _learnt(lessons, HEADED, _Headed, lessons.known, lessons.y.shape[1] + lessons.known.shape[1])


def soft_targets(lessons: Lessons) -> Learnt:
    """Train a teacher on the privileged columns, then a network on its answers and the labels (generalised distillation).

    The loss is (1 - s) L(y, f(x)) + s L(teacher(x*), f(x)), temperature 1, s the `Configuration.strength`
    (Lopez-Paz et al. 2016, Unifying distillation and privileged information, equation 4).
    """
    teacher = alone(replace(lessons, x=lessons.known))
    answers = said(teacher.layers, lessons.known, lessons.task)  # (F, n, K), each by a teacher on the student's own folds
    return _learnt(lessons, IMITATING, _Imitating, answers.transpose(1, 0, 2))


def bottleneck(lessons: Lessons) -> Learnt:
    """Train x -> x* and x* -> y apart and put one after the other: a network of two hidden layers (a concept bottleneck).

    Source: Koh et al. 2020, Concept bottleneck models, section 3, "independent".
    """
    concepts = alone(replace(lessons, y=lessons.known, task="regression"))
    answers = alone(replace(lessons, x=lessons.known))
    first, second = concepts.layers, answers.layers
    # x* is a linear function of the first network's units, so that the second's first layer can read these.
    joined = {
        "0.weight": first["0.weight"],
        "0.bias": first["0.bias"],
        "2.weight": second["0.weight"] @ first["2.weight"],
        "2.bias": (second["0.weight"] @ first["2.bias"][..., None])[..., 0] + second["0.bias"],
        "4.weight": second["2.weight"],
        "4.bias": second["2.bias"],
    }
    outside = outside_of(joined, lessons.x, lessons.folds, lessons.task)
    return Learnt(joined, outside, answers.history, f"x to x*: {concepts.chosen}; x* to y: {answers.chosen}")


def outside_of(layers: Mapping[str, Numbers], x: Numbers, folds: NDArray[np.int64], task: Task) -> Numbers:
    """Return (n, K): of each row what the model says that was not trained on its fold."""
    return said(layers, x, task)[folds, np.arange(len(x))]


def _learnt(
    lessons: Lessons, configurations: Sequence[Configuration], way: Way, known: Numbers | None = None, width: int | None = None
) -> Learnt:
    configurations = configurations[: lessons.settings]
    sites = lessons.sites(lessons.x, lessons.y, lessons.task, known)
    own = (~torch.eye(FOLDS, dtype=torch.bool, device=lessons.device)).repeat_interleave(len(configurations), 0)
    generator = torch.Generator().manual_seed(lessons.seed)
    found = fit(sites, list(configurations) * FOLDS, own, lessons.training, generator, way=way, width=width)
    best = int(found.losses.nan_to_num(torch.inf).view(FOLDS, -1).mean(0).argmin())
    members = torch.arange(FOLDS, device=lessons.device) * len(configurations) + best
    layers = {name: values[members].double().cpu().numpy() for name, values in found.params.items()}
    layers = {name: values if name.startswith("0") else values[:, : lessons.y.shape[1]] for name, values in layers.items()}
    outside = outside_of(layers, lessons.x, lessons.folds, lessons.task)
    chosen = configurations[best]
    words = f"rate {chosen.rate:g}, decay {chosen.decay:g}{f', strength {chosen.strength:g}' if chosen.strength else ''}"
    return Learnt(layers, outside, found.history[:, members].mean(1).cpu().numpy(), words)


class _Rows:
    """What the ways have in common: each member's mean over the rows of its own folds."""

    def __init__(self, sites: Sites, configurations: Sequence[Configuration], own: Bool[Tensor, "m f"]) -> None:
        self._own = own.to(sites.x)
        self._strengths = torch.tensor([c.strength for c in configurations]).to(sites.x)[:, None]

    def gradients(self, params: Params, batch: Sites, losses: Float[Tensor, "m n"]) -> Params:
        """Return each member's gradient of its mean loss."""
        by_fold = torch.stack([(losses * batch.shares())[:, rows].sum(1) for rows in batch.slices()], 1)
        totals = (by_fold * self._own).sum(1) / self._own.sum(1)
        # A member's parameters are in its own total alone, so that one pass gives each member's gradient.
        return dict(zip(params, torch.autograd.grad(totals.sum(), list(params.values())), strict=True))


def _known(batch: Sites) -> Tensor:
    if batch.known is None:
        raise TypeError("Rows should bring what is known of them in training. Found None. Give `known`.")
    return batch.known


class _Headed(_Rows):
    def __call__(self, params: Params, batch: Sites) -> Params:
        z, count = outputs(params, batch.x), batch.y.shape[1]
        hints, labels = (z[..., count:] - _known(batch)).square().mean(-1), z[..., :count]
        losses = row_losses(labels, batch.y, batch.task) + self._strengths * hints
        return self.gradients(params, batch, losses)


class _Imitating(_Rows):
    def __init__(self, sites: Sites, configurations: Sequence[Configuration], own: Bool[Tensor, "m f"]) -> None:
        super().__init__(sites, configurations, own)
        self._fold = (~own).int().argmax(1)  # the fold left out names the teacher

    def __call__(self, params: Params, batch: Sites) -> Params:
        z, share = outputs(params, batch.x), self._strengths
        answers = _known(batch)[:, self._fold].transpose(0, 1)  # (M, n, K)
        labels, imitation = (row_losses(z, wanted, batch.task) for wanted in (batch.y, answers))
        return self.gradients(params, batch, (1 - share) * labels + share * imitation)


Teach = Callable[[Lessons], Learnt]
"""A way to train a network by what is known in training only."""
