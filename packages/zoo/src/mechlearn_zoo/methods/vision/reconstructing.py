"""Pictures that have given features: by descent on pixels, or through a generator as a prior.

loss(x) = sum_l w_l |phi_l(x) - f_l|^2, with w_l = 1 / |f_l|^2, normalised to sum 1 for each picture (Shen et al. 2019,
https://doi.org/10.1371/journal.pcbi.1006633, and its published code). The prior is no further term of the loss: the picture
is written as G(q), and its input q is moved. Pictures are found side by side and do not depend on each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_callable,
    check_data,
    check_decay,
    check_floats,
    check_kind,
    check_one_of,
    check_params,
    check_positive,
    check_result,
    check_whole,
)
from mechlearn.scaling import lengths
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Image reconstruction",
    2019,
    "Shen, Horikawa, Majima and Kamitani",
    "https://doi.org/10.1371/journal.pcbi.1006633",
    "hundreds of passes through the extractor, and the generator, a picture",
)

Extractor = Callable[[Tensor], Mapping[str, Tensor]]
"""From pictures (n, c, h, w) to features (n, ...) by layer."""

Weights = Literal["inverse-norm", "equal"]

SMALLEST_SQUARE = 1e-12
"""Below, weights are taken relative to a picture's largest one: their own would leave float32."""

BY_LAYER = "Features by layer, each a tensor (n, ...)."


class Reconstruction(NamedTuple):
    """Pictures (n, c, h, w), and each one's loss before every step (steps, n): the first is the start's."""

    images: Float[Tensor, "n c h w"]
    losses: Float[Tensor, "steps n"]


@dataclass(frozen=True)
class Pixels:
    """Descend on the pixels by Adam, clipped to [0, 1] after each step, from a start of one's own.

    The published code takes L-BFGS, whose line search would join the pictures of a batch.

    Args:
        start: (n, c, h, w) pictures to start from, such as the mean one.
        steps: how many.
        rate: Adam's.

    Raises:
        TypeError: numbers of another type.
        ValueError: numbers out of range, pictures that are not finite.
    """

    start: Float[Tensor, "n c h w"]
    steps: int = 200
    rate: float = 0.05

    def __post_init__(self) -> None:
        check_floats("start", self.start, "n", "c", "h", "w")
        check_all_finite("start", self.start, way_out="Start from the mean picture.")
        check_whole("steps", self.steps, 1)
        check_positive("rate", self.rate)


@dataclass(frozen=True)
class Prior:
    """Move the input of a generator: momentum, a step that falls linearly to almost nothing, decay and clipping.

    A step's mean size is `rate`, as gradients are divided by their mean magnitude, each picture's by its own.

    Args:
        network: from inputs (n, q) to pictures; pre-trained to invert features.
        start: (n, q) to start from.
        highest: (q,) what the inputs are clipped to, from 0: three standard deviations in the published code.
        steps: how many; 200 there.
        rate: of the first step; 2 there, the last 1e-10.
        momentum: 0.9 there.
        decay: share that the inputs lose in each step; 0.01 there.

    Raises:
        TypeError: numbers of another type.
        ValueError: numbers out of range, a start that is not finite.
    """

    network: Callable[[Tensor], Tensor]
    start: Float[Tensor, "n q"]
    highest: Float[Tensor, " q"]
    steps: int = 200
    rate: float = 2.0
    momentum: float = 0.9
    decay: float = 0.01

    def __post_init__(self) -> None:
        check_callable("network", self.network, "a generator of pictures")
        check_floats("start", self.start, "n", "q")
        check_floats("highest", self.highest, self.start.shape[1], like=self.start)
        check_all_finite("start", self.start, way_out="Zeros will do.")
        if not bool((self.highest >= 0).all()):  # infinity is no bound, and may be
            found = float(self.highest.min())
            raise ValueError(f"`highest` should be at least 0, from where inputs are clipped. Found {found:g}.")
        check_whole("steps", self.steps, 1)
        check_positive("rate", self.rate)
        check_decay("momentum", self.momentum)
        check_decay("decay", self.decay)


def feature_loss(
    found: Mapping[str, Tensor], targets: Mapping[str, Tensor], weights: Weights = "inverse-norm"
) -> Float[Tensor, " n"]:
    """Return each picture's sum_l w_l |phi_l - f_l|^2, summed in float32 at least.

    Args:
        found: features (n, ...) by layer; further layers are not looked at.
        targets: features by layer.
        weights: "inverse-norm": w_l = 1 / |f_l|^2, normalised to sum 1, so that next to a layer of zeros others weigh nothing;
            "equal": one over their number.

    Raises:
        TypeError: features that are no dictionaries of tensors of floating numbers.
        ValueError: no targets, layers that are not found, other shapes, features without a dimension of their own, or a loss
            that is not finite: the layer is named.
    """
    check_params("found", found, way_out=BY_LAYER)
    check_params("targets", targets, way_out=BY_LAYER)
    check_one_of("weights", weights, ("inverse-norm", "equal"))
    missing = [name for name in targets if name not in found]
    if missing or not targets:
        raise ValueError(
            f"`targets` should be layers of the extractor, {sorted(found)}. Found {missing or 'none'}. Leave others out."
        )
    for name, target in targets.items():
        for part, values in (("targets", target), ("found", found[name])):
            check_floats(f"{part}[{name!r}]", values, "...")
            check_data(f"{part}[{name!r}]", values)
        if target.shape != found[name].shape:
            raise ValueError(
                f"`targets` should have the extractor's shapes. Found {tuple(target.shape)} for {name!r}, where it gives "
                f"{tuple(found[name].shape)}. Reshape what was decoded."
            )
        if target.dim() < 2:
            raise ValueError(
                f"`targets[{name!r}]` should have the shape (n, ...), a row a picture. Found {tuple(target.shape)}. Make a "
                "column of it with [:, None]."
            )
    wide = {name: target.to(torch.promote_types(target.dtype, torch.float32)).flatten(1) for name, target in targets.items()}
    errors = torch.stack([(found[name].flatten(1) - target).square().sum(1) for name, target in wide.items()])
    if weights == "equal":
        losses = errors.mean(0)
    else:
        inverse = _inverse(list(wide.values()))
        losses = (errors * inverse).sum(0) / inverse.sum(0)
    inputs = {f"targets[{name!r}]": targets[name] for name in targets} | {f"found[{name!r}]": found[name] for name in targets}
    check_result(losses, inputs, way_out="Lower the rate.")
    return losses


def _inverse(targets: list[Tensor]) -> Tensor:
    """Return 1 / |f_l|^2, (l, n), up to a factor for each picture where one of its squares is too small or too large."""
    squares = torch.stack([target.square().sum(1) for target in targets])
    fine = ((squares >= SMALLEST_SQUARE) & squares.isfinite()).all(0)
    if bool(fine.all()):
        return 1 / squares
    sizes = torch.cat([lengths(target) for target in targets], 1).T
    least = sizes.amin(0)
    ratios = torch.where(sizes > 0, least / torch.where(sizes > 0, sizes, 1), 1).square()
    return torch.where(fine, 1 / squares, ratios)


def reconstruct(
    extractor: Extractor, targets: Mapping[str, Tensor], by: Pixels | Prior, weights: Weights = "inverse-norm"
) -> Reconstruction:
    """Return pictures whose features are near the targets.

    Args:
        extractor: features of pictures by layer, before their ReLU; differentiable.
        targets: decoded features of n pictures by layer.
        by: `Pixels` or `Prior`.
        weights: see `feature_loss`.

    Raises:
        TypeError: another way to search, an extractor that cannot be called.
        ValueError: targets that do not fit or are not finite, see `feature_loss`.
    """
    check_params("targets", targets, way_out=BY_LAYER)
    for name, target in targets.items():
        check_all_finite(f"targets[{name!r}]", target, way_out="Leave such pictures out.")
    check_callable("extractor", extractor, "a function from pictures to features by layer")
    check_kind("by", by, (Pixels, Prior), "Pixels(...) or Prior(...)")
    if isinstance(by, Pixels):
        return _on_pixels(extractor, targets, by, weights)
    return _through(extractor, targets, by, weights)


def _on_pixels(extractor: Extractor, targets: Mapping[str, Tensor], by: Pixels, weights: Weights) -> Reconstruction:
    images = by.start.detach().clone().requires_grad_()
    optimizer = torch.optim.Adam([images], by.rate)
    losses: list[Tensor] = []
    for _ in range(by.steps):
        loss = feature_loss(extractor(images), targets, weights)
        (images.grad,) = torch.autograd.grad(loss.sum(), [images])
        losses.append(loss.detach())
        optimizer.step()
        with torch.no_grad():
            images.clamp_(0, 1)
    return Reconstruction(images.detach(), torch.stack(losses))


def _through(extractor: Extractor, targets: Mapping[str, Tensor], by: Prior, weights: Weights) -> Reconstruction:
    q, delta = by.start.detach().clone(), torch.zeros_like(by.start)
    losses: list[Tensor] = []
    for step in range(by.steps):
        rate = by.rate + (1e-10 - by.rate) * step / max(1, by.steps - 1)
        moving = q.requires_grad_()
        loss = feature_loss(extractor(by.network(moving)), targets, weights)
        (gradient,) = torch.autograd.grad(loss.sum(), [moving])
        losses.append(loss.detach())
        with torch.no_grad():
            size = gradient.abs().mean(1, keepdim=True).clamp(min=torch.finfo(gradient.dtype).tiny)
            delta = by.momentum * delta - rate * gradient / size
            q = torch.minimum(((1 - by.decay) * (q.detach() + delta)).clamp(min=0), by.highest)
    with torch.no_grad():
        return Reconstruction(by.network(q), torch.stack(losses))
