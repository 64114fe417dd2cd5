import math

import pytest
import torch
from sklearn.decomposition import PCA

import surfaces_oracles as oracles
from mechlearn.surfaces import principal, random_walk_explained


def path(steps=20, dims=9, seed=0):
    steps = torch.randn(steps, dims, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return steps.cumsum(0)


def test_directions_are_scikit_learn_s():
    points = path()
    found, wanted = principal(points, 3), PCA(3).fit((points - points[-1]).numpy())
    torch.testing.assert_close(found.explained, torch.from_numpy(wanted.explained_variance_ratio_), rtol=0, atol=1e-12)
    cosines = (found.directions * torch.from_numpy(wanted.components_)).sum(1).abs()
    torch.testing.assert_close(cosines, torch.ones(3, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(found.directions @ found.directions.T, torch.eye(3, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(found.coordinates, (points - points[-1]) @ found.directions.T, rtol=0, atol=1e-12)
    assert torch.equal(found.coordinates[-1], torch.zeros(3, dtype=torch.float64))
    again = principal(list(points), 3)
    assert torch.equal(again.directions, found.directions)


def test_random_walks_look_low_dimensional():
    found = random_walk_explained(path(300, 1), 3)
    walk = torch.arange(800.0, dtype=torch.float64)[:, None]
    limit = torch.tensor([6 / (math.pi * k) ** 2 for k in (1, 2)], dtype=torch.float64)
    torch.testing.assert_close(random_walk_explained(walk), limit, rtol=0, atol=3e-3)
    simulated = torch.from_numpy(oracles.random_walk(60, 10_000, 0)[:2].copy())
    equal = torch.arange(60.0, dtype=torch.float64)[:, None]
    torch.testing.assert_close(random_walk_explained(equal), simulated, rtol=0, atol=0.01)
    assert found.sum() < 1


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    with pytest.raises(ValueError, match="below the 3 points"):
        principal(path(3), 3)
    with pytest.raises(ValueError, match="leave its place"):
        principal(torch.ones(4, 3))
    with pytest.raises(TypeError, match="flat vectors"):
        principal("path")
    with pytest.raises(ValueError, match="shape"):
        random_walk_explained(torch.ones(4))
    for find in (principal, random_walk_explained):
        with pytest.raises(ValueError, match=r"`path` should hold points of one shape, one at least\. Found none\."):
            find([])
        with pytest.raises(ValueError, match=r"Found the shapes \[\(2,\), \(3,\)\]"):
            find([torch.ones(3), torch.ones(2)])
    with pytest.raises(ValueError, match="take steps"):
        random_walk_explained(torch.ones(5, 3))
