"""The one loop of the estimators: many perceptrons on one table, each on its own sites, with every site's gradient at hand.

Members are configurations and folds. They see the same rows, each a part of the sites; a step costs what plain training of the
stack costs, since a site's gradient is its share of the same products. Index conventions: m a member of M, i a row of n, e a
site of E, k an output of K, j an input of J, u a hidden unit of U.
"""

import copy
import os
from collections import abc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from mechlearn.agreement.rules.base import required_count
from mechlearn.arguments import check_not_negative, check_one_of, check_positive, check_share, check_whole
from mechlearn.functional import call
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.nn.stacks import Stack, StackedAdam
from mechlearn.params import Params

LOOKED = 16
"""Rows of a site that a look sees, for each row of a step: looks must not cost more than steps."""

Task = Literal["classification", "regression"]
"""Cross-entropy of K logits, or squared error of K numbers."""


@dataclass(frozen=True, eq=False)
class Sites:
    """A table whose rows lie site by site.

    Args:
        x: (n, J) standardised inputs.
        y: (n, K) one-hot classes, or numbers.
        sizes: E numbers of rows, in order.
        weights: (n,) of the rows, at least 0.
        task: what y is.
        known: (n, *any) what else is known of a row in training, for a way to train that reads it.

    Raises:
        ValueError: sizes that do not add up to the rows, or another task.
    """

    x: Float[Tensor, "n j"]
    y: Float[Tensor, "n k"]
    sizes: tuple[int, ...]
    weights: Float[Tensor, " n"]
    task: Task
    known: Float[Tensor, "n *q"] | None = None

    def __post_init__(self) -> None:
        check_one_of("task", self.task, ("classification", "regression"))
        if sum(self.sizes) != len(self.x):
            raise ValueError(f"Sizes should add up to the {len(self.x)} rows. Found {sum(self.sizes)}. Sort the rows by site.")

    def slices(self) -> Iterator[slice]:
        """Yield each site's rows."""
        start = 0
        for size in self.sizes:
            yield slice(start, start + size)
            start += size

    def shares(self) -> Float[Tensor, " n"]:
        """Return each row's part of its site's mean; 0 where a site has no weight."""
        totals = torch.cat(
            [self.weights[rows].sum().clamp(min=1e-300).expand(rows.stop - rows.start) for rows in self.slices()]
        )
        return self.weights / totals

    def drawn(self, rows_per_site: int | None, generators: Sequence[Generator]) -> "Sites":
        """Return at most so many rows of each site, drawn without replacement from its own generator; everything if None."""
        if rows_per_site is None or max(self.sizes) <= rows_per_site:
            return self
        each = zip(self.slices(), generators, strict=True)
        chosen = [rows.start + torch.randperm(rows.stop - rows.start, generator=one)[:rows_per_site] for rows, one in each]
        index = torch.cat(chosen).to(self.x.device)
        sizes = tuple(len(part) for part in chosen)
        known = None if self.known is None else self.known[index]
        return Sites(self.x[index], self.y[index], sizes, self.weights[index], self.task, known)


class Configuration(NamedTuple):
    """What a member is trained with.

    Attributes:
        rate: Adam's learning rate.
        decay: decoupled weight decay.
        threshold: of the AND-mask; 0 is the mean of the sites' gradients.
        strength: what another way to train makes of it: a penalty's weight, group DRO's step size, a test's level.
    """

    rate: float = 0.01
    decay: float = 0.1
    threshold: float = 0.0
    strength: float = 0.0


Direction = Callable[[Params, Sites], Params]
"""From the stack's parameters, (M, *shape) each, and a step's rows of all sites to the gradients that Adam is given."""

Way = Callable[[Sites, Sequence[Configuration], Bool[Tensor, "m e"]], Direction]
"""A way to train: from the table, M configurations and each member's own sites to a direction, made anew for each `fit`."""


@dataclass(frozen=True, eq=False)
class Architecture:
    """A network of the user's own in the perceptron's place (`mechlearn.tables.networks`), which all members are copies of.

    Nothing is known of it but that it maps rows to outputs, row by row, so that a step takes a forward pass for each member and
    a backward pass for each of its sites.

    Args:
        module: as the factory made it: where every member starts, and what of it is not trained.
    """

    module: nn.Module

    def started(self, members: int) -> Params:
        """Return every trained parameter once a member, (M, *shape)."""
        trained = {name: one.detach() for name, one in self.module.named_parameters() if one.requires_grad}
        return {name: nn.Parameter(one.expand(members, *one.shape).clone()) for name, one in trained.items()}

    @torch.no_grad()
    def outputs(self, params: Params, x: Float[Tensor, "n j"]) -> Float[Tensor, "m n k"]:
        """Return what each member makes of the rows, in evaluation mode."""
        self.module.eval()
        return torch.stack([call(self.module, member, (x,)) for member in _members(params)])

    def site_gradients(self, params: Params, sites: Sites) -> Params:
        """Return the gradient of each site's mean loss, (E, M, *shape) for each parameter, in training mode."""
        self.module.train()
        found = [self._by_site(member, sites) for member in _members(params)]
        return {name: torch.stack([torch.stack([site[name] for site in one]) for one in found], 1) for name in params}

    def _by_site(self, member: Params, sites: Sites) -> list[Params]:
        leaves = {name: values.detach().requires_grad_() for name, values in member.items()}
        losses = row_losses(call(self.module, leaves, (sites.x,)), sites.y, sites.task) * sites.shares()
        wanted, found = list(leaves.values()), list[Params]()
        for rows in sites.slices():
            gradients = torch.autograd.grad(losses[rows].sum(), wanted, retain_graph=True, materialize_grads=True)
            found.append(dict(zip(leaves, gradients, strict=True)))
        return found

    def trained(self, params: Params) -> list[nn.Module]:
        """Return the members as modules on the CPU, in evaluation mode."""
        found = [copy.deepcopy(self.module) for _ in _members(params)]
        with torch.no_grad():
            for module, member in zip(found, _members(params), strict=True):
                for name, values in member.items():
                    module.get_parameter(name).copy_(values)
        return [module.cpu().eval() for module in found]


def _members(params: Params) -> list[Params]:
    return [{name: values[m] for name, values in params.items()} for m in range(len(next(iter(params.values()))))]


@dataclass(frozen=True)
class Training:
    """How a stack is trained.

    Args:
        hidden: units of the hidden layer; 0 for a linear model.
        steps: of Adam.
        rows_per_site: in a step; None for all of them. Looks are then at no more than `LOOKED` times as many.
        every: steps between two looks at the held-out sites.
        patience: looks without an improvement after which a member stops; None for never.
        network: what is trained in the place of a perceptron with `hidden` units, by averaging and the AND-mask only.

    Raises:
        TypeError, ValueError: numbers that cannot be.
    """

    hidden: int = 32
    steps: int = 120
    rows_per_site: int | None = None
    every: int = 5
    patience: int | None = 6
    network: Architecture | None = None

    def __post_init__(self) -> None:
        check_whole("hidden", self.hidden)
        for name in ("steps", "every"):
            check_whole(name, getattr(self, name), 1)
        for name in ("rows_per_site", "patience"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name), 1)


class Trained(NamedTuple):
    """A stack after training, each member at its best look.

    Attributes:
        params: as of the stack, `0.weight` (M, U, J) and so on.
        steps: (M,) after which each is given.
        losses: (M,) mean loss of its held-out sites there, or of its own where none was held out.
        history: (looks, M) of these losses; NaN where a member had stopped.
    """

    params: Params
    steps: Int[Tensor, " m"]
    losses: Float[Tensor, " m"]
    history: Float[Tensor, "looks m"]


@contextmanager
def threads(count: Any) -> abc.Generator[None, None, None]:  # noqa: ANN401  # of a constructor of scikit-learn's kind, which takes anything
    """Train with so many of torch's threads, as scikit-learn counts jobs: None as it is, -1 all cores, -2 all but one."""
    before = torch.get_num_threads()
    if count is not None:
        check_whole("n_jobs", count, -(os.cpu_count() or 1))
        if count == 0:
            raise ValueError("`n_jobs` should be a number of threads, or -1 for all cores. Found 0. Leave it out, or take 1.")
        torch.set_num_threads(count if count > 0 else (os.cpu_count() or 1) + 1 + count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def check_configuration(configuration: Configuration) -> None:
    """Reject numbers that cannot be."""
    check_positive("learning_rate", configuration.rate)
    check_not_negative("weight_decay", configuration.decay)
    check_share("threshold", configuration.threshold)
    check_not_negative("strength", configuration.strength)


def masked_mean(
    sites: Sites,
    configurations: Sequence[Configuration],
    own: Bool[Tensor, "m e"],
    gradients: Callable[[Params, Sites], Params] | None = None,
) -> Direction:
    """Follow the mean of the own sites' gradients, masked by the configurations' thresholds: averaging and the AND-mask.

    `gradients` are those of each site's mean loss; a perceptron's if None.
    """
    # In float64, as a whole number of signs is counted out by them: .8 of 10 is a little over 8 in float32.
    thresholds = torch.tensor([c.threshold for c in configurations], dtype=torch.float64, device=sites.x.device)
    return lambda params, batch: agreed((gradients or site_gradients)(params, batch), own, thresholds)


def fit(
    sites: Sites,
    configurations: list[Configuration],
    own: Bool[Tensor, "m e"],
    training: Training,
    generator: Generator,
    progress: Callable[[int, float], None] | None = None,
    way: Way = masked_mean,
    width: int | None = None,
) -> Trained:
    """Train one perceptron for each configuration on its own sites; stop it early on the others.

    Members with the same configuration start alike: what a fold's number draws must not decide between configurations.

    Args:
        sites: the table.
        configurations: M.
        own: (M, E) True where a member trains on a site; where it trains on all, it is stopped by nothing and given at the end.
        training: how.
        generator: of the initial weights, then of each site's own generator, which draws its rows.
        progress: told the step and the mean held-out loss at each look.
        way: what the members follow; averaging and the AND-mask where `training` has a network of its own.
        width: outputs of the networks, as many as y has columns if None; further ones are the way's, and are not judged.
    """
    network, says = training.network, outputs
    if network is None:
        params = _stack(sites, len(configurations), training.hidden, width or sites.y.shape[1], generator).stacked()
    elif way is not masked_mean or width is not None:
        raise ValueError("A network of its own is trained by averaging and the AND-mask. Found another way. Leave it out.")
    else:
        params, says, way = network.started(len(own)), network.outputs, partial(masked_mean, gradients=network.site_gradients)
    optimizer = StackedAdam(
        params.values(), [c.rate for c in configurations], [c.decay for c in configurations], decoupled=True
    )
    direction = way(sites, configurations, own)
    seeds = torch.randint(2**31 - 1, (len(sites.sizes),), generator=generator).tolist()
    generators = [Generator().manual_seed(seed) for seed in seeds]
    looked = sites.drawn(LOOKED * training.rows_per_site if training.rows_per_site else None, generators)
    best = Best(params, own)
    noise = 64 * torch.finfo(sites.x.dtype).eps
    for step in range(1, training.steps + 1):
        batch = sites.drawn(training.rows_per_site, generators)
        for name, gradient in direction(params, batch).items():
            # Rounding is no gradient: Adam would blow it up to full steps, and rows' order would decide what is learned.
            params[name].grad = torch.where(gradient.abs() > noise, gradient, 0.0)
        optimizer.step(running=best.running.cpu())
        if step % training.every == 0 or step == training.steps:
            best.look(step, held_out_losses(params, looked, own, says), training.patience)
            if progress is not None:
                progress(step, float(best.history[-1].nanmean()))
            if not bool(best.running.any()):
                break
    return best.trained()


class Best:
    """The parameters of each member at the look with the least held-out loss; at the last one where nothing is held out."""

    def __init__(self, params: Params, own: Tensor) -> None:
        self._trained, self._free = params, own.all(1)
        self.running = torch.ones(len(own), dtype=torch.bool, device=own.device)
        self.history: list[Tensor] = []
        self._params = {name: values.detach().clone() for name, values in params.items()}
        self._losses = torch.full((len(own),), torch.inf, dtype=next(iter(params.values())).dtype, device=own.device)
        self._steps = torch.zeros(len(own), dtype=torch.int64, device=own.device)
        self.since = torch.zeros(len(own), dtype=torch.int64, device=own.device)

    def look(self, step: int, losses: Tensor, patience: int | None) -> None:
        """Keep what got better, and stop members that did not for so many looks."""
        better = self.running & (self._free | (losses < self._losses))
        for name, values in self._trained.items():
            self._params[name][better] = values.detach()[better]
        self._losses = torch.where(better, losses, self._losses)
        self._steps[better] = step
        self.since = torch.where(better, 0, self.since + 1)
        self.history.append(torch.where(self.running, losses, torch.nan))
        if patience is not None:
            self.running = self.running & (self._free | (self.since < patience)) & losses.isfinite()

    def trained(self) -> Trained:
        """Return the members as they were best."""
        return Trained(self._params, self._steps, self._losses, torch.stack(self.history))


def _stack(sites: Sites, members: int, hidden: int, last: int, generator: Generator) -> Stack:
    widths = (sites.x.shape[1], hidden, last) if hidden else (sites.x.shape[1], last)
    network = relu_mlp(widths, generator).to(sites.x.device, sites.x.dtype)
    if not hidden:  # a linear model starts at nothing: what no site asks for stays out of it
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.zero_()
    return Stack([network] * members)


def outputs(params: Params, x: Float[Tensor, "n j"]) -> Float[Tensor, "m n k"]:
    """Return what each member makes of the rows: logits or numbers."""
    return seen_through(params, x)[1]


def seen_through(params: Params, x: Float[Tensor, "n j"]) -> tuple[Float[Tensor, "m n u"], Float[Tensor, "m n k"]]:
    """Return what each member's last layer is given, and what it makes of that."""
    rows = x.expand(len(params["0.weight"]), *x.shape)
    if "2.weight" not in params:
        return rows, _affine(params, "0", rows)
    hidden = _affine(params, "0", rows).relu_()
    return hidden, _affine(params, "2", hidden)


def _affine(params: Params, layer: str, rows: Tensor) -> Tensor:
    return torch.baddbmm(params[f"{layer}.bias"].unsqueeze(1), rows, params[f"{layer}.weight"].mT)


@torch.no_grad()
def site_gradients(params: Params, sites: Sites) -> Params:
    """Return the gradient of each site's mean loss, (E, M, *shape) for each parameter.

    Backpropagation through one hidden layer, written out: a site's gradient is the product over its own rows.
    """
    found: Params = {}
    for layer, (inputs, delta) in layer_products(params, sites).items():
        found[f"{layer}.weight"] = torch.stack([delta[:, rows].mT @ inputs[:, rows] for rows in sites.slices()])
        found[f"{layer}.bias"] = torch.stack([delta[:, rows].sum(1) for rows in sites.slices()])
    return found


@torch.no_grad()
def layer_products(params: Params, sites: Sites) -> dict[str, tuple[Float[Tensor, "m n i"], Float[Tensor, "m n o"]]]:
    """Return each layer's inputs and the derivative of the sum of the sites' mean losses by its outputs.

    A row's part of its site's gradient is the product of the two, delta^T input; of the bias it is delta.
    """
    x = sites.x.expand(len(params["0.weight"]), *sites.x.shape)
    if "2.weight" not in params:
        return {"0": (x, _delta(_affine(params, "0", x), sites))}
    hidden = _affine(params, "0", x).relu_()
    delta = _delta(_affine(params, "2", hidden), sites)
    return {"0": (x, (delta @ params["2.weight"]).mul_(hidden > 0)), "2": (hidden, delta)}


def _delta(z: Tensor, sites: Sites) -> Tensor:
    """The derivative of the sum of the sites' mean losses by the outputs, (M, n, K)."""
    error = z.softmax(-1) - sites.y if sites.task == "classification" else 2 * (z - sites.y)
    return error.mul_(sites.shares()[:, None])


@torch.no_grad()
def agreed(gradients: Params, own: Bool[Tensor, "m e"], thresholds: Float[Tensor, " m"]) -> Params:
    """Return each member's masked mean over its own sites (thesis section 3.2.3): `AndMask` with a threshold for each.

    Thresholds are in float64, and gradients those of every site.
    """
    count = own.sum(1)
    wanted = torch.tensor([required_count(*one) for one in zip(thresholds.tolist(), count.tolist(), strict=True)])
    found: Params = {}
    for name, gradient in gradients.items():
        shape = (-1, *[1] * (gradient.dim() - 2))
        inside = own.T.to(gradient).view(*own.T.shape, *[1] * (gradient.dim() - 2))
        mean = (gradient * inside).sum(0) / count.to(gradient).view(shape)
        if not bool((thresholds > 0).any()):
            found[name] = mean
            continue
        signs = (gradient.sign() * inside).sum(0)
        found[name] = mean * (signs.abs() >= wanted.to(signs).view(shape))
    return found


Says = Callable[[Params, Float[Tensor, "n j"]], Float[Tensor, "m n k"]]
"""What each member makes of the rows."""


def row_losses(z: Float[Tensor, "*m n k"], y: Float[Tensor, "*y n k"], task: Task) -> Float[Tensor, "*m n"]:
    """Return cross-entropy against shares of classes, or the squared error over all numbers."""
    return -(z.log_softmax(-1) * y).sum(-1) if task == "classification" else (z - y).square().sum(-1)


@torch.no_grad()
def site_losses(params: Params, sites: Sites, says: Says = outputs) -> Float[Tensor, "m e"]:
    """Return each member's mean loss at each site."""
    z = says(params, sites.x)[..., : sites.y.shape[1]]
    losses = row_losses(z, sites.y, sites.task) * sites.shares()
    return torch.stack([losses[:, rows].sum(1) for rows in sites.slices()], 1)


def held_out_losses(params: Params, sites: Sites, own: Bool[Tensor, "m e"], says: Says = outputs) -> Float[Tensor, " m"]:
    """Return each member's mean loss over the sites that are not its own; over its own where these are all."""
    judged = torch.where(own.all(1, keepdim=True), own, ~own).to(sites.x)
    return (site_losses(params, sites, says) * judged).sum(1) / judged.sum(1)
