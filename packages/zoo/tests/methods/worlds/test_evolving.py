import math

import numpy as np
import pytest
import torch

from mechlearn_zoo.methods.worlds.evolving import evolve, options

pytestmark = pytest.mark.extra("worlds", "cma")


def bowl(candidates, generation):
    return -(candidates - 1).square().sum(1)


@pytest.mark.parametrize("parameters", [3, 120])
def test_it_is_cma_called_by_hand(parameters):
    import cma

    asked = []

    def fitness(candidates, generation):
        asked.append(candidates)
        return bowl(candidates, generation)

    found = evolve(fitness, parameters, generations=5, population=8, sigma=0.5, seed=4)
    by_hand = cma.CMAEvolutionStrategy(np.zeros(parameters), 0.5, options(parameters, 8, 4))
    for generation in range(5):
        solutions = by_hand.ask()
        torch.testing.assert_close(asked[generation], torch.tensor(np.stack(solutions), dtype=torch.float32))
        values = bowl(asked[generation], generation)
        assert found.history[generation].tolist() == pytest.approx([float(values.max()), float(values.mean())])
        by_hand.tell(solutions, (-values.double()).tolist())
    torch.testing.assert_close(found.mean, torch.tensor(by_hand.result.xfavorite, dtype=torch.float32))


def test_it_finds_the_bottom():
    found = evolve(bowl, 4, generations=60, population=12, sigma=0.5, seed=1)
    torch.testing.assert_close(found.mean, torch.ones(4), rtol=0, atol=1e-3)


def test_a_failing_candidate_is_named_and_cma_is_not_told():
    calls = []

    def fitness(candidates, generation):
        calls.append(generation)
        values = bowl(candidates, generation)
        values[3] = math.nan if generation == 1 else values[3]
        return values

    with pytest.raises(ValueError, match="Found nan for candidate 3 of generation 1"):
        evolve(fitness, 4, generations=3, population=6, sigma=0.5, seed=1)
    assert calls == [0, 1]


@pytest.mark.parametrize(
    ("broken", "error", "match"),
    [
        (lambda values: values.masked_fill(torch.arange(6) == 3, math.nan), ValueError, "Found nan for candidate 3"),
        (lambda values: values[:5], ValueError, r"`fitness` should have the shape \(6,\)"),
        (lambda values: values.tolist(), TypeError, "`fitness` should be a tensor"),
        (lambda values: values.to(torch.complex64), TypeError, "`fitness` should hold real numbers"),
    ],
)
def test_a_refusal_leaves_cmas_state_as_it_was(monkeypatch, broken, error, match):
    import cma

    made, states = [], []

    class Kept(cma.CMAEvolutionStrategy):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(self)

    def held():
        (one,) = made
        return one.mean.tolist(), one.sigma, one.sm.C.tolist(), one.pc.tolist(), one.countiter, one.countevals, one.best.f

    def fitness(candidates, generation):
        states.append(held())
        values = bowl(candidates, generation)
        return broken(values) if generation == 1 else values

    monkeypatch.setattr(cma, "CMAEvolutionStrategy", Kept)
    with pytest.raises(error, match=match):
        evolve(fitness, 4, generations=3, population=6, sigma=0.5, seed=1)
    assert states[0] != states[1] == held()


def test_what_is_refused():
    with pytest.raises(ValueError, match="`seed` should be at least 1: 0 is the clock to cma"):
        evolve(bowl, 4, generations=1, population=6, sigma=0.5, seed=0)
    with pytest.raises(ValueError, match="`sigma` should be positive"):
        evolve(bowl, 4, generations=1, population=6, sigma=0.0, seed=1)
    with pytest.raises(ValueError, match=r"`fitness` should have the shape \(6,\)"):
        evolve(lambda candidates, generation: candidates, 4, generations=1, population=6, sigma=0.5, seed=1)
