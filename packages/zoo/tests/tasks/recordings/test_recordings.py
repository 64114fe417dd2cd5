import math

import pytest
import torch

from mechlearn_zoo.experiments.vision.decoding.simulated_voxels import simulated_voxels
from mechlearn_zoo.tasks.recordings.neurons import grasshopper


@pytest.mark.extra("worlds", "nitime")
@pytest.mark.parametrize(("neuron", "spikes"), [(1, 929), (2, 868)])
def test_the_real_neurons_are_whole(neuron, spikes):
    found = grasshopper(neuron)
    assert found.spikes.shape == (10_000, 1)
    assert int(found.spikes.sum()) == spikes
    assert found.stimulus.isfinite().all()
    coarse = grasshopper(neuron, 10)
    torch.testing.assert_close(coarse.stimulus, found.stimulus.view(-1, 10).mean(1), rtol=0, atol=1e-4)
    assert torch.equal(coarse.spikes[:, 0], found.spikes.view(-1, 10).sum(1))


def test_there_are_two_recordings():
    with pytest.raises(ValueError, match="There are neurons 1 and 2"):
        grasshopper(3)


def test_simulated_voxels_are_their_formula():
    voxels = simulated_voxels(6, 5, 4, torch.Generator().manual_seed(0))
    pictures = torch.rand(3, 1, 5, 4, generator=torch.Generator().manual_seed(1))
    found = voxels.respond(pictures)
    for n in range(3):
        for v in range(6):
            energy = sum(float(filters @ pictures[n].flatten()) ** 2 for filters in voxels.filters[v])
            assert float(found[n, v]) == pytest.approx(math.sqrt(math.sqrt(energy)), rel=1e-4)
    for v in range(3):  # those that pool: both filters are the field over sqrt(2), so the answer is the pooled contrast's root
        torch.testing.assert_close(voxels.filters[v, 0], voxels.filters[v, 1])
        assert float(voxels.filters[v, 0].sum()) == pytest.approx(math.sqrt(0.5))


def test_balanced_voxels_say_the_same_of_a_picture_and_its_negative():
    generator = torch.Generator().manual_seed(0)
    voxels = simulated_voxels(10, 6, 5, generator, pooled=0.2, balanced=True)
    plain = simulated_voxels(10, 6, 5, torch.Generator().manual_seed(0), pooled=0.2)
    assert torch.equal(voxels.filters[:2], plain.filters[:2])  # those that pool light
    torch.testing.assert_close(voxels.filters[2:].sum(2), torch.zeros(8, 2), rtol=0, atol=1e-6)
    for v in range(2, 10):  # the Gabor less its field times its sum; a pooling filter is its field over sqrt(2)
        field = simulated_voxels(10, 6, 5, torch.Generator().manual_seed(0), pooled=1.0).filters[v] * math.sqrt(2)
        torch.testing.assert_close(voxels.filters[v], plain.filters[v] - field * plain.filters[v].sum(1, keepdim=True))
    pictures = torch.rand(4, 1, 6, 5, generator=generator)
    torch.testing.assert_close(voxels.respond(pictures)[:, 2:], voxels.respond(1 - pictures)[:, 2:], rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="`pooled`"):
        simulated_voxels(10, 6, 5, generator, pooled=1.5)


def test_recordings_have_their_noise_and_gain():
    voxels = simulated_voxels(4, 5, 5, torch.Generator().manual_seed(0))
    pictures = torch.rand(50, 1, 5, 5, generator=torch.Generator().manual_seed(1))
    clean = voxels.record(pictures, 0.0, 1, torch.Generator(), gain=0.5)[0]
    torch.testing.assert_close(clean.std(0), torch.full((4,), 0.5))
    noisy = voxels.record(pictures, 2.0, 400, torch.Generator().manual_seed(2), gain=0.5)
    assert float((noisy - clean).std()) == pytest.approx(2, abs=0.03)
    with pytest.raises(ValueError, match="`gain` should be positive"):
        voxels.record(pictures, 0.0, 1, torch.Generator(), gain=0.0)


def test_what_would_be_nan_is_refused():
    voxels = simulated_voxels(4, 5, 5, torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match=r"`pictures` should be two or more: .* Found 1"):
        voxels.record(torch.rand(1, 1, 5, 5), 0.0, 1, torch.Generator())
    with pytest.raises(ValueError, match=r"`sizes` should rise and be at least 0\.06 .* Found \(0\.02, 0\.03\)"):
        simulated_voxels(4, 5, 5, torch.Generator(), sizes=(0.02, 0.03))
    with pytest.raises(ValueError, match="`sizes` should rise"):
        simulated_voxels(4, 5, 5, torch.Generator(), sizes=(0.8, -2.0))
    least = simulated_voxels(300, 5, 5, torch.Generator().manual_seed(0), sizes=(0.06, 0.06))
    assert least.filters.isfinite().all()
