import itertools

import pytest
import torch

from mechlearn_zoo.experiments.worlds.dividing.relabelling import hindsight, without_loops


def test_every_pair_on_a_path_is_a_solved_problem():
    path = [4, 7, 1, 9, 2]
    every = {(path[i], path[k], path[j]) for i, k, j in itertools.combinations(range(5), 3)}
    assert set(map(tuple, hindsight([path], "every").tolist())) == every
    assert hindsight([path[:4], [1, 2]]).tolist() == [[4, 7, 1], [4, 7, 9], [7, 1, 9]]
    assert hindsight([path[:4]], 2).tolist() == [[4, 7, 1], [4, 1, 9], [7, 1, 9]]


def test_a_walk_without_its_loops_is_a_walk():
    g = torch.Generator().manual_seed(0)
    for _ in range(20):
        walk = torch.randint(6, (30,), generator=g).tolist()
        found = without_loops(walk)
        assert len(set(found)) == len(found)
        assert (found[0], found[-1]) == (walk[0], walk[-1])
        steps = set(itertools.pairwise(walk))
        assert all(step in steps for step in itertools.pairwise(found))


def test_what_is_refused(as_installed):
    with pytest.raises(ValueError, match=r"`paths` should hold one of three states or more\. Found none"):
        hindsight([[1, 2]])
    with pytest.raises(ValueError, match='`split` should be "middle" or "every"'):
        hindsight([[1, 2, 3]], "half")
    with pytest.raises(TypeError, match="`paths` should be a whole number"):
        hindsight([[1.5, 2, 3]])
    with pytest.raises(TypeError, match="`paths` should be a list of paths"):
        hindsight([1, 2, 3])
