"""PopArt: one network, many tasks whose returns differ by orders of magnitude (Hessel et al. 2018, van Hasselt et al. 2016).

Each task k has a mean mu_k and a second moment nu_k of its targets; sigma_k = sqrt(nu_k - mu_k^2). The critic's last layer
gives normalised values n, one a task, on a torso that tasks share; v = sigma n + mu. The value's gradient is
((G - mu)/sigma - n) grad n, the policy's ((G - mu)/sigma - n) grad log pi, so that each task weighs the same. Art: mu and nu
follow the targets. Pop: the last layer is rescaled at once, so that no v changes when they do.

Equal weight holds for the scale of gradients, not for how often a task is met or how hard it is. Not for a single task whose
returns have the scale of the network's outputs: there it only adds an estimate. Tasks whose rewards are rare have a sigma near
0 until the first one comes; the bounds below keep it from magnifying noise.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from mechlearn.arguments import all_finite, check_generator, check_ids, check_one_of, check_tensor, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "PopArt", 2018, "Hessel et al., section 3; van Hasselt et al. 2016", "https://arxiv.org/abs/1809.04474",
    "a running mean of B targets, K rows rescaled",
)  # fmt: skip

Order = Literal["sequential", "sum", "mean"]
"""How a batch moves the statistics, beta a step's size.

"sequential": one step for each target in turn, in the order they come in, as the paper's recursion reads; in closed form.
"sum": all steps at once from where the statistics are, as rlax does; unstable where beta times a task's count exceeds 1.
"mean": one step towards the mean over the batch's targets of the task, however many they are.
"""

LEAST, MOST = 1e-4, 1e6
"""Bounds of sigma (Hessel et al., appendix)."""


class PopArt(NamedTuple):
    """Statistics of K tasks, in float64.

    Attributes:
        mean: (K,) mu.
        second_moment: (K,) nu.
    """

    mean: Tensor
    second_moment: Tensor

    @property
    def scale(self) -> Tensor:
        """Sigma (K,), within its bounds."""
        return (self.second_moment - self.mean.square()).clamp(min=0).sqrt().clamp(LEAST, MOST)

    def to(self, device: torch.device) -> "PopArt":
        """Return the same on a device."""
        return PopArt(self.mean.to(device), self.second_moment.to(device))


def popart(tasks: int) -> PopArt:
    """Return statistics before the first target: mu = 0, sigma = 1; on the CPU, from where they follow targets and values.

    Raises:
        TypeError, ValueError: fewer than one task, or no whole number.
    """
    check_whole("tasks", tasks, 1)
    return PopArt(torch.zeros(tasks, dtype=torch.float64), torch.ones(tasks, dtype=torch.float64))


@torch.no_grad()
def art(state: PopArt, targets: Tensor, tasks: Tensor, beta: float = 3e-4, order: Order = "sequential") -> PopArt:
    """Return statistics that follow the targets: mu + beta (G - mu), nu + beta (G^2 - nu) for each target's task.

    Args:
        state: is left as it is.
        targets: of any shape, finite, unnormalised; taken in the order of their memory.
        tasks: of the same shape, integers from 0 to K - 1.
        beta: step, in (0, 1].
        order: see `Order`.

    Raises:
        TypeError: tasks that are no integers.
        ValueError: shapes that differ, no target, a task that there is not, targets that are not finite, beta out of range.
    """
    _check_step(beta, order)
    task = _checked_tasks(tasks, len(state.mean), targets)
    state, target = state.to(targets.device), targets.reshape(-1).to(torch.float64)
    if task.numel() == 0:
        raise ValueError("`targets` should hold at least one target. Found none. Leave the update out of an empty batch.")
    if not torch.isfinite(target.sum()) and not (fine := torch.isfinite(target)).all():
        index = int((~fine).nonzero()[0])
        raise ValueError(f"`targets` should be finite. Found {float(target[index])} at place {index}. The state is unchanged.")
    count = torch.bincount(task, minlength=len(state.mean))
    weight, kept = _weights(task, count, beta, order)
    moved = [
        old.mul(kept).index_add_(0, task, weight * value)
        for old, value in ((state.mean, target), (state.second_moment, target.square()))
    ]
    return PopArt(*moved)


def pop(weight: Tensor, bias: Tensor, old: PopArt, new: PopArt) -> tuple[Tensor, Tensor]:
    """Return weight (K, d) and bias (K,) that give the same unnormalised values under new statistics.

    w' = (sigma / sigma') w and b' = (sigma b + mu - mu') / sigma' (Hessel et al., equation 9).
    """
    old, new = old.to(weight.device), new.to(weight.device)
    ratio, before = old.scale / new.scale, bias.double()
    shifted = (old.scale * before + old.mean - new.mean) / new.scale
    return (ratio[:, None] * weight.double()).to(weight.dtype), shifted.to(bias.dtype)


def normalize(state: PopArt, values: Tensor, tasks: Tensor) -> Tensor:
    """Return (v - mu) / sigma of each value's task, in the values' type; of whole numbers in float32.

    Raises:
        TypeError, ValueError: tasks that are no integers from 0 to K - 1, or of another shape than the values.
    """
    index = _checked_tasks(tasks, len(state.mean), values).view(tasks.shape)
    state = state.to(values.device)
    return ((values.double() - state.mean[index]) / state.scale[index]).to(_floating(values))


def unnormalize(state: PopArt, values: Tensor, tasks: Tensor) -> Tensor:
    """Return sigma n + mu of each value's task, in the type that `normalize` has.

    Raises:
        TypeError, ValueError: as `normalize`.
    """
    index = _checked_tasks(tasks, len(state.mean), values).view(tasks.shape)
    state = state.to(values.device)
    return (values.double() * state.scale[index] + state.mean[index]).to(_floating(values))


def _floating(values: Tensor) -> torch.dtype:
    return values.dtype if values.is_floating_point() else torch.float32


class PopArtLinear(nn.Module):
    """A critic's last layer: K normalised values on shared features, with their statistics as buffers.

    The statistics stay in float64 when the module is cast, with `.bfloat16()` for example, and go where it is moved: of a mean
    of 1e4 and a deviation of 1, squares of a shorter type say nothing. Weights and biases are rounded, as any layer's: values
    move by sigma times that, and a bias is as large as mu / sigma until the layer has learned what its targets have become.

    Args:
        features: d.
        tasks: K.
        generator: of the initial weights, torch's default ones.

    Raises:
        TypeError: no whole numbers, no generator.
        ValueError: fewer than one feature or task.

    Example:
        >>> import torch
        >>> generator = torch.Generator().manual_seed(0)
        >>> head = PopArtLinear(4, 2, generator)
        >>> features, tasks = torch.randn(3, 4, generator=generator), torch.tensor([0, 1, 1])
        >>> before = head.values(features, tasks)
        >>> head.update(torch.tensor([0.1, 900.0, 1100.0]), tasks, beta=0.5)
        >>> torch.allclose(before, head.values(features, tasks), atol=1e-4)
        True
    """

    mean: Tensor
    second_moment: Tensor

    def __init__(self, features: int, tasks: int, generator: Generator) -> None:
        super().__init__()
        check_whole("features", features, 1)
        check_generator("generator", generator)
        state, bound = popart(tasks), features**-0.5
        self.weight = nn.Parameter(torch.empty(tasks, features).uniform_(-bound, bound, generator=generator))
        self.bias = nn.Parameter(torch.zeros(tasks))
        self.register_buffer("mean", state.mean)
        self.register_buffer("second_moment", state.second_moment)

    @property
    def state(self) -> PopArt:
        """The statistics."""
        return PopArt(self.mean, self.second_moment)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "PopArtLinear":
        # What .to(), .half(), .cuda() and all others like them go through. A cast is refused before anything is changed.
        _check_cast(self, fn)
        kept = self.state
        super()._apply(fn, recurse)
        for name, value in kept._asdict().items():
            moved: Tensor = getattr(self, name)
            if moved.dtype != value.dtype:
                setattr(self, name, value.to(moved.device))
        return self

    def forward(self, features: Tensor, tasks: Tensor) -> Tensor:
        """Return the normalised value (*n,) of each example's task from features (*n, d) and tasks (*n,).

        Raises:
            TypeError: tasks that are no whole numbers.
            ValueError: tasks of another shape, or that there are not.
        """
        every: Tensor = nn.functional.linear(features, self.weight, self.bias)
        way_out = "One for each example, numbered without gaps."
        check_ids("tasks", tasks, *every.shape[:-1], count=every.shape[-1], way_out=way_out)
        return every.gather(-1, tasks.long()[..., None])[..., 0]

    def values(self, features: Tensor, tasks: Tensor) -> Tensor:
        """Return unnormalised values (*n,)."""
        return unnormalize(self.state, self(features, tasks), tasks)

    @torch.no_grad()
    def update(
        self,
        targets: Tensor,
        tasks: Tensor,
        beta: float = 3e-4,
        order: Order = "sequential",
        optimizer: Optimizer | None = None,
    ) -> None:
        """Move the statistics towards targets, and rescale the layer so that no value changes.

        Args:
            targets: see `art`; on any device, the layer stays where it is.
            tasks: see `art`.
            beta: see `art`.
            order: see `Order`.
            optimizer: rescale what it keeps of this layer's gradients, too (a deviation: the paper leaves it as it is).

        Raises:
            TypeError, ValueError: as `art`, or an optimiser that keeps something unknown; nothing is changed then.
        """
        old = self.state
        if optimizer is not None:
            _check_kept(optimizer, (self.weight, self.bias))
        new = art(old, targets, tasks, beta, order).to(self.mean.device)
        weight, bias = pop(self.weight, self.bias, old, new)
        self.weight.copy_(weight)
        self.bias.copy_(bias)
        self.mean, self.second_moment = new
        if optimizer is not None:
            _rescale(optimizer, (self.weight, self.bias), old.scale / new.scale)


FIRST = ("momentum_buffer", "exp_avg", "grad_avg", "exp_inf", "prev")
SECOND = ("exp_avg_sq", "square_avg", "max_exp_avg_sq", "sum")
REST = ("step", "step_size", "acc_delta", "mu_product", "eta", "mu", "ax")
"""What optimisers of torch's keep of gradients, of their squares, and of something else: counts, sizes of steps, weights."""


def _rescale(optimizer: Optimizer, parameters: Iterable[Tensor], ratio: Tensor) -> None:
    """Scale averages of gradients as the gradients themselves are scaled, by sigma / sigma', and of squares by its square.

    RMSprop's momentum is of gradients over their root mean square, which stays as it is however they are scaled.
    """
    for parameter in parameters:
        kept = optimizer.state.get(parameter, {})
        for names, power in ((FIRST, 1), (SECOND, 2)):
            for name in names:
                scaleless = name == "momentum_buffer" and "square_avg" in kept
                if isinstance(kept.get(name), Tensor) and not scaleless:
                    factor = ratio.pow(power).to(parameter.dtype)
                    kept[name].mul_(factor.view(-1, *[1] * (parameter.dim() - 1)))


def _check_kept(optimizer: Optimizer, parameters: Iterable[Tensor]) -> None:
    for parameter in parameters:
        for name, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor) and name not in (*FIRST, *SECOND, *REST):
                raise ValueError(
                    f"`optimizer` should keep what is known how to rescale: {', '.join((*FIRST, *SECOND))}. Found "
                    f"{type(optimizer).__name__}'s {name!r}. Pass none: what it keeps then fades by itself."
                )


def _check_cast(head: nn.Module, fn: Callable[[Tensor], Tensor]) -> None:
    for name, value in head.named_parameters(recurse=False):
        cast = fn(value.detach())
        if cast.dtype != value.dtype and all_finite(value) and not all_finite(cast):
            largest = float(value.detach().abs().max())
            raise ValueError(
                f"`{name}` should be finite in {cast.dtype}. Found one of {largest:.3g}, which is too large for it. Cast to "
                "torch.bfloat16, or leave PopArt's layer as it is."
            )


def _weights(task: Tensor, count: Tensor, beta: float, order: Order) -> tuple[Tensor, Tensor]:
    """Return each target's weight in its task's statistics, and (K,) what is kept of them."""
    if order == "sum":
        return torch.full(task.shape, beta, dtype=torch.float64, device=task.device), 1 - beta * count.double()
    if order == "mean":
        return beta / count[task].double(), 1 - beta * (count > 0).double()
    # The i-th of n targets of a task is followed by n - 1 - i more, each of which keeps 1 - beta of it.
    sort = torch.argsort(task, stable=True)
    behind = torch.empty_like(task)
    behind[sort] = count.cumsum(0)[task[sort]] - 1 - torch.arange(len(task), device=task.device)
    keep = torch.tensor(1 - beta, dtype=torch.float64, device=task.device)
    return beta * keep.pow(behind), keep.pow(count)


def _check_step(beta: object, order: str) -> None:
    check_one_of("order", order, ("sequential", "sum", "mean"))
    if isinstance(beta, bool) or not isinstance(beta, int | float):
        raise TypeError(f"`beta` should be a number. Found {beta!r} of type {type(beta).__name__}. The paper's is 3e-4.")
    if not 0 < beta <= 1:
        raise ValueError(f"`beta` should lie in (0, 1]: the share of a step that is new. Found {beta!r}. The paper's is 3e-4.")


def _checked_tasks(tasks: Tensor, count: int, values: Tensor) -> Tensor:
    check_tensor("tasks", tasks)
    check_tensor("values", values)
    if tasks.dtype not in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        raise TypeError(f"`tasks` should be integers. Found {tasks.dtype}. Convert them with .long().")
    if tasks.shape != values.shape:
        raise ValueError(
            f"`tasks` should have the shape of the values, {tuple(values.shape)}: one task each. Found {tuple(tasks.shape)}. "
            "Use tasks.expand_as(values) where environments keep their task."
        )
    flat = tasks.reshape(-1).long()
    if flat.numel() and not 0 <= int(flat.min()) <= int(flat.max()) < count:
        wrong = int(flat.min()) if int(flat.min()) < 0 else int(flat.max())
        raise ValueError(f"`tasks` should lie between 0 and {count - 1}. Found {wrong}. Number them without gaps.")
    return flat
