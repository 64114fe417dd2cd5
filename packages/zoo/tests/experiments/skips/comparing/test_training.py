from dataclasses import replace

import numpy as np
import pytest
import torch

from mechlearn.skips import Fixed, Greedy
from mechlearn_zoo.experiments.skips.comparing import training
from mechlearn_zoo.experiments.skips.comparing.networks import frame_network
from mechlearn_zoo.experiments.skips.comparing.training import Settings


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return Settings(episodes=6, kernels=8, max_steps=3, cache=str(tmp_path_factory.mktemp("cache")))


def test_methods_differ_in_their_matching_alone(tiny):
    assert training.matching_of(tiny, "fixed-2", 5) == Fixed(2)
    assert training.matching_of(tiny, "fixed-16", 5) == Fixed(16)
    assert training.matching_of(tiny, "asi", 0) == Greedy(20, 1.0)
    assert training.matching_of(tiny, "asi", 300) == Greedy(20, 0.5)
    assert training.matching_of(tiny, "asi", 600) == Greedy(20, 0.0)
    assert training.matching_of(tiny, "asi-no-exploration", 0) == Greedy(20, 0.0)
    world = training.make_world(tiny, "train", 6)
    first, second = (training.make_model(tiny, world).state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_splits_and_seeds_have_episodes_of_their_own(tiny):
    drawn = [
        training.make_world(replace(tiny, seed=seed), split, 4).episodes.layouts
        for seed in (0, 1)
        for split in ("train", "validation", "test")
    ]
    for one in range(6):
        for other in range(one):
            assert not np.array_equal(drawn[one], drawn[other])


def test_published_networks_take_rgb(tiny):
    for architecture in ("simple", "strided", "dilated"):
        config = replace(tiny, view="pixels", architecture=architecture)
        world = training.make_world(config, "test", 5)
        frames = world.frames.first()
        logits = training.make_model(config, world)(frames)
        assert logits.shape == frames.shape


def test_the_cheap_network_takes_sides_of_any_length():
    network = frame_network("half", 2, 8, 6.0, 0, torch.Generator().manual_seed(0))
    frames = torch.rand(1, 2, 7, 6)
    torch.testing.assert_close(network(frames), 6.0 * (frames - 0.5))


def test_with_gain_a_network_starts_as_the_identity(tiny):
    world = training.make_world(tiny, "test", 5)
    frames = world.frames.first()
    logits = training.make_model(tiny, world)(frames, world.context)
    torch.testing.assert_close(logits, 6.0 * (frames - 0.5))


def test_the_learning_rate_falls_once_by_steps_or_by_evaluations(tiny):
    by_steps, by_evaluations = replace(tiny, decay_steps=7), replace(tiny, decay_steps=None, decay_evaluations=70)
    assert [training.learning_rate_of(by_steps, i, 10 * i) / tiny.learning_rate for i in (6, 7, 99)] == [1, 0.2, 0.2]
    assert [training.learning_rate_of(by_evaluations, i, 10 * i) / tiny.learning_rate for i in (6, 7, 99)] == [1, 0.2, 0.2]


def test_true_frames_are_fed_less_and_less_by_steps_or_by_evaluations(tiny):
    by_steps = replace(tiny, sampling_steps=8)
    by_evaluations = replace(by_steps, sampling_evaluations=80)
    fed = [[training.teacher_forcing_of(one, i, 20 * i) for i in (0, 2, 6, 99)] for one in (by_steps, by_evaluations)]
    assert fed == [[1, 0.75, 0.25, 0], [1, 0.5, 0, 0]]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"size": "published"}, r"max_steps should be at least 250: an episode of the published size"),
        ({"size": "half"}, r"max_steps should be at least 250: an episode of the published size"),
        ({"device": "abacus"}, r"device should be one that this PyTorch can use\. Found 'abacus'"),
        ({"batch": 7}, r"batch should be at most 6: it comes from the episodes\. Found 7"),
        ({"horizon": 0}, "horizon should be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate should be positive"),
        ({"exploration_steps": -1}, "exploration_steps should be at least 0"),
        ({"decay_steps": 0}, "decay_steps should be at least 1"),
        ({"sampling_evaluations": 0}, "sampling_evaluations should be at least 1"),
    ],
)
def test_settings_that_cannot_work_are_refused(tiny, change, rule):
    with pytest.raises(ValueError, match=rule):
        replace(tiny, **change)
