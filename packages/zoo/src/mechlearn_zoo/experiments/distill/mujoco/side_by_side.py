"""Students without a teacher, every point of a grid with the same batch size trained side by side in one batched run.

The points of a seed share initial weights and batches, so that what differs between members of a stack are learning rate, decay
and the weight of the auxiliary loss: one step is what each would take by itself, up to rounding.
"""

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from claimlab import Saved, checkpoint
from mechlearn.distill.examples.streams import Stream
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.nn.stacks import Stack, StackedAdam
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.bodies import Look, Training
from mechlearn_zoo.experiments.distill.measured import Measured
from mechlearn_zoo.experiments.distill.mujoco.baselines import Setting
from mechlearn_zoo.experiments.distill.training import label_loss, now_and_then
from mechlearn_zoo.tasks.bodies.quantiles import bin_errors
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import same_stream


class Seen(NamedTuple):
    """What was seen of one member: its looks, and why there are no more of them where it diverged."""

    looks: list[Look]
    fault: str

    def again(self) -> Iterator[Look]:
        """Yield the looks."""
        yield from self.looks
        if self.fault:
            raise FloatingPointError(self.fault)


class Members(nn.Module):
    """Students with auxiliary heads, one for each setting: their hidden layers, their last one, and the heads.

    Args:
        config: of the networks, which all start alike.
        settings: what differs between the members.
        inputs: numbers of a state and its actions.
        wanted: numbers of a trajectory.
        generator: of the heads' initial weights.
    """

    def __init__(
        self, config: Training, settings: Sequence[Setting], inputs: int, wanted: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        student = bodies.make_student(config, inputs)
        head = relu_mlp((config.student_widths[-1], wanted), generator)
        parts = (student[:-1], student[-1:], head)
        self.hidden, self.last, self.head = (Stack([part] * len(settings)) for part in parts)
        self.weights = torch.tensor([one.weight for one in settings])

    def forward(self, x: Tensor) -> Tensor:
        """Return each member's logits (M, b, BINS) of the same rows (b, inputs)."""
        return self.last(self.hidden(x.expand(len(self.weights), *x.shape)))

    def losses(self, x: Tensor, y: Tensor, wanted: Tensor) -> Tensor:
        """Return each member's loss on the same rows, shape (M,)."""
        hidden = self.hidden(x.expand(len(self.weights), *x.shape))
        loss = torch.stack([label_loss(logits, y).mean() for logits in self.last(hidden)])
        if not bool(self.weights.any()):
            return loss
        return loss + self.weights * (self.head(hidden) - wanted).square().mean((1, 2))

    def optimizers(self, settings: Sequence[Setting]) -> list[StackedAdam]:
        """Return Adam for all but the directions of weight norm, with decay, and for these, without (`without_direction`)."""
        named = list(self.named_parameters())
        groups = [[p for name, p in named if name.endswith("original1") == direction] for direction in (False, True)]
        rates, decays = [one.lr for one in settings], [one.decay for one in settings]
        return [StackedAdam(groups[0], rates, decays), StackedAdam(groups[1], rates)]


@contextmanager
def flushed_denormals(wanted: bool = True) -> Generator[None]:
    """Take denormal numbers for zero meanwhile, on the calling thread.

    Adam's averages of a dead unit's gradients decay to such numbers and stay there, and arithmetic on them is slow.

    Args:
        wanted: False leaves arithmetic as it is.
    """
    before = bool(torch.tensor(1e-39) * 1 == 0)
    torch.set_flush_denormal(wanted or before)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)


def batched(config: Training, data: PrivilegedData, settings: Sequence[Setting], name: str) -> list[Seen]:
    """Train a student for each setting; return what was seen of each, in the order of the settings.

    Args:
        config: how long, and of which networks.
        data: to train on and to look at.
        settings: of any batch sizes; those of one size are a stack.
        name: of the loops that are kept.
    """
    seen: dict[int, Seen] = {}
    for size in sorted({one.batch for one in settings}):
        places = [place for place, one in enumerate(settings) if one.batch == size]
        group = [settings[place] for place in places]
        seen |= zip(places, _together(config, data, group, checkpoint(f"{name}, batches of {size}")), strict=True)
    return [seen[place] for place in range(len(settings))]


def _together(config: Training, data: PrivilegedData, settings: Sequence[Setting], saved: Saved) -> list[Seen]:
    if not saved.finished:
        _train(config, data, settings, saved)
    return [_seen(saved.values, member) for member in range(len(settings))]


def _train(config: Training, data: PrivilegedData, settings: Sequence[Setting], saved: Saved) -> None:
    examples = data.train
    generator = same_stream(config.seed)  # as `train_plainly`, which draws the same from it
    wanted = examples.privileged.flatten(1)
    members = Members(config, settings, examples.x.shape[1], wanted.shape[1], generator)
    optimizers = members.optimizers(settings)
    batches = Stream(torch.arange(len(examples.y)), settings[0].batch, generator)
    saved.restore(members, *optimizers, batches, generator)
    running = torch.tensor([not _seen(saved.values, member).fault for member in range(len(settings))])

    def rounds() -> Iterator[int]:
        for step in range(saved.done * config.student_steps + 1, config.rounds * config.student_steps + 1):
            rows = next(batches)
            members.zero_grad()
            members.losses(examples.x[rows], examples.y[rows], wanted[rows]).sum().backward()
            for optimizer in optimizers:
                optimizer.step(running=running)
            if step % config.student_steps == 0:
                yield step

    for step in now_and_then(rounds(), config.every, config.rounds, saved.done):
        errors = zip(*(_errors(members, split) for split in (data.selection, data.test, data.train)), strict=True)
        found = [list(member) for member in errors]
        running &= torch.tensor([all(map(isfinite, member)) for member in found])
        saved.keep(min(saved.done + config.every, config.rounds), [step, *map(_finite, found)])
    saved.finish()


@torch.no_grad()
def _errors(members: Members, examples: Part) -> list[float]:
    # In pieces: all rows of all members at once would be some hundred megabytes a layer.
    found = [
        torch.stack([bin_errors(logits, y) for logits in members(x)])
        for x, y in zip(examples.x.split(1000), examples.y.split(1000), strict=True)
    ]
    return torch.cat(found, 1).mean(1).tolist()


def _finite(errors: list[float]) -> list[float | str]:
    # JSON has no NaN; what is no number is kept as its name.
    return [error if isfinite(error) else str(error) for error in errors]


def _seen(values: Sequence[list[Any]], member: int) -> Seen:
    looks: list[Look] = []
    for step, *members in values:
        errors = [float(error) for error in members[member]]
        if not all(map(isfinite, errors)):
            return Seen(looks, f"The student's errors should be finite. Found {errors} after {step} steps.")
        looks.append(Look(Measured(step, errors[0], errors[1]), errors[2]))
    return Seen(looks, "")
