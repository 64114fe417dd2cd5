"""Adversarial reprogramming: one additive pattern that makes a frozen classifier do another task.

Source: Elsayed, Goodfellow, Sohl-Dickstein 2019, https://arxiv.org/abs/1806.11146, equations 1 to 3. P = tanh(W * M) is the
program, M is 0 where the task's small image lies in the middle of the host's canvas, and X = pad(x) + P; W is the minimum of
- sum log P(h(y) | X) + lambda |W|^2, where h sums the host's probabilities over the labels that stand for a label of the task.

An audit (can what I serve be made to do something else?) and a cheap adapter. Not a test of how good features are: random
perceptrons are easier to reprogram than trained ones at an equal scale of logits (Englert and Lazic 2022,
https://arxiv.org/abs/2108.11673), and a linear host cannot be reprogrammed at all: P adds a constant to its logits, so that
what is reached is the best bias.

Conventions: images are (n, c, h, w) with values in [-1, 1]; the host takes (n, C, H, W) and gives logits (n, K), in eval mode.
"""

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812  # torch's own habit

from mechlearn.arguments import check_generator, check_kind, check_not_negative, check_tensor, check_whole
from mechlearn.environments import batch_norms_in_train_mode
from mechlearn.functional import borrowed, call
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Adversarial reprogramming", 2019, "Elsayed et al., equations 1 to 3", "https://arxiv.org/abs/1806.11146",
    "the host's input gradient; none of its weights'",
)  # fmt: skip


class Program(nn.Module):
    """X = pad(x) + tanh(W * M): puts a small image into the middle of a canvas and the program around it.

    Args:
        canvas: (C, H, W) of the host's images.
        patch: (h, w) of the task's images; of one channel they are repeated over the canvas' channels.
        generator: of the initial W, normal with the given scale.
        scale: standard deviation of the initial W; 0 starts from no program.

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
        ValueError: a patch that is larger than the canvas, or leaves nothing of it.
    """

    def __init__(
        self, canvas: tuple[int, int, int], patch: tuple[int, int], generator: Generator, scale: float | int = 0.0
    ) -> None:
        super().__init__()
        check_generator("generator", generator)
        check_not_negative("scale", scale)
        for size in (*canvas, *patch):
            check_whole("a size of canvas and patch", size, least=1)
        channels, height, width = canvas
        if patch[0] > height or patch[1] > width or patch == (height, width):
            raise ValueError(
                f"`patch` should be smaller than the canvas {canvas[1:]}: the program lies around it. Found {patch}. Shrink "
                "the images."
            )
        self.canvas, self.patch = canvas, patch
        self.top, self.left = (height - patch[0]) // 2, (width - patch[1]) // 2
        mask = torch.ones(1, height, width)
        mask[:, self.top : self.top + patch[0], self.left : self.left + patch[1]] = 0
        self.register_buffer("mask", mask)
        self.weight = nn.Parameter(scale * torch.randn(channels, height, width, generator=generator))

    def pattern(self) -> Float[Tensor, "c h w"]:
        """Return P, within [-1, 1] and 0 where the image lies."""
        return torch.tanh(self.weight * cast("Tensor", self.mask))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "n c h w"]:
        """Return what the host is shown.

        Raises:
            ValueError: images of another size, with other channels, or with values outside of [-1, 1].
        """
        check_tensor("x", x)
        channels, height, width = self.canvas
        if x.dim() != 4 or tuple(x.shape[2:]) != self.patch or x.shape[1] not in (1, channels) or not len(x):
            raise ValueError(
                f"`x` should hold images (n, 1 or {channels}, {self.patch[0]}, {self.patch[1]}). Found {tuple(x.shape)}. "
                "Resize them, or make a Program of their size."
            )
        if not bool((x.abs() <= 1).all()):
            raise ValueError(
                f"`x` should lie in [-1, 1], the host's range. Found values from {float(x.min()):g} to {float(x.max()):g}. "
                "Scale them."
            )
        bottom, right = height - self.top - self.patch[0], width - self.left - self.patch[1]
        shown = F.pad(x, (self.left, right, self.top, bottom))
        return shown + self.pattern()  # one channel is repeated by broadcasting


class LabelMap(nn.Module):
    """From a host's logits to log-probabilities of the task's labels, which sum those of the labels that stand for each.

    Args:
        table: for each label of the task the host's labels that stand for it; a whole number k means the first k, one each.

    Raises:
        TypeError: neither a whole number nor lists of them.
        ValueError: fewer than two labels, one without host labels, or a host label that stands for two.
    """

    def __init__(self, table: int | Sequence[Sequence[int]]) -> None:
        super().__init__()
        if isinstance(table, int):
            check_whole("table", table, least=2)
        rows = [[label] for label in range(table)] if isinstance(table, int) else [list(row) for row in table]
        hosts = [host for row in rows for host in row]
        if len(rows) < 2 or not all(rows) or len(set(hosts)) < len(hosts):
            raise ValueError(
                f"`table` should give each of two or more labels host labels of its own. Found {rows}. Share none of them."
            )
        for host in hosts:
            check_whole("a host label", host)
        self.rows, self.most = rows, max(hosts)
        self.register_buffer("order", torch.tensor(hosts))

    def forward(self, logits: Float[Tensor, "n k"]) -> Float[Tensor, "n t"]:
        """Return log P(h(y) | X): normalised over all of the host's labels, so that they need not sum to 1.

        Raises:
            ValueError: a host with fewer labels than the table names.
        """
        if logits.shape[1] <= self.most:
            raise ValueError(
                f"A host should have at least {self.most + 1} labels for this table. Found {logits.shape[1]}. Map to fewer of "
                "them."
            )
        found = logits.log_softmax(1)[:, cast("Tensor", self.order)]
        if found.shape[1] == len(self.rows):  # one host label each: nothing to sum, and ten operations less a step
            return found
        parts = found.split([len(row) for row in self.rows], 1)
        return torch.stack([part.logsumexp(1) for part in parts], 1)


def best_matching(logits: Float[Tensor, "n k"], y: Int[Tensor, " n"], labels: int) -> LabelMap:
    """Return the label map of one host label a task label under which the host's mean log-probability is highest.

    The assignment is optimal (Hungarian method, scipy); it is made before training, from what the host says of unprogrammed
    images.

    Args:
        logits: of the host on the task's images.
        y: the task's labels.
        labels: how many there are.

    Raises:
        ValueError: fewer host labels than task labels, or a label without an image.
    """
    from scipy.optimize import linear_sum_assignment  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415  # scikit-learn brings it along; nothing else needs it

    counts = torch.bincount(y, minlength=labels)
    if logits.shape[1] < labels or len(counts) > labels or not bool((counts > 0).all()):
        raise ValueError(
            f"There should be at least as many host labels as task labels, and an image of each of the {labels}. Found "
            f"{logits.shape[1]} host labels and counts {counts.tolist()}. Take a larger batch, or a map of fewer labels."
        )
    scores = logits.log_softmax(1).detach()
    means = scores.new_zeros(labels, logits.shape[1]).index_add(0, y, scores) / counts[:, None]
    _, hosts = linear_sum_assignment(means.cpu().numpy(), maximize=True)
    return LabelMap([[int(host)] for host in hosts]).to(logits.device)


def reprogramming_loss(
    host: nn.Module,
    program: Program,
    label_map: LabelMap,
    x: Float[Tensor, "n c h w"],
    y: Int[Tensor, " n"],
    decay: float | int = 0.0,
) -> Float[Tensor, " n"]:
    """Return - log P(h(y) | X) + lambda |W|^2 of each example (equation 3); its mean is to be minimised over the program.

    The host's parameters get no gradient and keep their requires_grad: none is computed for them.

    Args:
        host: frozen, in eval mode.
        program: whose W is trained.
        label_map: from the host's labels to the task's.
        x: images of the task.
        y: their labels.
        decay: lambda.

    Raises:
        TypeError: no module, no program, no label map.
        ValueError: a host whose BatchNorm is in train mode, labels outside of the map; what `Program` refuses.
    """
    check_kind("host", host, nn.Module, "a torch module", way_out="as_torch makes one of a scikit-learn classifier.")
    check_kind("program", program, Program, "a Program")
    check_kind("label_map", label_map, LabelMap, "a LabelMap", way_out="LabelMap(10) takes the host's first ten labels.")
    check_not_negative("decay", decay)
    training = batch_norms_in_train_mode(host)
    if training:
        raise ValueError(
            f"The host should be in eval mode: programs would change its BatchNorm. Found {training}. Call host.eval()."
        )
    if y.shape != x.shape[:1] or not bool(((y >= 0) & (y < len(label_map.rows))).all()):
        raise ValueError(
            f"`y` should hold a label of the map's {len(label_map.rows)} for each image. Found {tuple(y.shape)} for {len(x)}."
        )
    logits = frozen(host, program(x))
    own = label_map(logits).gather(1, y[:, None])[:, 0]
    return decay * program.weight.square().sum() - own


def frozen(host: nn.Module, x: Float[Tensor, "..."]) -> Float[Tensor, "n k"]:
    """Return a host's logits without a graph to its parameters, whose requires_grad stays what it is."""
    fixed = {name: tensor.detach() for name, tensor in host.named_parameters()}
    with borrowed(host):
        return call(host, fixed, (x,))
