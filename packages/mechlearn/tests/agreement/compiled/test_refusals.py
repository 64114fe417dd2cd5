"""What the compiled engine refuses, and traps of tracing: the eager engine takes such calls, with the definition's result."""

import sys

import pytest
import torch
from torch import nn
from torch.nn import functional

from compiled_oracles import assert_step
from mechlearn.agreement import Agreement, AndMask
from mechlearn.agreement.compiled import rewriting
from traced_models import D, made, mlp, noise, scattered, vectors

TAKES = pytest.mark.filterwarnings("ignore:The losses should be traced", "ignore:.*one backward pass for each environment")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


def step_of(model, losses_of, **options):
    return Agreement(model, AndMask(0.6), **options).compile(losses_of, backend="aot_eager")


def refused(model, losses_of, batch, why, rows=12, **options):
    step = step_of(model, losses_of, **options)
    for _ in range(2):
        assert_step(step, model, losses_of, batch(rows, 0), scattered(rows, 3), served=False)
        assert why in step.reason
    return step


@TAKES
class TestRowsThatMeet:
    def test_a_mean_over_the_batch(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        refused(model, lambda x, y: losses_of(x, y) * losses_of(x, y).mean(), batch, "aten.mean")

    def test_a_sum_over_the_batch(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        refused(model, lambda x, y: losses_of(x, y) * losses_of(x, y).sum(), batch, "of a sum over rows")

    def test_every_row_with_every_other(self):
        model = mlp(D, 4).double()

        def contrast(x, y):
            h = model(x)
            return (h @ h.T).logsumexp(1) + y[:, 0]

        refused(model, contrast, vectors(model)[1], "rows meet rows")

    def test_another_rows_features(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        refused(model, lambda x, y: losses_of(x.flip(0), y), batch, "the rows are moved")
        refused(model, lambda x, y: losses_of(x.roll(1, 0), y), batch, "may meet")
        refused(model, lambda x, y: losses_of(torch.cat([x[6:], x[:6]]), y), batch, "a part of the rows")

    def test_rows_sorted_by_what_they_are(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        refused(model, lambda x, y: losses_of(x[x[:, 0].argsort()], y), batch, "may meet")

    def test_a_running_sum_over_rows(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        refused(model, lambda x, y: losses_of(x, y).cumsum(0), batch, "along rows")

    def test_batch_norm_in_train_mode(self):
        model = nn.Sequential(nn.Linear(D, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
        losses_of, batch = vectors(model)
        step = step_of(model, losses_of)
        with pytest.raises(ValueError, match="BatchNorm"):
            step(*batch(12, 0), environments=scattered(12, 3))
        pooled = step_of(model, losses_of, statistics="pooled")
        pooled(*batch(12, 0), environments=scattered(12, 3))
        assert "pooled" in pooled.reason


@TAKES
class TestClosedOverTensors:
    """The batch is sorted; a tensor that the function closes over is not, and must not meet its rows."""

    def test_weights(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        weights = noise(12, seed=9).exp()
        refused(model, lambda x, y: losses_of(x, y) * weights, batch, "not of the batch")

    def test_numbers_of_rows(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        refused(model, lambda x, y: losses_of(x, y) * torch.arange(len(x)), batch, "not of the batch")

    def test_a_table_by_number_of_row(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        table = noise(12, D, seed=9)
        refused(model, lambda x, y: losses_of(x + table[torch.arange(12)], y), batch, "not of the batch")

    def test_a_derivative_along_them(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        along = noise(12, D, seed=9)

        def steep(x, y):
            x = x + y
            (slope,) = torch.autograd.grad((x * along).sum(), x, create_graph=True)
            return losses_of(slope, y)

        x, y = batch(12, 0)
        refused(model, steep, lambda rows, seed: (x, y.clone().requires_grad_()), "")

    def test_rows_that_are_kept_outside(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        kept = torch.zeros(12, D, dtype=torch.float64)

        def keeping(x, y):
            kept.copy_(x)
            return losses_of(x, y)

        refused(model, keeping, batch, "would receive the rows in another order")
        assert torch.equal(kept, batch(12, 0)[0])

    def test_masks_that_choose_entries(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)

        def chosen(x, y):
            x = x.clone()
            x[x > 0.5] = 0.0
            return losses_of(x, y)

        step = step_of(model, chosen)
        assert_step(step, model, chosen, batch(12, 0), scattered(12, 3), served=False)

    def test_what_is_the_same_for_all_is_served(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        shift, scale = noise(D, seed=9), torch.tensor(3.0)
        ones = torch.ones(D)

        def shifted(x, y):
            return losses_of(x + shift * ones.expand(len(x), D), y) * scale.expand(len(x))

        assert_step(step_of(model, shifted), model, shifted, batch(12, 0), scattered(12, 3))


@TAKES
class TestTraces:
    def test_a_graph_break(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)

        def broken(x, y):
            found = losses_of(x, y)
            torch._dynamo.graph_break()
            return found * 2

        step = refused(model, broken, batch, "torch could not trace them")
        assert "at test_refusals.py:" in step.reason
        assert step.reason.endswith("`torch._dynamo.graph_break()`")

    def test_an_empty_batch(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        with pytest.raises(ValueError, match="at least one example's loss"):
            step_of(model, losses_of)(*batch(0, 0), environments=[])

    def test_a_number_of_the_batch(self):
        model = mlp(D, 4, 1).double()
        losses_of, batch = vectors(model)
        refused(model, lambda x, y: losses_of(x, y) * x.sum().item(), batch, "")

    def test_steps_do_not_share_a_limit_of_traces(self):
        model, losses_of, _ = made("mlp")
        one, other = (step_of(model, losses_of)._traced._torchdynamo_orig_callable.__code__ for _ in range(2))
        assert one is not other
        assert one.co_name != other.co_name

    def test_flags_are_guarded(self):
        model = nn.Sequential(nn.Linear(D, 8), nn.Dropout(0.5), nn.Linear(8, 1)).double().eval()
        losses_of, batch = vectors(model)
        step, ids = step_of(model, losses_of), scattered(12, 3)
        traces = []
        original = rewriting.analysed
        rewriting.analysed = lambda *arguments: traces.append(1) or original(*arguments)
        try:
            for _ in range(2):
                model.eval()
                assert_step(step, model, losses_of, batch(12, 0), ids)
                model[0].weight.requires_grad_(False)
                assert_step(step, model, losses_of, batch(12, 0), ids)
                model[0].weight.requires_grad_(True)
                model.train()
                step(*batch(12, 0), environments=ids)
                assert step.reason is None
        finally:
            rewriting.analysed = original
        assert len(traces) == 3

    def test_environments_are_no_part_of_a_trace(self):
        model, losses_of, batch = made("mlp")
        step, traces = step_of(model, losses_of), []
        original = rewriting.analysed
        rewriting.analysed = lambda *arguments: traces.append(1) or original(*arguments)
        try:
            for rows, environments in ((12, 3), (12, 4), (12, 1), (12, 12), (20, 5), (22, 7), (9, 2)):
                with pytest.warns(UserWarning, match="single environment") if environments == 1 else _nothing():
                    step(*batch(rows), environments=scattered(rows, environments))
        finally:
            rewriting.analysed = original
        assert len(traces) == 2  # the second with a symbol for the number of rows
        assert step.reason is None

    def test_a_compiled_model_inside(self):
        model = mlp(D, 4, 1).double()
        inner = torch.compile(model, backend="aot_eager")
        losses_of, batch = vectors(inner)
        losses_of(*batch(12, 0)).mean().backward()
        model.zero_grad()
        plain = vectors(model)[0]
        assert_step(step_of(model, losses_of), model, plain, batch(12, 0), scattered(12, 3))

    @pytest.mark.filterwarnings("ignore:.*one backward pass for each environment")
    def test_no_gradients(self):
        model, losses_of, batch = made("mlp")
        step = step_of(model, losses_of)
        with torch.no_grad(), pytest.raises(ValueError, match="gradients enabled"):
            step(*batch(12), environments=scattered(12, 3))

    def test_hooks_on_parameters_run_once(self):
        model, losses_of, batch = made("mlp")
        seen = []
        model[0].weight.register_hook(seen.append)
        step_of(model, losses_of)(*batch(12), environments=scattered(12, 3))
        assert len(seen) == 1
        assert torch.equal(seen[0], model[0].weight.grad)


class TestArguments:
    def test_losses_that_are_reduced(self):
        model, losses_of, batch = made("mlp")
        step = step_of(model, lambda x, y: losses_of(x, y).mean())
        with pytest.raises(ValueError, match="already reduced"), pytest.warns(UserWarning, match="traced"):
            step(*batch(12), environments=scattered(12, 3))

    def test_a_tensor_without_rows(self):
        model, losses_of, batch = made("mlp")
        step = step_of(model, losses_of)
        x, y = batch(12)
        with pytest.raises(ValueError, match="should have a row for each example"):
            step(x, y[:5], environments=scattered(12, 3))
        with pytest.raises(ValueError, match="should have a row for each example"):
            step(environments=scattered(12, 3))

    def test_ids_of_another_length(self):
        model, losses_of, batch = made("mlp")
        with pytest.raises(ValueError, match="one id for each of the 12 losses"):
            step_of(model, losses_of)(*batch(12), environments=[0, 1])

    def test_losses_that_are_not_finite(self):
        model, losses_of, batch = made("mlp")
        step, (x, y) = step_of(model, losses_of), batch(12)
        x[3] = torch.nan
        with pytest.raises(ValueError, match="Every loss should be finite"):
            step(x, y, environments=[0, 0, 0, 7] * 3)
        assert all(p.grad is None for p in model.parameters())

    @pytest.mark.usefixtures("as_installed")
    def test_no_function(self):
        model, losses_of, _ = made("mlp")
        with pytest.raises(TypeError, match="`losses_of` should be a function"):
            Agreement(model, AndMask()).compile(3)
        with pytest.raises(ValueError, match="backend"):
            Agreement(model, AndMask()).compile(losses_of, backend="fast")

    @TAKES
    def test_one_row(self):
        model, losses_of, batch = made("mlp")
        step = step_of(model, losses_of)
        with pytest.warns(UserWarning, match="single environment"):
            step(*batch(1), environments=[0])
        assert "one row" in step.reason


def test_a_fused_backward_of_another_forward_pass():
    """torch's core table takes flash attention's forward operation apart and not its backward one, which is then wrong."""
    from torch._decomp import core_aten_decompositions
    from torch.fx.experimental.proxy_tensor import make_fx

    from mechlearn.agreement.compiled import marks
    from mechlearn.agreement.compiled.analysis import analysed
    from mechlearn.agreement.compiled.tags import Mixed

    def gradient(q):
        q = marks.ROWS(q)
        return torch.autograd.grad(functional.scaled_dot_product_attention(q, q, q, is_causal=True).square().sum(), q)

    query = torch.randn(4, 2, 3, 8, requires_grad=True)
    found = {}
    for name, table in (("core", core_aten_decompositions()), ("none", {})):
        graph = make_fx(gradient, decomposition_table=table, tracing_mode="fake")(query).graph
        tags = analysed(graph, 4)
        found[name] = [tags[node] for node in graph.nodes if "attention_for_cpu_backward" in str(node.target)]
    assert isinstance(found["core"][0], Mixed)
    assert type(found["none"][0]) is tuple


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_another_torch_has_the_eager_engine_and_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "mechlearn.agreement.compiled.backends", None)
    model, losses_of, batch = made("mlp")
    step = Agreement(model, AndMask(0.6)).compile(losses_of, backend="aot_eager")
    with pytest.warns(UserWarning, match=r"`compile` takes torch 2\.13, or a later one with its hooks, and this is"):
        record = step(*batch(6), environments=[0, 0, 1, 1, 2, 2])
    assert set(record.paths.values()) == {"layer"}
