"""Steps on which a verdict of an earlier call, or a probe, would be wrong: each is the definition's, in every call."""

import warnings
from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

from cpu_alone import cpu_alone
from definition_oracles import assert_definition, stacks_of
from mechlearn.agreement import Agreement, AndMask, Mean, Qualitative, StandardErrors
from one_layer import PAIRED, SPREAD, TWINS, B, Doubled, linear, noise

RULE = AndMask(0.6)
MEANT = "ignore:.*one backward pass for each environment"


def paths(record):
    return set(record.paths.values())


class TestRegroupedEnvironments:
    """A.1: nothing of one call is used in another."""

    @pytest.mark.filterwarnings(MEANT)
    @pytest.mark.parametrize("statistics", [None, "pooled"])
    def test_twins_inside_environments_first_and_across_them_then(self, statistics):
        model = linear()
        agreement = Agreement(model, AndMask(0.6), statistics=statistics)
        for call, ids in enumerate([PAIRED, SPREAD, PAIRED, SPREAD]):
            h = model(noise(B, 6, seed=call))
            record = assert_definition(agreement, h.square().sum(1) + 2 * (h * h[TWINS]).sum(1), ids)
            assert paths(record) == ({"layer"} if ids is PAIRED else {"per-environment"})


def permuted(model, x, call):
    order = torch.arange(B) if call == 0 else torch.randperm(B, generator=torch.Generator().manual_seed(call))
    return model(x[order]).tanh()[order.argsort()].square().sum(1)


def sorted_by_length(model, x, call):
    key = torch.arange(B) if call == 0 else x.sum(1)
    order = key.argsort()
    return model(model(x)[order])[order.argsort()].square().sum(1)


def hinge(model, x, call):
    h = model(x)
    gap = (h[:, None, 0] - h[None, :, 0]).abs()
    return h.square().sum(1) + functional.relu(gap - (1e3 if call == 0 else 0.1)).sum(1)


def masked_tokens(model, x, call):
    tokens = x.view(B, 2, 3)
    mask = torch.zeros(B, 2, dtype=torch.bool)
    mask[:, 0] = True  # as many tokens as examples
    if call:
        mask = noise(B, 2, seed=call) > 0
        mask[0] = True
    found = model(functional.pad(tokens[mask], (0, 3))).square().sum(1)
    return torch.zeros(B, dtype=x.dtype).index_add(0, mask.nonzero()[:, 0], found) + model(x).sum(1)


def experts(model, x, call):
    h = model(x)
    chosen = torch.arange(B) if call == 0 else (h.detach()[:, 0] > 0).nonzero()[:, 0]
    return (h + torch.zeros_like(h).index_add(0, chosen, model(h[chosen]))).square().sum(1)


def graph_network(model, x, call):
    """One node a graph first, then several."""
    owner = (
        torch.arange(B)
        if call == 0
        else torch.cat([torch.arange(B), torch.randint(0, B, (5,), generator=torch.Generator().manual_seed(call))])
    )
    nodes = model(noise(len(owner), 6, seed=call))
    return torch.zeros(B, 6, dtype=x.dtype).index_add(0, owner, nodes.tanh()).square().sum(1)


def functional_weight(model, x, call):
    c = 1.0 if call == 0 else 1.0 + call
    return torch.func.functional_call(model, {"weight": model.weight * c}, (x,)).square().sum(1)


def replaced_forward(model, x, call):
    model.forward = lambda x: functional.linear(x, model.weight, model.bias) * (1 if call == 0 else 3)
    return model(x).square().sum(1)


ROUTED = [permuted, sorted_by_length, hinge, masked_tokens, experts, graph_network, functional_weight, replaced_forward]


@pytest.mark.filterwarnings(MEANT)
@pytest.mark.parametrize("losses", ROUTED, ids=lambda f: f.__name__)
def test_what_is_benign_on_the_first_call_only(losses):
    model = linear()
    agreement = Agreement(model, AndMask(0.6))
    for call in range(4):
        record = assert_definition(agreement, losses(model, noise(B, 6, seed=call), call), [PAIRED, SPREAD][call % 2])
        if losses is not hinge:  # between examples of all environments
            assert paths(record) == {"layer"}


class TestNoToleranceHidesCoupling:
    """A.3: what is compared is the graph, not numbers."""

    def test_a_small_pair_term_under_autocast(self):
        model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 6))
        agreement = Agreement(model, AndMask(0.6))
        with torch.autocast("cpu", torch.bfloat16):
            h = model(noise(B, 6).float())
            losses = h.square().sum(1) + 0.1 * (h * h[TWINS]).sum(1)
        with pytest.warns(UserWarning, match=r"rows of different environments meet"):
            record = agreement.backward(losses.float(), SPREAD)
        assert paths(record) == {"per-environment"}

    @pytest.mark.filterwarnings(MEANT)
    def test_one_environment_that_is_a_thousand_times_louder(self):
        model = linear()
        h = model(noise(B, 6))
        partner = torch.tensor([0, 1, 4, 5, 2, 3, 6, 7])  # environments 1 and 2 meet
        loud = torch.where(torch.tensor(PAIRED) == 0, 1000.0, 1.0).double()
        losses = (h.square().sum(1) + (h * h[partner]).sum(1)) * loud
        assert paths(assert_definition(Agreement(model, AndMask(0.6)), losses, PAIRED)) == {"per-environment"}


class TestWhatIsNotProved:
    def setup_method(self):
        self.model = nn.Sequential(linear(), nn.Tanh(), linear())
        self.x = noise(B, 6)

    def losses(self):
        return self.model[2](Doubled.apply(self.model[1](self.model[0](self.x)))).square().sum(1)

    def test_takes_the_definition_and_warns_once_with_names_reason_and_cost(self):
        agreement = Agreement(self.model, AndMask(0.6))
        match = r"2 of 4 parameters .* here 4, .*'0.weight', '0.bias' \(DoubledBackward is not known to keep rows apart\)"
        with pytest.warns(UserWarning, match=match):
            record = assert_definition(agreement, self.losses(), PAIRED)
        assert record.paths == {
            "0.weight": "per-environment",
            "0.bias": "per-environment",
            "2.weight": "layer",
            "2.bias": "layer",
        }
        assert record.proved == "proved"
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_definition(agreement, self.losses(), PAIRED)

    def test_can_be_vouched_for(self):
        record = assert_definition(Agreement(self.model, AndMask(0.6), rows="independent"), self.losses(), SPREAD)
        assert paths(record) == {"layer"}
        assert record.proved == "declared"

    def test_vouching_says_nothing_where_nothing_is_unknown(self):
        losses = self.model(self.x).square().sum(1)
        assert assert_definition(Agreement(self.model, AndMask(0.6), rows="independent"), losses, SPREAD).proved == "proved"

    def test_explain_tells_path_reason_and_cost_and_changes_nothing(self):
        agreement = Agreement(self.model, AndMask(0.6))
        losses = self.losses()
        rows = {row.parameter: row for row in agreement.explain(losses, PAIRED)}
        assert (rows["2.weight"].path, rows["2.weight"].reason) == ("layer", "read by Addmm")
        assert rows["0.weight"].path == "per-environment"
        assert "DoubledBackward" in rows["0.weight"].reason
        assert rows["0.weight"].cost.startswith("4 backward passes")
        assert all(p.grad is None for p in self.model.parameters())
        losses.sum().backward()  # the graph is still there

    @pytest.mark.filterwarnings("ignore:All 8 losses belong")
    @pytest.mark.parametrize("ids", [PAIRED, [0] * len(PAIRED)])
    @pytest.mark.parametrize("given", [{}, {"keep": ["0.weight"]}, {"keep": "masks"}, {"normalise": "tensor"}])
    @pytest.mark.parametrize("rule", [AndMask(0.6), Mean(), Qualitative(errors=StandardErrors(every=2))])
    def test_explain_says_what_backward_does(self, rule, given, ids):
        if isinstance(rule, Qualitative) and "normalise" in given:
            return
        agreement = Agreement(self.model, rule, rows="independent", **given)
        for _ in range(3):
            losses = self.losses()
            explained = {row.parameter: row.path for row in agreement.explain(losses, ids)}
            assert explained == agreement.backward(losses, ids).paths

    def test_explanations_are_a_table(self):
        lines = str(Agreement(self.model, AndMask(0.6)).explain(self.losses(), PAIRED)).splitlines()
        assert lines[0].split() == ["parameter", "path", "reason", "cost"]
        assert len(lines) == 1 + len(list(self.model.parameters()))

    def test_a_rule_that_is_none(self):
        agreement = Agreement(self.model, AndMask(0.6))
        agreement.rule = "and-mask"
        with pytest.raises(TypeError, match="`rule` should"):
            agreement.explain(self.losses(), PAIRED)

    def test_unknown_rows(self):
        with pytest.raises(ValueError, match=r"`rows` should be None or .independent."):
            Agreement(self.model, AndMask(), rows="apart")


class TestBatchNorm:
    """A.7: decided by what the graph did."""

    def setup_method(self):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.model = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.Linear(4, 3)).double()
        self.x = noise(B, 6)

    def refused(self, losses, rule=RULE):
        with pytest.raises(ValueError, match=r"BatchNorm in train mode .* Found it in the graph"):
            Agreement(self.model, rule).backward(losses, PAIRED)
        assert all(p.grad is None for p in self.model.parameters())

    def test_called_by_another_method_than_forward(self):
        norm = self.model[1]
        h = functional.batch_norm(
            self.model[0](self.x), norm.running_mean, norm.running_var, norm.weight, norm.bias, training=True
        )
        self.refused(self.model[2](h).square().sum(1))

    def test_an_eval_pass_in_between(self):
        losses = self.model(self.x).square().sum(1)
        self.model.eval()
        self.model(self.x)
        self.refused(losses)

    def test_made_in_train_mode_and_used_in_eval_mode(self):
        agreement = Agreement(self.model.train(), AndMask(0.6))
        assert paths(assert_definition(agreement, self.model.eval()(self.x).square().sum(1), PAIRED)) == {"layer"}

    def test_the_mean_refuses_nothing(self):
        assert paths(Agreement(self.model, Mean()).backward(self.model(self.x).square().sum(1), PAIRED)) == {"plain"}

    def test_pooled_takes_the_definition_below_and_formulas_above(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it was asked for
            record = assert_definition(
                Agreement(self.model, AndMask(0.6), statistics="pooled"), self.model(self.x).square().sum(1), PAIRED
            )
        assert (record.paths["0.weight"], record.paths["2.weight"]) == ("per-environment", "layer")

    @cpu_alone("of squares and sums of what is normalised no gradient is left but rounding, which is each library's")
    def test_instance_norm_mixes_nothing(self):
        model = nn.Sequential(nn.Conv1d(3, 4, 1), nn.InstanceNorm1d(4, affine=True)).double()
        losses = model(noise(B, 3, 5)).square().mean((1, 2)) + model(noise(B, 3, 5)).mean((1, 2))
        assert paths(assert_definition(Agreement(model, AndMask(0.6)), losses, SPREAD)) == {"layer"}


class TestGraphsOfAllKinds:
    """Inputs of the check that was, and of section B: none is refused."""

    @pytest.mark.parametrize("seed", range(3))
    def test_a_frozen_weight_with_a_trained_bias_and_an_in_place_residual(self, seed):
        model = nn.Sequential(linear(), linear())
        for layer in model:
            layer.weight.requires_grad_(False)
        x = noise(B, 6, seed=seed)
        h = model[0](x)
        h += x
        losses = model[1](h).square().sum(1)
        assert paths(assert_definition(Agreement(model, AndMask(0.6)), losses, SPREAD)) == {"layer"}

    @pytest.mark.xfail(torch.__version__.startswith("2.9."), reason="torch 2.9 lets what is checkpointed be read once only")
    def test_checkpoints(self):
        model = nn.Sequential(linear(), nn.Tanh(), linear())
        x = noise(B, 6)
        losses = lambda: checkpoint(model, x, use_reentrant=False).square().sum(1)  # noqa: E731
        agreement = Agreement(model, AndMask(0.6))
        agreement.backward(losses(), SPREAD)
        found = [p.grad.clone() for p in model.parameters()]
        assert paths(assert_definition(agreement, losses(), SPREAD)) == {"layer"}
        for gradient, parameter in zip(found, model.parameters(), strict=True):
            torch.testing.assert_close(gradient, parameter.grad)

    def test_reentrant_checkpoints_are_refused_with_the_way_out(self):
        model = linear()
        losses = checkpoint(model, noise(B, 6).requires_grad_(), use_reentrant=True).square().sum(1)
        with pytest.raises(ValueError, match=r"Found a reentrant one.*use_reentrant=False"):
            Agreement(model, AndMask()).backward(losses, SPREAD)

    def test_selective_checkpoints_are_refused_with_the_way_out(self):
        model = nn.Sequential(linear(), nn.Tanh(), linear())
        contexts = partial(create_selective_checkpoint_contexts, [torch.ops.aten.addmm.default])
        x = noise(B, 6)
        for rule in (Mean(), AndMask(), Qualitative()):
            losses = checkpoint(model, x, use_reentrant=False, context_fn=contexts).square().sum(1)
            agreement = Agreement(model, rule)
            if rule == Mean():
                agreement.backward(losses, SPREAD)
                model.zero_grad()
                continue
            with pytest.raises(ValueError, match=r"Found selective activation checkpointing.*`context_fn`"):
                agreement.backward(losses, SPREAD)
            assert all(parameter.grad is None for parameter in model.parameters())

    def test_a_validation_pass_in_between_a_model_called_twice_and_one_made_before(self):
        model = linear()
        x = noise(B, 6)
        losses = model(x).square().sum(1) + model(x + 1).sum(1)
        agreement = Agreement(model, AndMask(0.6))
        with torch.no_grad():
            model(x)
        assert paths(assert_definition(agreement, losses, SPREAD)) == {"layer"}

    def test_losses_of_separate_forward_passes(self):
        model = linear()
        losses = torch.stack([model(row).square().sum() for row in noise(B, 6)])
        assert paths(assert_definition(Agreement(model, AndMask(0.6)), losses, SPREAD)) == {"layer"}

    def test_a_parameter_without_elements(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's own, of nothing to initialise
            model = nn.ModuleDict({"a": linear(), "b": nn.Linear(0, 6).double()})
        losses = model["a"](noise(B, 6)).square().sum(1) + model["b"](noise(B, 0)).sum(1)
        record = assert_definition(Agreement(model, AndMask(0.6)), losses, SPREAD)
        assert "b.weight" in record.share_by_parameter

    def test_gradients_that_vanish(self):
        model = nn.Sequential(linear(), nn.ReLU(), linear())
        nn.init.zeros_(model[2].weight)
        losses = model(noise(B, 6)).square().sum(1)
        assert paths(assert_definition(Agreement(model, AndMask(0.6)), losses, SPREAD)) == {"layer"}

    def test_a_dimension_that_happens_to_be_as_long_as_the_batch(self):
        class Positions(nn.Module):
            def __init__(self):
                super().__init__()
                self.tokens, self.positions, self.head = nn.Embedding(9, 6), nn.Embedding(B, 6), nn.Linear(6, 3)

            def forward(self, x):
                return self.head(torch.tanh(self.tokens(x) + self.positions(torch.arange(x.shape[1])))).mean(1)

        with torch.random.fork_rng():
            torch.manual_seed(0)
            model = Positions().double()
        tokens = torch.randint(0, 9, (B, B), generator=torch.Generator().manual_seed(0))
        assert paths(assert_definition(Agreement(model, AndMask(0.6)), model(tokens).square().sum(1), SPREAD)) == {"layer"}

    @pytest.mark.filterwarnings(MEANT)
    @pytest.mark.parametrize("strength", [1e-6, 0.3])
    def test_examples_that_meet_ever_so_slightly(self, strength):
        model = nn.Sequential(linear(), nn.Tanh(), linear())
        h = model[1](model[0](noise(B, 6)))
        losses = model[2](h + strength * h.flip(0)).square().sum(1)
        record = assert_definition(Agreement(model, AndMask(0.6)), losses, PAIRED)
        assert record.paths == {
            "0.weight": "per-environment",
            "0.bias": "per-environment",
            "2.weight": "layer",
            "2.bias": "layer",
        }

    @pytest.mark.filterwarnings(MEANT)
    def test_two_environments_that_meet_in_one_row_alone(self):
        model = linear()
        h = model(noise(B, 6))
        mixed = torch.cat([h[:1] + 0.01 * h[4:5], h[1:]])
        assert paths(assert_definition(Agreement(model, AndMask(0.6)), mixed.square().sum(1), PAIRED)) == {"per-environment"}

    def test_a_penalty_on_the_weights(self):
        model = linear()
        losses = model(noise(B, 6)).square().sum(1) + model.weight.norm()
        record = assert_definition(Agreement(model, AndMask(0.6)), losses, SPREAD)
        assert paths(record) == {"layer"}

    @pytest.mark.filterwarnings(MEANT)
    def test_a_loss_that_meets_others_later(self):
        model = linear()
        agreement = Agreement(model, AndMask(0.6))
        for call in range(4):
            h = model(noise(B, 6, seed=call))
            losses = h.square().sum(1) + (h - h.flip(0)).square().mean(1) * (call % 2)
            assert_definition(agreement, losses, PAIRED)

    def test_under_no_grad_as_plain_backward(self):
        model = linear()
        losses = model(noise(B, 6)).square().sum(1)
        stacks = stacks_of(losses, SPREAD, list(model.parameters()))
        with torch.no_grad():
            Agreement(model, AndMask(0.0)).backward(losses, SPREAD)
        torch.testing.assert_close(model.weight.grad, stacks[0].mean(0))
