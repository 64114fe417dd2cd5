import pytest
import torch
from mechlearn_zoo_benchmarks.entrants.grids import GRIDS
from mechlearn_zoo_benchmarks.entrants.masks.models import MODELS

from claimlab.cli.bench import load
from mechlearn.agreement import Agreement, AndMask, combine


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_formulas_and_the_definition_s_masks(name):
    problem = MODELS[name](True, 0).double()
    named = {key: p for key, p in problem.model.named_parameters() if p.requires_grad}
    losses = problem.losses()
    gradients = [
        torch.autograd.grad(losses[problem.environments == e].mean(), list(named.values()), retain_graph=True)
        for e in range(problem.count)
    ]
    record = Agreement(problem.model, AndMask(problem.threshold)).backward(losses, problem.environments)
    for number, parameter in enumerate(named.values()):
        stack = torch.stack([one[number] for one in gradients])
        expected = combine(AndMask(problem.threshold), stack).gradient
        # Gradients that are 0 in theory (a key's bias before a softmax) are rounding noise of either sign.
        clear = ((stack == 0) | (stack.abs() > 1e-12 * stack.abs().max())).all(0)
        torch.testing.assert_close(parameter.grad[clear], expected[clear], rtol=1e-9, atol=1e-14)
    # Only what the benchmark's own table says may lack a formula.
    if name != "convnext":
        assert set(record.paths.values()) == {"layer"}


def test_a_row_says_what_a_step_costs():
    bench = load("models", "mechlearn_zoo")
    (row,) = bench.run(bench.config(models=("gru",), grids=(), repeats=1, small=True), lambda _: None)
    assert row["share"] == 1.0
    assert row["ratio"] > 0 < row["loop"]


def test_an_unknown_model_is_refused():
    with pytest.raises(ValueError, match="Did you mean gru"):
        load("models", "mechlearn_zoo").config(models=("gruu",))


def test_a_grid_s_row_says_what_a_stack_saves():
    bench = load("models", "mechlearn_zoo")
    found = list(bench.run(bench.config(models=(), repeats=1, small=True), lambda _: None))
    assert [row["workload"] for row in found] == [f"grid of {name}" for name in GRIDS]
    assert all(row["exact"] and row["ratio"] > 0 for row in found)
    with pytest.raises(ValueError, match="Did you mean spirals"):
        bench.config(grids=("spiral",))
