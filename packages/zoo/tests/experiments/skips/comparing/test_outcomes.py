from dataclasses import replace

import pytest
import torch

from mechlearn_zoo.experiments.skips.comparing import outcomes, training
from mechlearn_zoo.experiments.skips.comparing.training import Settings


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return Settings(episodes=6, kernels=8, max_steps=3, cache=str(tmp_path_factory.mktemp("cache")))


@pytest.mark.parametrize("task", ["funnel-board", "room-runner"])
@pytest.mark.parametrize("view", ["moving", "pixels"])
def test_a_model_that_knows_the_last_frame_is_always_right(tiny, task, view):
    """Accuracy read from perfect predictions: a stand-in for f that returns each episode's last frame as logits."""
    world = training.make_world(replace(tiny, task=task, view=view), "test", 5)
    last = (world.frames.last().clamp(1e-4, 1 - 1e-4)).logit()
    first = world.frames.first()

    def oracle(frames, context=None):
        known, given = (first, frames) if context is None else (world.context, context)  # what moves may look the same
        same = [(known == one).flatten(1).all(dim=1).nonzero()[0, 0] for one in given]
        return last[torch.stack(same)]

    assert outcomes.label_accuracy(oracle, world, 3) == (1.0, 0.0, 1.0)


def test_a_model_that_predicts_nothing_is_never_right_and_soon_stopped(tiny):
    world = training.make_world(tiny, "test", 5)
    assert outcomes.label_accuracy(lambda frames, context: torch.full_like(frames, -9.0), world, 9) == (0.0, 1.0, 2.0)
