import math

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import one_hot

import control_finite_oracles as oracle
from mechlearn_zoo.methods.control.crar import Abstraction, Planner, Transitions, crar_losses
from mechlearn_zoo.tasks.finite.grids import two_rooms


def networks(seed=0, d=3, actions=4):
    torch.manual_seed(seed)
    heads = [nn.Linear(d + actions, size, dtype=torch.float64) for size in (d, 1, 1)]

    def model(head):
        def function(x, a):
            found = head(torch.cat([x, a], 1)).tanh()
            return found.squeeze(1) if found.shape[1] == 1 else found

        return function

    encoder, q = nn.Linear(5, d, dtype=torch.float64), nn.Sequential(nn.Linear(d, actions, dtype=torch.float64), nn.Tanh())
    return Abstraction(encoder, q, *(model(head) for head in heads))


def literal(own, actions=4):
    def single(model):
        return lambda x, a: model(x.unsqueeze(0), one_hot(torch.tensor([a]), actions).double())[0]

    return lambda x: own.q(x.unsqueeze(0))[0], single(own.transition), single(own.reward), single(own.discount)


@pytest.mark.parametrize(("depth", "breadth"), [(0, 1), (1, 2), (3, 2), (2, 4), (4, 1)])
def test_a_plan_is_the_recursion(depth, breadth):
    own = networks()
    x = torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    planner = Planner(own.q, own.transition, own.reward, own.discount, depth, breadth)
    found = planner.depths(x)
    with torch.no_grad():
        for m in range(depth + 1):
            # Below the first level the best `breadth` actions are followed.
            wanted = [[oracle.crar_plan(row, a, m, breadth, literal(own)) for a in range(4)] for row in x]
            np.testing.assert_allclose(found[m], wanted, atol=1e-13)
    torch.testing.assert_close(planner(x), found.mean(0))
    torch.testing.assert_close(
        Planner(own.q, own.transition, own.reward, own.discount, depth, breadth, combine="sum")(x), found.sum(0)
    )


def test_with_an_exact_model_depths_are_value_iteration():
    grid = two_rooms(7)
    mdp = grid.mdp({(1, 1): 1.0, (5, 5): 0.3}, (1, 5), 0.9)
    table = torch.randn(len(grid), 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    goes_on = 0.9 * (1 - mdp.ending)

    def read(values):
        return lambda x, a: torch.einsum("ns,sa,na->n", x, values, a)

    def moved(x, a):
        return torch.einsum("ns,sat,na->nt", x, grid.transitions(), a) - x

    planner = Planner(lambda x: x @ table, moved, read(mdp.rewards), read(goes_on), 5, breadth=4)
    found = planner.depths(torch.eye(len(grid), dtype=torch.float64))
    q = table
    for m in range(6):
        torch.testing.assert_close(found[m], q, rtol=0, atol=1e-13)
        q = mdp.backup(q.max(1).values)


def batch(n=6):
    generator = torch.Generator().manual_seed(3)
    observations, after = (torch.randn(n, 5, dtype=torch.float64, generator=generator) for _ in range(2))
    actions = torch.randint(4, (n,), generator=generator)
    return Transitions(observations, actions, torch.randn(n, dtype=torch.float64, generator=generator), actions == 0, after)


@torch.no_grad()
def test_losses_are_the_literal_sums():
    own, target, some = networks(0), networks(1), batch()
    directions = torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    found = crar_losses(own, target, some, torch.Generator().manual_seed(5), discount=0.8, scale=2.0, directions=directions)
    wanted = dict.fromkeys(found, 0.0)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(5)).tolist()
    x, after = own.encoder(some.observations), own.encoder(some.after)
    for i in range(6):
        a = one_hot(some.actions[i : i + 1], 4).double()
        row, end = x[i : i + 1], bool(some.terminated[i])
        change = own.transition(row, a)[0]
        best = int(own.q(after[i : i + 1])[0].argmax())
        ahead = 0.0 if end else float(target.q(target.encoder(some.after[i : i + 1]))[0, best])
        other = x[order[order.index(i) - 1]]
        terms = {
            "transition": 0.0 if end else sum((x[i] + change - after[i]) ** 2),
            "reward": (own.reward(row, a)[0] - some.rewards[i]) ** 2,
            "discount": (own.discount(row, a)[0] - (0.0 if end else 0.8)) ** 2,
            "q": (own.q(row)[0, some.actions[i]] - some.rewards[i] - 0.8 * ahead) ** 2,
            "spread": math.exp(-2 * (x[i] - other).norm()) + 0.2 * math.exp(-2 * (x[i] - after[i]).norm()),
            "bound": max(float(max(x[i] ** 2)) - 1, 0.0),
            "interpretable": -(change @ directions[some.actions[i]]) / change.norm() / directions[some.actions[i]].norm(),
        }
        for name, value in terms.items():
            wanted[name] += float(value) / 6
    assert {name: float(value.detach()) for name, value in found.items()} == pytest.approx(wanted, abs=1e-12)


def test_where_an_episode_ended_nothing_may_follow():
    """NaN there is left out: losses that ask for what followed are those of the transitions that something followed."""
    own, target, some = networks(0), networks(1), batch()
    over, generator = some.terminated, torch.Generator()
    assert 0 < int(over.sum()) < 6
    wanted = crar_losses(own, target, some, generator.manual_seed(5), discount=0.8, scale=2.0)
    for nothing in (torch.nan, torch.inf):
        ended = some._replace(after=some.after.masked_fill(over[:, None], nothing))
        found = crar_losses(own, target, ended, generator.manual_seed(5), discount=0.8, scale=2.0)
        for name in ("transition", "reward", "discount", "q", "bound"):
            assert torch.equal(found[name], wanted[name])
        x, after = own.encoder(some.observations), own.encoder(some.after)
        apart = torch.exp(-2 * (x - after).norm(dim=1))
        others = wanted["spread"] - 0.2 * apart.mean()
        torch.testing.assert_close(found["spread"], others + 0.2 * apart[~over].mean())
        own.encoder.zero_grad()
        sum(found.values()).backward()
        assert own.encoder.weight.grad.isfinite().all()
    every = some._replace(terminated=torch.ones(6, dtype=torch.bool), after=torch.full_like(some.after, torch.nan))
    assert all(loss.isfinite() for loss in crar_losses(own, target, every, generator).values())


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda b: {"after": b.after.index_fill(0, torch.tensor([4]), torch.nan)}, "`after` should be finite.*in transition 4"),
        (lambda b: {"observations": b.observations * torch.nan}, r"`observations` should be finite. Found nan at \(0, 0\)"),
        (lambda b: {"rewards": b.rewards * torch.inf}, "`rewards` should be finite"),
    ],
)
def test_what_is_not_finite_is_refused(change, sentence):
    own, some = networks(), batch()
    some = some._replace(terminated=torch.zeros(6, dtype=torch.bool))
    with pytest.raises(ValueError, match=sentence):
        crar_losses(own, own, some._replace(**change(some)), torch.Generator())


def test_gradients_reach_every_network_but_the_targets():
    own, target = networks(0), networks(1)
    sum(crar_losses(own, target, batch(), torch.Generator()).values()).backward()
    assert own.encoder.weight.grad.abs().sum() > 0
    assert target.encoder.weight.grad is None


def test_equal_observations_have_a_finite_gradient():
    own, some = networks(0), batch()
    same = some._replace(observations=some.observations[:1].expand(6, -1), after=some.observations[:1].expand(6, -1))
    crar_losses(own, own, same, torch.Generator())["spread"].backward()
    assert own.encoder.weight.grad.isfinite().all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda own: Planner(own.q, own.transition, own.reward, own.discount, -1), "`depth` should be at least 0"),
        (lambda own: Planner(own.q, own.transition, own.reward, own.discount, 1, 5)(torch.zeros(1, 3).double()), "at most 4"),
        (lambda own: crar_losses(own, own, batch(1), torch.Generator()), "two observations or more"),
        (lambda own: crar_losses(own, own, batch(), torch.Generator(), discount=1.2), "lie in"),
    ],
)
def test_bad_input_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(networks())


def with_column(name, own):
    """The abstraction with a network that ends in one unit, as a linear layer does, and no squeeze behind it."""
    parts = {key: getattr(own, key) for key in ("encoder", "q", "transition", "reward", "discount")}
    return Abstraction(**{**parts, name: lambda *inputs: parts[name](*inputs).unsqueeze(1)})


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        (lambda b: {"rewards": b.rewards.unsqueeze(1)}, ValueError, r"`rewards` should have the shape \(6,\). Found \(6, 1\)"),
        (
            lambda b: {"terminated": b.terminated.long()},
            TypeError,
            r"`terminated` should hold booleans. Found torch.int64.*bool",
        ),
        (lambda b: {"terminated": b.terminated.to(torch.uint8)}, TypeError, "Found torch.uint8"),
        (lambda b: {"terminated": b.terminated.unsqueeze(1)}, ValueError, r"`terminated` should have the shape \(6,\)"),
        (lambda b: {"actions": b.actions.unsqueeze(1)}, ValueError, r"`actions` should have the shape \(6,\)"),
        (lambda b: {"actions": b.actions.double()}, TypeError, "`actions` should hold whole numbers"),
        (lambda b: {"actions": b.actions + 1}, ValueError, "`actions` should be numbers from 0 to 3. Found 1 to 4"),
        (lambda b: {"after": b.after[:5]}, ValueError, r"`after` should have the shape \(6, 5\). Found \(5, 5\)"),
    ],
)
def test_parts_of_a_batch_that_do_not_fit_are_refused(change, error, sentence):
    own, some = networks(), batch()
    some = some._replace(actions=torch.tensor([0, 3, 1, 2, 3, 0]))
    with pytest.raises(error, match=sentence):
        crar_losses(own, own, some._replace(**change(some)), torch.Generator())


@pytest.mark.parametrize("name", ["q", "transition", "reward", "discount"])
def test_networks_of_another_shape_are_refused(name):
    own = networks()
    with pytest.raises(ValueError, match=rf"`{name}` should have the shape \(6,.*Found \(6, 1.*\.squeeze\(1\)"):
        crar_losses(with_column(name, own), own, batch(), torch.Generator())


def test_whole_numbers_of_any_type_are_actions():
    own, some = networks(), batch()
    wanted, found = (
        crar_losses(own, own, some._replace(actions=some.actions.to(dtype)), torch.Generator().manual_seed(0))
        for dtype in (torch.int64, torch.int32)
    )
    assert all(torch.equal(wanted[name], found[name]) for name in wanted)
