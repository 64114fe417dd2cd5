"""What a teacher used: how strongly its targets depend on each frame of a trajectory, layer by layer.

"The teacher can decide to omit properties of the observations that are not needed and omit time steps that can be skipped. It
could also change their order" (thesis 4.3.2). For supervised layer k and frame t this reads

    used_kt = mean over examples of sum over units u of o_u |d h*_u / d x*_t|^2,

with o_u the opening of the unit's gate, 1 where there are no gates: the mass of the Jacobian through which frame t speaks to
the layer. It says what a teacher listens to, near these data, and not whether the student gains by it.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn import arguments
from mechlearn.distill.examples.inputs import Inputs, Ragged, mapped, prepared
from mechlearn.distill.lesson import Lesson
from mechlearn.distill.losses import GatedSquaredError
from mechlearn.distill.teachers.hoisting import Teaching
from mechlearn.distill.teachers.signals import unpack
from mechlearn.functional import borrowed
from mechlearn.params import map_params, parameters_of


class Reading(NamedTuple):
    """What a teacher used.

    Attributes:
        layers: K names of supervised layers.
        used: (K, T) the mass of the targets' dependence on each frame, in units of targets^2 / frames^2.
        gates: (K,) the mean opening of each layer's gates; 1 without gates.
    """

    layers: tuple[str, ...]
    used: Float[Tensor, "k t"]
    gates: Float[Tensor, " k"]

    @property
    def shares(self) -> Float[Tensor, "k t"]:
        """Return each frame's share of its layer's mass; equal shares where nothing is used."""
        total = self.used.sum(1, keepdim=True)
        return torch.where(total > 0, self.used / total, 1 / self.used.shape[1])

    @property
    def frames(self) -> Int[Tensor, " k"]:
        """Return the frame that each layer uses most, the earliest of equal ones."""
        return self.used.argmax(1)

    def by_time(self) -> Float[Tensor, " t"]:
        """Return each frame's share of the mass of all layers together; equal shares where nothing is used."""
        total = self.used.sum()
        return torch.where(total > 0, self.used.sum(0) / total, 1 / self.used.shape[1])


def read_teacher(
    lesson: Lesson, privileged: Inputs, *, probes: int | None = None, generator: Generator | None = None
) -> Reading:
    """Return which frames a teacher uses for which layer, on a batch of trajectories.

    The teacher runs as in training: in its present mode, BatchNorm with this batch. The student is not asked.

    Args:
        lesson: of the teacher; a `GatedSquaredError` says how its gates open.
        privileged: (B, T, ...) trajectories of floats, frames along the second dimension; or ragged ones, whose frames count
            over the examples that have them.
        probes: None takes a backward pass for each unit of each example, which is exact and for small teachers. A number takes
            as many passes with random signs for each layer, whose mean it is (Hutchinson).
        generator: of the signs.

    Raises:
        ValueError: no second dimension.
        TypeError: what are no trajectories, such as a mapping; frames that are no floats; probes without a generator.
    """
    arguments.check_kind("lesson", lesson, Lesson, "a mechlearn.distill.Lesson")
    if probes is not None:
        arguments.check_whole("probes", probes, 1)
        arguments.check_generator("generator", generator)
    frames, own, given = _leaf(prepared("privileged", privileged, 1))
    teaching = Teaching(lesson.teacher, lesson.layers, replace(lesson.hoisting, statistics="per-batch", chunk=None))
    with borrowed(lesson.teacher), torch.enable_grad():
        copied = mapped(torch.clone, given)  # a teacher may write into what it reads, and nobody into a leaf
        signals, layout = teaching.forward(map_params(torch.clone, parameters_of(lesson.teacher)), copied)
    used: list[Tensor] = []
    gates: list[Tensor] = []
    for target in unpack([signal[0] for signal in signals], layout).values():
        opening = _opening(lesson, target.gate, target.value)
        mass = _mass(target.value, opening, frames, probes, generator)
        used.append((mass * own).sum(0) / own.sum(0).clamp(min=1))
        gates.append(opening.mean())
    return Reading(tuple(lesson.layers), torch.stack(used), torch.stack(gates))


def _leaf(privileged: Inputs) -> tuple[Tensor, Tensor, Inputs]:
    """Return the frames as a leaf of one batch (1, B, T, ...), which of them are own (B, T), and what the teacher gets."""
    frames = privileged.frames if isinstance(privileged, Ragged) else privileged
    if not isinstance(frames, Tensor) or not frames.is_floating_point():
        raise TypeError(
            "`privileged` should be trajectories of floats to be read by frames. Found "
            f"{frames.dtype if isinstance(frames, Tensor) else f'an object of type {type(frames).__name__}'}. Give one tensor "
            "(B, T, ...)."
        )
    if frames.dim() < 2:
        raise ValueError(
            f"`privileged` should have frames along its second dimension, (B, T, ...). Found {tuple(frames.shape)}. Add one."
        )
    leaf = frames.detach()[None].clone().requires_grad_()
    if isinstance(privileged, Ragged):
        return leaf, privileged.mask.to(frames.dtype), Ragged(leaf, privileged.mask[None])
    return leaf, torch.ones(frames.shape[:2], dtype=frames.dtype, device=frames.device), leaf


def _opening(lesson: Lesson, gate: Tensor | None, value: Tensor) -> Tensor:
    loss = lesson.teaching_loss
    if gate is None or not isinstance(loss, GatedSquaredError):
        return torch.ones_like(value)
    return torch.sigmoid(loss.scale * gate.detach() + loss.shift)


def _mass(value: Tensor, opening: Tensor, frames: Tensor, probes: int | None, generator: Generator | None) -> Tensor:
    """Return (B, T): the sum over units of opening times squared derivative by each frame."""
    if not value.requires_grad:  # a teacher may use nothing
        return frames.new_zeros(frames.shape[1:3])
    flat, weights = value.reshape(-1), opening.sqrt().reshape(-1)
    total = frames.new_zeros(frames.shape[1:3])
    for k in range(len(flat) if probes is None else probes):
        if probes is None:
            cotangent = torch.zeros_like(flat)
            cotangent[k] = weights[k]
        else:
            place = None if generator is None else generator.device
            signs = torch.randint(0, 2, flat.shape, generator=generator, device=place).to(flat) * 2 - 1
            cotangent = weights * signs
        (found,) = torch.autograd.grad(flat, frames, cotangent, retain_graph=True, materialize_grads=True)
        total += found[0].square().flatten(2).sum(2) if found.dim() > 3 else found[0].square()
    return total / (probes or 1)
