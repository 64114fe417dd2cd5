"""Micro-batches of environments."""

import pytest
import torch
from torch import nn

import oracles
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, SandMask, SignalToNoiseMask, XorMask
from small_models import batch, make, squared

RULES = {
    "mean": Mean(), "and-mask": AndMask(0.6), "geometric mean": GeometricMean(0.6), "xor-mask": XorMask(0.6),
    "sand-mask": SandMask(0.2), "signal-to-noise": SignalToNoiseMask(0.6),
}  # fmt: skip


class TestAccumulation:
    """Micro-batches of environments: statistics add up, and the rule is applied once."""

    def setup_method(self):
        self.model, self.twin = make("recurrent", 3), make("recurrent", 3)
        self.x, self.y, self.ids = batch(3, [0, 0, 1, 1, 1, 2, 3, 3])

    def losses(self, model, rows=slice(None)):
        return squared(model(self.x[rows]), self.y[rows])

    @pytest.mark.parametrize("rule", RULES)
    def test_equals_one_batch(self, rule):
        whole = Agreement(self.twin, RULES[rule])
        expected = whole.backward(self.losses(self.twin), self.ids)
        agreement = Agreement(self.model, RULES[rule])
        for rows in (slice(0, 2), slice(2, 6)):
            agreement.accumulate(self.losses(self.model, rows), self.ids[rows])
            assert all(p.grad is None for p in self.model.parameters())
        record = agreement.backward(self.losses(self.model, slice(6, 8)), self.ids[6:])
        assert record.environments.tolist() == [0, 1, 2, 3]
        torch.testing.assert_close(record.losses, expected.losses)
        assert record.share_by_parameter == pytest.approx(expected.share_by_parameter)
        for a, b in zip(self.model.parameters(), self.twin.parameters(), strict=True):
            assert (a.grad is None) == (b.grad is None)
            if a.grad is not None:
                torch.testing.assert_close(a.grad, b.grad, rtol=1e-12, atol=1e-15)

    def test_a_parameter_that_one_micro_batch_does_not_reach_counts_as_zero(self):
        model = nn.ModuleDict({"a": nn.Linear(5, 3), "b": nn.Linear(5, 3)}).double()
        x, y = self.x[:, 0], self.y
        agreement = Agreement(model, AndMask(1.0))
        agreement.accumulate(squared(model["a"](x[:2]), y[:2]), [0, 1])
        record = agreement.backward(squared(model["a"](x[2:4]) + model["b"](x[2:4]), y[2:4]), [2, 3])
        assert record.share_by_parameter["b.weight"] == 0  # two of four environments gave it no gradient at all
        assert agreement._accumulated is None

    def test_what_was_accumulated_survives_an_error_until_discarded(self):
        agreement = Agreement(self.model, AndMask(1.0))
        agreement.accumulate(self.losses(self.model, slice(0, 2)), self.ids[:2])
        with pytest.raises(ValueError, match=r"Found shape \(1,\)"):
            agreement.backward(self.losses(self.model, slice(2, 4)), [1])
        agreement.discard()
        record = agreement.backward(self.losses(self.model, slice(2, 8)), self.ids[2:])
        assert record.environments.tolist() == [1, 2, 3]

    def test_batch_norm_with_statistics_of_each_environment(self):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3)).double()
        x, y = self.x[:, 0], self.y
        groups = [slice(0, 2), slice(2, 5), slice(6, 8)]
        stacks = [torch.autograd.grad(squared(model(x[rows]), y[rows]).mean(), list(model.parameters())) for rows in groups]
        agreement = Agreement(model, AndMask(0.6), statistics="per-environment")
        for rows in groups[:-1]:
            agreement.accumulate(squared(model(x[rows]), y[rows]), self.ids[rows])
        record = agreement.backward(squared(model(x[groups[-1]]), y[groups[-1]]), self.ids[groups[-1]])
        assert set(record.paths.values()) == {"plain"}
        for parameter, *gradients in zip(model.parameters(), *stacks, strict=True):
            gradient, _ = oracles.combine("and-mask", torch.stack(gradients), "0.6")
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-12, atol=1e-15)
        with pytest.raises(ValueError, match=r"each call should hold one environment.*Found 4 environments.*accumulate"):
            agreement.accumulate(squared(model(x), y), self.ids)


def test_a_failure_while_combining_discards_what_was_accumulated():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 0, 1, 1])
    agreement = Agreement(model, AndMask(0.6))
    agreement.accumulate(squared(model(x), y), ids)
    output = model(x)
    with pytest.raises(FloatingPointError):
        agreement.backward((output - output.detach()).abs().sqrt().mean(1), ids + 2)  # loss 0, gradient infinite
    agreement.backward(squared(model(x), y), ids)
    stacks = oracles.stacked_gradients(model, squared, x, y, ids)
    gradient, _ = oracles.combine("and-mask", stacks["head.weight"], "0.6")
    torch.testing.assert_close(model.head.weight.grad, gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("rule", RULES)
def test_micro_batches_of_one_environment_are_one_environment(rule):
    """Signs are taken of the whole environment, not of its parts."""
    model, twin = make("mlp", 1), make("mlp", 1)
    x, y, ids = batch(1, [3, 3, 3, 3, 8, 8, 8, 5])
    expected = Agreement(twin, RULES[rule]).backward(squared(twin(x), y), torch.tensor([3, 3, 3, 3, 8, 8, 8, 9]))
    agreement = Agreement(model, RULES[rule])
    for first, last in ((0, 1), (1, 4), (4, 6)):
        agreement.accumulate(squared(model(x[first:last]), y[first:last]), ids[first:last])
    agreement.accumulate(squared(model(x[6:7]), y[6:7]), ids[6:7])
    record = agreement.backward(squared(model(x[7:]), y[7:]), ids[7:])
    assert record.environments.tolist() == [3, 8, 5]
    torch.testing.assert_close(record.losses, expected.losses)
    assert record.share_by_parameter == pytest.approx(expected.share_by_parameter)
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("hold", [False, True])
def test_parameters_that_moved_between_micro_batches_are_refused(hold):
    model = torch.nn.Linear(2, 1)
    agreement = Agreement(model, AndMask(0.6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    agreement.accumulate(model(torch.ones(2, 2))[:, 0], [0, 0], hold=hold)
    optimizer.step()
    for call in (agreement.accumulate, agreement.backward):
        with pytest.raises(ValueError, match=r"Parameters should not change between .*before that step; discard\(\) forgets"):
            call(model(torch.ones(2, 2))[:, 0], [1, 1], hold=hold)
    agreement.discard()
    assert agreement.backward(model(torch.ones(2, 2))[:, 0], [0, 1]).share == 1.0


def test_an_id_that_was_complete_is_refused_and_what_was_accumulated_kept():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 0, 1, 1])
    agreement = Agreement(model, AndMask())
    agreement.accumulate(squared(model(x), y), ids)
    with pytest.raises(ValueError, match="Found environment 1 in an earlier call"):
        agreement.accumulate(squared(model(x[2:]), y[2:]), ids[2:])
    assert agreement.backward(squared(model(x), y), ids + 2).environments.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("ids", [["Ulm", "Ulm", "Bonn", "Kiel"], [("Ulm", 1), ("Ulm", 1), ("Ulm", 2), ("Bonn", 1)]])
def test_ids_of_any_kind_are_given_back(ids):
    model, twin = make("mlp", 0), make("mlp", 0)
    x, y, numbers = batch(0, [2, 2, 0, 1] if ids[0] == "Ulm" else [1, 1, 2, 0])
    record = Agreement(model, AndMask(0.6)).backward(squared(model(x), y), ids)
    Agreement(twin, AndMask(0.6)).backward(squared(twin(x), y), numbers)
    assert record.environments == tuple(sorted(set(ids)))
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(a.grad, b.grad)


def test_a_rule_that_reads_more_than_was_accumulated_is_refused():
    model = make("mlp", 0)
    x, y, ids = batch(0, [0, 0, 1, 1])
    agreement = Agreement(model, AndMask())
    agreement.accumulate(squared(model(x), y), ids)
    agreement.rule = SandMask()
    with pytest.raises(ValueError, match=r"Found SandMask\(.*reads sums of square.*Set the rule before"):
        agreement.backward(squared(model(x), y), ids + 2)
    assert all(p.grad is None for p in model.parameters())


def test_a_rule_that_reads_less_is_taken():
    model, twin = make("mlp", 0), make("mlp", 0)
    x, y, ids = batch(0, [0, 0, 1, 2])
    agreement = Agreement(model, SandMask())
    agreement.accumulate(squared(model(x[:2]), y[:2]), ids[:2])
    agreement.rule = AndMask(0.3)
    agreement.backward(squared(model(x[2:]), y[2:]), ids[2:])
    Agreement(twin, AndMask(0.3)).backward(squared(twin(x), y), ids)
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-12, atol=1e-15)
