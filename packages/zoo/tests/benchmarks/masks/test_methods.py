import functools
import sys

import pytest
import torch
from mechlearn_zoo_benchmarks.entrants.masks.methods import PLAIN, methods, require_memory
from mechlearn_zoo_benchmarks.entrants.masks.methods.authors_loop import float_and_mask
from mechlearn_zoo_benchmarks.entrants.masks.models import MODELS
from mechlearn_zoo_benchmarks.entrants.masks.rule import and_mask
from mechlearn_zoo_benchmarks.entrants.masks.workloads import WORKLOADS
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError

import oracles

PEERS = {"opacus": "opacus", "backpack": "backpack", "torchjd": "torchjd"}
"""The methods that need a package, and its module; all others need torch alone and may not be skipped."""

MASKING = [name for name in methods() if name != PLAIN]


@functools.cache  # Fractions are slow
def literal(workload):
    """Each parameter's masked mean, and where it is clear: not the signs of rounding noise, as of a key's bias, which is 0."""
    problem = WORKLOADS[workload](True, 1).double()
    stacks = oracles.stacked_gradients(problem.model, problem.loss, problem.x, problem.y, problem.environments)
    largest = max(float(g.abs().max()) for g in stacks.values())
    masked = {name: oracles.and_mask(g, str(problem.threshold)) * oracles.mean(g) for name, g in stacks.items()}
    return masked, {name: ((g.abs() > 1e-12 * largest) | (g == 0)).all(0) for name, g in stacks.items()}


UNVMAPPED = (
    "torch.func has no batching rule for fused attention on a CPU, nor for what a fused or a looked-up layer does in place"
)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("name", MASKING)
def test_every_method_fills_grad_with_the_literal_masked_mean(name, workload):
    problem, (expected, clear) = WORKLOADS[workload](True, 1).double(), literal(workload)
    if name == "vmap_grad" and workload.split()[0] in MODELS:
        pytest.skip(UNVMAPPED)
    if name in PEERS:
        pytest.importorskip(PEERS[name])
    if name == "backpack" and "resnet" in workload:
        with pytest.raises(NotRunError, match="no extension for GroupNorm"):
            methods()[name].prepare(problem, 0)
        return
    for chunk in methods()[name].chunks(problem):
        mine = problem.copy()
        step = methods()[name].prepare(mine, chunk)
        for _ in range(2):  # what a step leaves behind must not reach the next
            step()
            for (parameter, wanted), found in zip(expected.items(), mine.parameters, strict=True):
                where = clear[parameter]
                assert torch.equal((found.grad != 0)[where], (wanted != 0)[where]), parameter
                if methods()[name].literal:  # else gradients that were divided by their norms: of the same signs
                    torch.testing.assert_close(found.grad[where], wanted[where], rtol=1e-9, atol=1e-14)
            mine.clean()


def test_the_masks_are_neither_empty_nor_full():
    for workload in [name for name in WORKLOADS if name.split()[0] not in MODELS]:  # those are compared in test_models.py
        shares = torch.cat([(wanted != 0).flatten() for wanted in literal(workload)[0].values()]).double().mean()
        assert 0.02 < shares < 0.98


def test_plain_is_the_mean_of_all_losses():
    problem = WORKLOADS["mlp-34"](True, 1).double()
    methods()[PLAIN].prepare(problem, 0)()
    found = [p.grad.clone() for p in problem.parameters]
    expected = oracles.stacked_gradients(problem.model, problem.loss, problem.x, problem.y, problem.environments)
    for gradient, stack in zip(found, expected.values(), strict=True):
        torch.testing.assert_close(gradient, oracles.mean(stack))


def test_both_ways_to_mask_a_stack_are_the_literal_one():
    stack = torch.randn(5, 40, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for threshold in ("0.0", "0.25", "0.6", "1.0"):  # 0.6 of 5 ties with 3
        wanted = oracles.and_mask(stack, threshold) * oracles.mean(stack)
        torch.testing.assert_close(and_mask(stack.clone(), float(threshold)), wanted)
        torch.testing.assert_close(float_and_mask(stack.clone(), float(threshold)), wanted)


@pytest.mark.parametrize("name", PEERS)
def test_a_missing_peer_says_how_to_get_it(name, monkeypatch):
    for module in (PEERS[name], "torchjd.autojac", "backpack.extensions"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(NotRunError, match="pip install") as refusal:
        methods()[name].prepare(WORKLOADS["mlp-34"](True, 0), 1)
    assert str(refusal.value) == "not installed: pip install 'mechlearn-zoo[bench]'"


def test_what_does_not_fit_is_refused(monkeypatch):
    problem = WORKLOADS["mlp-34"](True, 0)
    monkeypatch.setattr("mechlearn_zoo_benchmarks.entrants.masks.methods.available", lambda: 2 * 10 * problem.stacked_bytes(1))
    require_memory(problem, rows=10, stacks=1)
    with pytest.raises(NotRunError, match="11 stacked gradients need about"):
        require_memory(problem, rows=11, stacks=1)


def test_the_listing_has_the_denominator_first_and_ours_second():
    assert list(methods())[:2] == [PLAIN, "mechlearn"]
    assert methods()["mechlearn"].name.startswith("mechlearn")
