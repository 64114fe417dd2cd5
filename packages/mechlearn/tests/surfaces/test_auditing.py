import pytest
import torch
from torch import nn

import oracles
from mechlearn.surfaces import Consistency, Subspace, audit
from small_models import batch, make, squared


def data(ids=(0, 0, 3, 3, 7, 7, 7)):
    x, y, found = batch(4, list(ids))
    return [(x, y, found)]


@pytest.mark.parametrize("name", ["mlp", "tied", "unusual"])
def test_against_stacked_gradients(name):
    model = make(name, 0)
    (x, y, ids) = data()[0]
    stacks = oracles.stacked_gradients(model, squared, x, y, ids)
    found = audit(model, squared, data())
    assert found.environments == (0, 3, 7)
    flat = torch.cat([g.flatten(1) for g in stacks.values()], dim=1)
    torch.testing.assert_close(torch.tensor(found.gradient_norms).double(), flat.norm(dim=1), rtol=1e-6, atol=0)
    for pair in found.pairs:
        a, b = (found.environments.index(e) for e in (pair.first, pair.second))
        assert pair.cosine == pytest.approx(float(flat[a] @ flat[b] / flat[a].norm() / flat[b].norm()))
        assert pair.opposed == pytest.approx(float((flat[a] * flat[b] < 0).double().mean()))
    assert [pair.cosine for pair in found.pairs] == sorted(pair.cosine for pair in found.pairs)
    by_name = {parameter.name: parameter for parameter in found.parameters}
    assert by_name.keys() == stacks.keys()
    for key, stack in stacks.items():
        g = stack.flatten(1)
        assert by_name[key].components == g.shape[1]
        assert by_name[key].agreement == pytest.approx(float(g.sign().mean(0).abs().mean()))
        assert by_name[key].unanimous == pytest.approx(float((g.sign().sum(0).abs() == 3).double().mean()))
        norm = float(g.norm(dim=1).sum())
        assert by_name[key].conflict == pytest.approx(1 - float(g.sum(0).norm()) / norm if norm else 0.0)
    conflicts = [parameter.conflict for parameter in found.parameters]
    assert conflicts == sorted(conflicts, reverse=True)


def test_batches_in_any_order_and_of_any_cut_give_the_same():
    model = make("mlp", 0)
    (x, y, ids) = data()[0]
    whole = audit(model, squared, data())
    order = torch.tensor([6, 2, 0, 5, 1, 4, 3])
    cut = [(x[rows], y[rows], ids[rows]) for rows in order.split([3, 1, 3])]
    found = audit(model, squared, cut)
    assert found.losses == pytest.approx(whole.losses)
    assert [pair.cosine for pair in found.pairs] == pytest.approx([pair.cosine for pair in whole.pairs])


def test_permuting_and_duplicating_environments():
    model = make("mlp", 0)
    (x, y, ids) = data()[0]
    plain = audit(model, squared, [(x, y, ids)])
    renamed = audit(model, squared, [(x, y, 10 - ids)])
    assert renamed.losses == pytest.approx(plain.losses[::-1])
    assert [p.conflict for p in renamed.parameters] == pytest.approx([p.conflict for p in plain.parameters])
    twice = audit(model, squared, [(x, y, ids), (x, y, ids + 20)])
    assert [p.conflict for p in twice.parameters] == pytest.approx([p.conflict for p in plain.parameters])
    assert [p.agreement for p in twice.parameters] == pytest.approx([p.agreement for p in plain.parameters])


class Counter(nn.Module):
    """Buffers that change with every call, dropout and BatchNorm."""

    def __init__(self):
        super().__init__()
        self.linear, self.norm, self.drop = nn.Linear(5, 3), nn.BatchNorm1d(3), nn.Dropout(0.5)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return self.drop(self.norm(self.linear(x[:, 0])))


def test_the_model_is_left_exactly_as_it_was():
    model = Counter().double().eval()
    model.linear.weight.grad = torch.ones_like(model.linear.weight)
    model.norm.bias.requires_grad_(False)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    stream = torch.random.get_rng_state()
    consistency = Consistency(epsilon=0.1, curvature="gauss-newton", ridge=0.1, not_minimum="ignore")
    found = audit(model, squared, data(), consistency)
    assert "norm.bias" not in {parameter.name for parameter in found.parameters}
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert torch.equal(model.linear.weight.grad, torch.ones_like(model.linear.weight))
    assert model.linear.bias.grad is None
    assert not model._forward_hooks
    assert torch.equal(stream, torch.random.get_rng_state())
    assert not model.training


def test_rows_join_gradients_and_score():
    model = make("mlp", 0)
    consistency = Consistency(epsilon=0.1, curvature="gauss-newton", ridge=0.1, not_minimum="ignore", search=Subspace(20))
    found = audit(model, squared, data(), consistency, torch.Generator().manual_seed(0), scored=(0, 7))
    rows = {(row["first"], row["second"]): row for row in found.pair_rows()}
    assert rows[0, 3]["first_stays_inconsistency"] is None
    values = [rows[0, 7]["first_stays_inconsistency"], rows[0, 7]["second_stays_inconsistency"]]
    assert max(values) == found.score.inconsistency
    assert rows[0, 7]["first_stays_walked"] > 0
    parameters = found.parameter_rows()
    start = found.score.inconsistency - sum(row["contribution"] for row in parameters)
    assert abs(start) == pytest.approx(abs(found.losses[0] - found.losses[2]), rel=1e-6)
    assert found.score.displacement.shape == (sum(p.numel() for p in model.parameters()),)


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(5, 3)

    def forward(self, x, scale=1.0):
        return self.linear(x[:, 0]) * scale[:, None]


def test_inputs_may_be_tuples_and_mappings():
    model = Named().double()
    (x, y, ids) = data()[0]
    scale = torch.linspace(0.5, 2, len(x)).double()
    by_position = audit(model, squared, [((x, scale), y, ids)])
    by_name = audit(model, squared, [({"x": x, "scale": scale}, y, ids.tolist())])
    assert by_position.losses == by_name.losses


class TestBadInput:
    def test_one_environment(self):
        with pytest.raises(ValueError, match=r"at least two.*Found 1"):
            audit(make("mlp", 0), squared, data([2, 2, 2]))

    def test_an_iterator_that_is_used_up(self):
        with pytest.raises(ValueError, match=r"again and again.*iterator"):
            audit(make("mlp", 0), squared, iter(data()))

    def test_no_data(self):
        with pytest.raises(ValueError, match="Found none"):
            audit(make("mlp", 0), squared, [])

    def test_a_model_in_train_mode(self):
        with pytest.raises(ValueError, match=r"BatchNorm or dropout in train mode: 'norm'.*eval"):
            audit(Counter().double(), squared, data())

    def test_a_frozen_model_and_one_of_two_types(self):
        with pytest.raises(ValueError, match="requires a gradient"):
            audit(make("mlp", 0).requires_grad_(False), squared, data())
        model = make("mlp", 0)
        model.head.float()
        with pytest.raises(ValueError, match="one type and device"):
            audit(model, squared, data())

    def test_a_reduced_loss(self):
        with pytest.raises(ValueError, match=r"one unreduced loss.*Found shape \(\)"):
            audit(make("mlp", 0), lambda output, y: squared(output, y).mean(), data())


def test_what_is_not_finite_is_refused_with_its_environment():
    model = nn.Linear(2, 1)
    x = torch.ones(4, 2)
    x[2, 0] = float("nan")
    with pytest.raises(FloatingPointError, match=r"Found a loss of nan in environment 3"):
        audit(model, lambda output, y: (output[:, 0] - y).square(), [(x, torch.ones(4), [0, 0, 3, 3])])
    zeros = torch.zeros(2, 2)  # whose root has an infinite slope
    with pytest.raises(FloatingPointError, match=r"Found a gradient with NaN or infinity in environment 0"):
        audit(nn.Linear(2, 1, bias=False), lambda output, y: output[:, 0].abs().sqrt(), [(zeros, zeros, [0, 1])])


@pytest.mark.parametrize("size", [1e-26, 1e25])
def test_gradients_whose_squares_leave_the_type(size):
    model, x = nn.Linear(2, 1, bias=False), torch.tensor([[1.0, 2.0]]).expand(2, 2)
    batches = [(x, torch.tensor([1.0, -1.0]), [0, 1])]
    with torch.no_grad():
        found = audit(model, lambda out, y: size * out[:, 0] * y, batches)
    assert found.pairs[0].cosine == pytest.approx(-1)
    assert found.parameters[0].conflict == pytest.approx(1)
    assert found.gradient_norms == pytest.approx([size * 5**0.5] * 2)
