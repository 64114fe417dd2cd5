"""A stand-in for the simulated data, so that the MuJoCo experiments are tested without the simulator."""

import torch

from craik.tasks.bodies.mujoco import BINS
from craik.tasks.bodies.rollouts import STEPS
from craik.tasks.privileged import Part, PrivilegedData


def made_up_data(environment, seed, train, selection, test, alive_bonus, on_progress=None):
    generator = torch.Generator().manual_seed(seed + len(environment))

    def draw(count):
        x = torch.randn(count, 5, generator=generator)
        frames = x[:, None, :3] + 0.1 * torch.randn(count, STEPS, 3, generator=generator)
        return Part(x, frames, ((x[:, 0].sigmoid() * BINS).long()).clamp(max=BINS - 1))

    return PrivilegedData(draw(train), draw(selection), draw(test))
