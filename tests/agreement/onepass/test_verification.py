"""The check of the layer-by-layer path: what it must find out, and what must not fool it."""

import weakref

import pytest
import torch
from torch import nn

import oracles
from craik.agreement import Agreement, AndMask
from craik.agreement.onepass.graph import walk
from craik.agreement.onepass.layers import formulas_of
from craik.agreement.onepass.layerwise import covered_calls
from craik.agreement.onepass.verification import check_against_autograd
from craik.environments import partition
from small_models import Mlp, batch, make, squared


class TestCoupling:
    """Where examples meet outside the formulas' view, the check finds out and the exact path is taken."""

    def gradients(self, model, losses, ids):
        return [
            torch.autograd.grad(losses[ids == e].mean(), list(model.parameters()), retain_graph=True)
            for e in sorted(set(ids.tolist()))
        ]

    def run(self, model, forward, ids, statistics=None):
        with Agreement(model, AndMask(0.6), statistics=statistics) as agreement:
            losses = forward()
            expected = self.gradients(model, losses, ids)
            record = agreement.backward(losses, ids)
        for parameter, *gradients in zip(model.parameters(), *expected, strict=True):
            gradient, _ = oracles.combine("and-mask", torch.stack(gradients), "0.6")
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-12, atol=1e-15)
        return record

    def test_a_loss_over_pairs_of_environments(self):
        model = make("mlp", 5)
        x, y, ids = batch(5, [0, 0, 1, 1, 2, 2])

        def forward():
            output = model(x)
            return squared(output - 0.3 * output.mean(0), y)

        with pytest.raises(ValueError, match=r"examples of different environments meet, after layer 'head'.*'pooled'"):
            self.run(model, forward, ids)
        assert all(p.grad is None for p in model.parameters())
        record = self.run(model, forward, ids, statistics="pooled")
        assert set(record.paths.values()) == {"per-environment"}

    def test_a_loss_over_pairs_with_a_scalar_output(self):
        model = nn.Linear(5, 1).double()
        x, _, ids = batch(5, [0, 0, 1, 1, 2, 2])

        def forward():
            output = model(x[:, 0])[:, 0]
            return (output - output.flip(0)) ** 2

        with pytest.raises(ValueError, match="examples of different environments meet, after layer 'Linear'"):
            self.run(model, forward, ids)

    def test_batch_norm_without_running_statistics_couples_in_eval_mode_too(self):
        model = nn.Sequential(nn.Flatten(), nn.Linear(10, 3), nn.BatchNorm1d(3, track_running_stats=False)).double().eval()
        x, y, ids = batch(5, [0, 0, 1, 1, 2, 2])
        with pytest.raises(ValueError, match="normalises with the statistics of the whole batch"):
            self.run(model, lambda: squared(model(x), y), ids)

    def test_examples_permuted_inside_the_model(self):
        class Shuffled(Mlp):
            def forward(self, x):
                return super().forward(x.flip(0)).flip(0)

        torch.manual_seed(0)
        model = Shuffled().double()
        x, y, ids = batch(5, [0, 0, 1, 1, 2, 2])
        record = self.run(model, lambda: squared(model(x), y), ids)
        assert set(record.paths.values()) == {"per-environment"}

    def test_a_hook_that_changes_a_layers_output(self):
        model = make("mlp", 6)
        model.head.register_forward_hook(lambda layer, args, output: 2 * output)
        x, y, ids = batch(6, [0, 0, 1, 1, 2, 2])
        assert self.run(model, lambda: squared(model(x), y), ids).paths["head.weight"] == "layer"

    def test_a_hook_put_before_ours_that_changes_a_layers_output(self):
        model = make("mlp", 6)
        x, y, ids = batch(6, [0, 0, 1, 1, 2, 2])

        def forward():
            model.head.register_forward_hook(lambda layer, args, output: 2 * output, prepend=True)
            return squared(model(x), y)

        assert self.run(model, forward, ids).paths["head.weight"] == "per-environment"

    def test_losses_of_two_forward_passes(self):
        model = make("mlp", 7)
        x, y, ids = batch(7, [0, 0, 1, 1, 2, 2])
        record = self.run(model, lambda: torch.cat([squared(model(x[:3]), y[:3]), squared(model(x[3:]), y[3:])]), ids)
        assert set(record.paths.values()) == {"per-environment"}

    def test_a_penalty_on_the_weights(self):
        model = make("mlp", 8)
        x, y, ids = batch(8, [0, 0, 1, 1, 2, 2])
        record = self.run(model, lambda: squared(model(x), y) + model.head.weight.norm(), ids)
        assert {key for key, path in record.paths.items() if path == "per-environment"} == {"head.weight"}

    def test_the_check_is_repeated_when_a_second_environment_appears(self):
        model = make("mlp", 9)
        x, y, ids = batch(9, [0, 0, 0, 1, 1, 1])
        agreement = Agreement(model, AndMask(0.6))

        def losses():
            output = model(x)
            return squared(output - output.mean(0), y)

        with pytest.warns(UserWarning, match="nothing to agree on"):
            assert set(agreement.backward(losses(), torch.zeros(6, dtype=torch.int64)).paths.values()) == {"layer"}
        with pytest.raises(ValueError, match="examples of different environments meet"):
            agreement.backward(losses(), ids)


class TestTheCheckIsNotFooled:
    """Graphs on which one check says nothing, or whose successors differ."""

    def setup_method(self):
        self.x, self.y, self.ids = batch(11, [0, 0, 1, 1, 2, 2, 3, 3])

    def assert_exact(self, agreement, model, losses):
        expected = [
            torch.autograd.grad(losses[self.ids == e].mean(), list(model.parameters()), retain_graph=True) for e in range(4)
        ]
        model.zero_grad()
        record = agreement.backward(losses, self.ids)
        for parameter, *gradients in zip(model.parameters(), *expected, strict=True):
            gradient, _ = oracles.combine("and-mask", torch.stack(gradients), "0.6")
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-12, atol=1e-15)
        return record

    def test_a_head_that_starts_at_zero_hides_coupling_for_one_call_only(self):
        class Centred(nn.Module):
            def __init__(self):
                super().__init__()
                self.body, self.head = nn.Linear(5, 8), nn.Linear(8, 3)
                nn.init.zeros_(self.head.weight)

            def forward(self, x):
                z = self.body(x[:, 0])
                return self.head(torch.relu(z - z.mean(0)))

        torch.manual_seed(0)
        model = Centred().double()
        agreement = Agreement(model, AndMask(0.6))
        for _ in range(4):
            self.assert_exact(agreement, model, squared(model(self.x), self.y))
            with torch.no_grad():
                model.head.weight += 0.1

    def test_a_term_that_joins_the_loss_later(self):
        model = make("mlp", 0)
        agreement = Agreement(model, AndMask(0.6))
        for _ in range(4):  # past the calls that are checked in any case
            assert set(self.assert_exact(agreement, model, squared(model(self.x), self.y)).paths.values()) == {"layer"}
        output = model(self.x)
        with pytest.raises(ValueError, match="examples of different environments meet"):
            agreement.backward(squared(output, self.y) + (output - output.flip(0)).square().mean(1), self.ids)

    def test_a_switch_to_eval_between_forward_and_backward(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Flatten(), nn.Linear(10, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
        agreement = Agreement(model, AndMask(0.6))
        self.assert_exact(agreement, model.eval(), squared(model(self.x), self.y))
        losses = squared(model.train()(self.x), self.y)
        model.eval()
        with pytest.raises(ValueError, match="BatchNorm in train mode"):
            agreement.backward(losses, self.ids)

    def test_a_dimension_that_happens_to_be_as_long_as_the_batch(self):
        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.positions, self.head = nn.Embedding(9, 6), nn.Embedding(8, 6), nn.Linear(6, 3)

            def forward(self, x):
                h = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
                return self.head(torch.tanh(h)).mean(1)

        torch.manual_seed(0)
        model = Positions().double()
        agreement = Agreement(model, AndMask(0.6))
        tokens = torch.randint(0, 9, (8, 8), generator=torch.Generator().manual_seed(0))
        record = self.assert_exact(agreement, model, squared(model(tokens), self.y))
        assert {key for key, path in record.paths.items() if path == "per-environment"} == {"positions.weight"}

    def test_checkpointed_models(self):
        from torch.utils.checkpoint import checkpoint

        model = make("mlp", 1)
        agreement = Agreement(model, AndMask(0.6))
        for _ in range(2):
            self.assert_exact(agreement, model, squared(checkpoint(model, self.x, use_reentrant=False), self.y))


class Network(nn.Module):
    """A convolution, two linear layers on vectors, an embedding on the side: rows of many lengths."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.mix = nn.Conv1d(2, 6, 3, padding=1), nn.GroupNorm(2, 6), nn.Linear(30, 24)
        self.tokens, self.head = nn.Embedding(5, 24), nn.Linear(24, 3)

    def forward(self, x):
        h = torch.relu(self.norm(self.conv(x))).flatten(1)
        return self.head(torch.tanh(self.mix(h) + self.tokens((x[:, 0, 0] > 0).long())))


class TestEachDefectIsFound:
    """The check keeps a few projections of every tensor; what it found with the tensors whole it must find with these."""

    def setup_method(self):
        self.x, self.y, self.ids = batch(12, [0, 0, 1, 1, 2, 2, 3, 3])

    def check(self, model, losses):
        """The check by itself: calls as `Agreement` would treat them, and what the check makes of them."""
        with Agreement(model, AndMask(0.6)) as agreement:
            losses = losses(model)
            groups = partition(self.ids, len(losses), losses.device)
            reads = walk(losses.grad_fn)
            parameters = dict(model.named_parameters())
            calls = covered_calls(agreement._onepass.recorder.captures, reads, parameters, len(losses))
            check = check_against_autograd(
                losses, calls, parameters, groups, [], agreement._onepass._blank(agreement.rule.needs)
            )
        assert check.verified <= set(calls)
        return check, set(calls)

    @staticmethod
    def network(dtype=torch.float64):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return Network().to(dtype)

    def losses(self, model):
        dtype = model.head.weight.dtype
        return squared(model(self.x.to(dtype)), self.y.to(dtype))

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    def test_nothing_is_wrong(self, dtype):
        check, calls = self.check(self.network(dtype), self.losses)
        assert check.verified == calls == set(dict(self.network().named_parameters()))
        assert check.coupled is None
        assert check.final

    @pytest.mark.parametrize(("dtype", "strength"), [(torch.float64, 1e-6), (torch.float32, 0.05)])
    @pytest.mark.parametrize("layer", ["conv", "mix", "head"])
    def test_examples_that_meet_ever_so_slightly(self, dtype, strength, layer):
        model = self.network(dtype)
        getattr(model, layer).register_forward_hook(lambda _, args, output: output + strength * output.flip(0))
        check, _ = self.check(model, self.losses)
        # What comes after the meeting is right; the meeting's own layer and all before it are not.
        before = {"conv": {"conv"}, "mix": {"conv", "norm", "mix"}, "head": {"conv", "norm", "mix", "tokens", "head"}}[layer]
        assert {name.split(".")[0] for name in check.verified} == {"conv", "norm", "mix", "tokens", "head"} - before
        assert check.coupled == ("head" if layer == "head" else None)

    @pytest.mark.parametrize("parts", [(0, 4), (2, 6)])
    def test_two_environments_that_meet_in_one_row_alone(self, parts):
        def losses(model):
            output = model(self.x)
            mixed = output.clone()
            mixed[parts[0]] = output[parts[0]] + 0.01 * output[parts[1]]
            return squared(mixed, self.y)

        check, _ = self.check(self.network(), losses)
        assert not check.verified
        assert check.coupled == "head"

    def test_rows_in_another_order(self):
        check, _ = self.check(self.network(), lambda model: squared(model(self.x.flip(0)).flip(0), self.y))
        assert (check.verified, check.coupled, check.final) == (frozenset(), None, True)

    @pytest.mark.parametrize("factor", [1.01, -1.0])
    @pytest.mark.parametrize("layer", ["conv", "norm", "mix", "tokens", "head"])
    def test_an_output_that_a_hook_rescales_out_of_our_sight(self, layer, factor):
        model = self.network()

        def losses(model):
            getattr(model, layer).register_forward_hook(lambda _, args, output: factor * output, prepend=True)
            return self.losses(model)

        check, calls = self.check(model, losses)
        assert calls - check.verified == {name for name in calls if name.startswith(layer)}
        assert check.coupled is None

    @pytest.mark.parametrize(
        ("layer", "role"),
        [("conv", "weight"), ("conv", "bias"), ("norm", "weight"), ("mix", "weight"), ("mix", "bias"), ("tokens", "weight")],
    )
    @pytest.mark.parametrize("defect", ["factor", "one component", "rows exchanged"])
    def test_a_formula_that_is_wrong(self, layer, role, defect, monkeypatch):
        model = self.network()
        formula = formulas_of(getattr(model, layer))[role]
        right = type(formula).add

        def wrong(self, sums, use, groups):
            right(self, sums, use, groups)
            if defect == "factor":
                sums.gradient *= 1 + 1e-4
            elif defect == "one component":
                sums.gradient.view(-1)[2] += 1e-3 * sums.gradient.norm()
            else:
                sums.gradient[[0, 1]] = sums.gradient[[1, 0]]

        monkeypatch.setattr(type(formula), "add", wrong)
        check, calls = self.check(model, self.losses)
        same = {
            f"{other}.{key}"
            for other in ("conv", "norm", "mix", "tokens", "head")
            for key, found in self.formulas(model, other)
            if type(found).add is wrong
        }
        assert calls - check.verified == same & calls
        assert f"{layer}.{role}" in same

    @staticmethod
    def formulas(model, layer):
        return formulas_of(getattr(model, layer)).items()

    @pytest.mark.parametrize("factor", [0.0, float("inf")])
    def test_a_gradient_that_is_nought_or_overflows_settles_nothing(self, factor):
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()

            @staticmethod
            def backward(ctx, gradient):
                return gradient * factor

        def losses(model):
            model.mix.register_forward_hook(lambda _, args, output: Scaled.apply(output))
            return self.losses(model)

        check, _ = self.check(self.network(), losses)
        assert not check.final
        assert check.verified == {"tokens.weight", "head.weight", "head.bias"}

    def test_no_two_layers_output_gradients_are_held(self):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = nn.Sequential(*[nn.Sequential(nn.Linear(5, 5), nn.Tanh()) for _ in range(8)]).double()
        alive, most = [], []

        def watch(delta):
            alive.append(weakref.ref(delta.untyped_storage()))
            most.append(sum(storage() is not None for storage in alive))

        def losses(model):
            for pair in model:
                pair[0].register_forward_hook(lambda _, args, output: output.register_hook(watch) and None)
            return squared(model(self.x[:, 0])[:, :3], self.y)

        check, calls = self.check(model, losses)
        assert check.verified == calls
        assert len(most) == 16  # two passes
        assert max(most) <= 3  # a pass holds the one that it makes from the one before; the first layer's stays to its end
