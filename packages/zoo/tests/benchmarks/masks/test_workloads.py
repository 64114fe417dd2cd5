import pytest
import torch
from mechlearn_zoo_benchmarks.entrants.masks.workloads import WORKLOADS


@pytest.mark.parametrize(
    ("name", "parameters", "inputs", "environments", "threshold"),
    [
        ("mlp-34", 140_801, (32 * 128, 34), 32, 1.0),
        ("mlp-3072", 2_103_818, (80, 3072), 80, 0.2),
        ("resnet20", 269_722, (80, 3, 32, 32), 80, 0.2),
        ("fastresnet", 6_573_120, (80, 3, 32, 32), 80, 0.2),
        ("linear-10 3x30", 11, (90, 10), 3, 0.6),
        ("mlp-17 9x256", 5_377, (2304, 17), 9, 0.6),
        ("rms-lm", 3_668_224, (64, 32), 16, 0.2),
        ("vit-tiny", 5_362_762, (64, 3, 32, 32), 64, 0.2),
        ("gru", 299_018, (64, 64, 128), 16, 0.2),
    ],
)
def test_sizes(name, parameters, inputs, environments, threshold):
    problem = WORKLOADS[name](False, 0)
    assert sum(p.numel() for p in problem.parameters) == parameters
    assert tuple(problem.x.shape) == inputs
    assert (problem.count, problem.threshold) == (environments, threshold)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_is_its_seed(name):
    first, again, other = (WORKLOADS[name](True, seed) for seed in (0, 0, 1))
    assert torch.equal(first.losses(), again.losses())
    assert not torch.equal(first.losses(), other.losses())
    assert first.losses().shape == (len(first.x),)


@pytest.mark.parametrize("name", WORKLOADS)
def test_environments_are_adjacent_and_of_equal_sizes(name):
    problem = WORKLOADS[name](True, 0)
    sizes = torch.bincount(problem.environments)
    assert sizes.unique().numel() == 1
    assert torch.equal(problem.environments, problem.environments.sort().values)
    assert torch.equal(problem.by_environment(problem.environments), torch.arange(problem.count)[:, None].expand(-1, sizes[0]))
