"""A simulated hopper that falls without torque: which way shows in its first frames, and is sealed in its last.

Gymnasium's Hopper-v5 by MuJoCo (the extra `experiments`), from starts of ours: upright, tilted and turning a little.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_whole
from mechlearn_zoo.tasks.bodies.rollouts import make_environment

PITCH = 2
"""Which number of a state is the torso's angle: above 0 it has fallen forward, below 0 backward."""
TILT, SPEED = 0.15, 0.6
"""Greatest angle at the start, and standard deviation of every speed."""


def falling_hopper(seed: int, count: int, frames: int) -> Float[Tensor, "n t 12"]:
    """Return places and speeds of all joints, frame by frame of 8 ms.

    Args:
        seed: of the starts.
        count: n.
        frames: of each.
    """
    check_whole("frames", frames, 1)
    env, rng = make_environment("Hopper", "while-healthy"), np.random.default_rng(seed)
    found = np.zeros((count, frames, 12))
    for row in range(count):
        env.reset(seed=0)
        places, speeds = env.init_qpos.copy(), SPEED * rng.normal(size=6)
        places[PITCH] = rng.uniform(-TILT, TILT)
        env.set_state(places, speeds)
        for frame in range(frames):
            found[row, frame] = np.concatenate([env.data.qpos, env.data.qvel])
            env.step(np.zeros(3))
    return torch.from_numpy(found)
