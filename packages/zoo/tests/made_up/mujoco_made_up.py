"""A stand-in for the simulated data, so that the MuJoCo experiments are tested without the simulator."""

import torch

from mechlearn_zoo.tasks.bodies.quantiles import BINS
from mechlearn_zoo.tasks.bodies.rollouts import STEPS
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData

TINY = {
    "train": 60, "selection": 20, "test": 20, "inner_steps": 2, "student_steps": 2, "batch": 6, "teacher_channels": (4, 4),
    "teacher_hidden": 6, "student_widths": (7, 7), "every": 1,
}  # fmt: skip
"""Settings of a training that takes a second."""


def made_up_data(environment, seed, sizes, alive_bonus="always", on_progress=None):
    generator = torch.Generator().manual_seed(seed + len(environment))

    def draw(count):
        x = torch.randn(count, 5, generator=generator)
        frames = x[:, None, :3] + 0.1 * torch.randn(count, STEPS, 3, generator=generator)
        return Part(x, frames, ((x[:, 0].sigmoid() * BINS).long()).clamp(max=BINS - 1))

    return PrivilegedData(draw(sizes.train), draw(sizes.selection), draw(sizes.test))
