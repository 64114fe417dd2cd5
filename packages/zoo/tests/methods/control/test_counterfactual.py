import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

import control_finite_oracles as oracle
from mechlearn_zoo.methods.control.counterfactual import (
    Episodes,
    Scenarios,
    counterfactual_rollouts,
    evaluate,
    log_likelihood,
    posterior,
    rollouts,
)
from mechlearn_zoo.tasks.finite.scenarios import levels


def library(count=12, size=4, seed=0, glimpse=0.15):
    found = levels(count, torch.Generator().manual_seed(seed), size, walls=0.2, pits=0.1)
    prior = torch.rand(count, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + 1))
    return Scenarios(found.next, found.picture, found.rewards, found.ends, prior / prior.sum(), found.start, glimpse)


def uniform(view, generator):
    actions = torch.randint(4, view.cells.shape, generator=generator)
    return actions, torch.full(actions.shape, -np.log(4))


def logged(scenarios, count=40, steps=6, seed=2):
    generator = torch.Generator().manual_seed(seed)
    chosen = torch.multinomial(scenarios.prior, count, replacement=True, generator=generator)
    return rollouts(scenarios, chosen, uniform, steps, generator)


def literal_history(episodes, b, steps):
    found = []
    for t in range(steps):
        if episodes.alive[t, b]:
            glimpses = {s: int(episodes.known[t, b, s]) for s in torch.nonzero(episodes.glimpsed[t, b]).flatten().tolist()}
            ended = None if t + 1 == len(episodes.alive) else not episodes.alive[t + 1, b]
            where = int(episodes.cells[t, b]), glimpses, int(episodes.actions[t, b]), int(episodes.cells[t + 1, b])
            found.append((*where, float(episodes.rewards[t, b]), ended))
    return found


@pytest.mark.parametrize("steps", [0, 1, 3, 6, 9])
def test_the_posterior_is_enumerated(steps):
    scenarios = library()
    episodes = logged(scenarios)
    found = posterior(scenarios.prior, log_likelihood(scenarios, episodes, steps))
    for b in range(40):
        history = literal_history(episodes, b, min(steps, 6))
        worlds = (part.tolist() for part in (scenarios.picture, scenarios.next, scenarios.rewards, scenarios.ends))
        wanted = oracle.joint_posterior(scenarios.prior.tolist(), *worlds, history)
        np.testing.assert_allclose(found[b], wanted, atol=1e-14)
    if steps == 0:
        torch.testing.assert_close(found, scenarios.prior.expand(40, -1))


def test_misreading_softens_the_posterior():
    scenarios = library()
    soft = log_likelihood(scenarios, logged(scenarios), 3, misread=0.1)
    hard = log_likelihood(scenarios, logged(scenarios), 3)
    assert ((hard == 0) <= (soft > -torch.inf)).all()
    assert (soft > -torch.inf).sum() > (hard > -torch.inf).sum()


def test_episodes_are_what_the_scenarios_say():
    scenarios = library()
    episodes = logged(scenarios)
    for b in range(40):
        k, cell, alive = int(episodes.scenarios[b]), scenarios.start, True
        for t in range(6):
            assert bool(episodes.alive[t, b]) == alive
            if not alive:
                assert episodes.rewards[t, b] == 0
                continue
            cell = int(scenarios.next[k, cell, episodes.actions[t, b]])
            assert episodes.cells[t + 1, b] == cell
            assert episodes.rewards[t, b] == scenarios.rewards[k, cell]
            alive = not scenarios.ends[k, cell]
            known = episodes.glimpsed[: t + 1, b].any(0)
            assert (episodes.known[t, b] == torch.where(known, scenarios.picture[k], -1)).all()


def three_worlds():
    """Two cells to walk between and a goal that three worlds have at different ends; one action may end it."""
    after = torch.tensor([[[0, 1], [0, 2], [2, 2]], [[1, 0], [2, 0], [2, 2]], [[0, 0], [1, 2], [2, 2]]])
    picture = torch.tensor([[0, 1, 3], [0, 2, 3], [0, 1, 3]])
    rewards, ends = torch.tensor([[0.0, 0.1, 1.0], [0.0, -0.2, 1.0], [0.0, 0.3, 2.0]]), torch.tensor([[0.0, 0, 1]] * 3)
    return Scenarios(after, picture, rewards, ends, torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64), 0, 0.3)


def three_ends(pays):
    """The same pictures in all worlds, and moves in two; where an episode ends differs, and, if wanted, what a cell pays."""
    after, picture = torch.tensor([[[1, 2], [2, 0], [0, 1]]] * 2 + [[[1, 2], [0, 2], [0, 1]]]), torch.tensor([[0, 1, 2]] * 3)
    ends = torch.tensor([[0.0, 1, 0], [0.0, 0, 1], [0.0, 0, 0]])
    rewards = torch.tensor([[0.0, 0.3, 1.0]] * 3) + pays * torch.tensor([[0.0, 0, 0], [0, -0.2, -0.5], [1, 0, 0]])
    return Scenarios(after, picture, rewards, ends, torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64), 0, 0.3)


@pytest.mark.parametrize("scenarios", [three_worlds(), three_ends(0.0), three_ends(0.7)])
def test_lemma_one_by_enumeration(scenarios):
    """E_h[sum_k p(k | h) V_k] = sum_k p(k) V_k exactly, over all histories of two steps of a policy and all glimpses."""
    generator = torch.Generator()
    policy = torch.tensor([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]], dtype=torch.float64)
    values = scenarios.process(0.9).objective(policy)
    total = counterfactual = 0.0
    for k, actions, masks in itertools.product(range(3), itertools.product(range(2), repeat=2), range(2**4)):
        seen = torch.tensor([bool(masks >> bit & 1) for bit in range(4)]).view(2, 1, 2)
        seen = torch.cat([torch.zeros(2, 1, 1, dtype=torch.bool), seen], 2)  # the first cell looks the same in all worlds
        order = iter(actions)

        def scripted(view, _, order=order):
            return torch.tensor([next(order)]), torch.zeros(1)

        one = rollouts(scenarios, torch.tensor([k]), scripted, 2, generator.manual_seed(0), glimpsed=seen)
        # The logged policy picks actions evenly, whatever it sees; glimpses are independent.
        chance = float(scenarios.prior[k]) * 0.25 * 0.3 ** int(seen.sum()) * 0.7 ** int((~seen[..., 1:]).sum())
        found = evaluate(values, posterior(scenarios.prior, log_likelihood(scenarios, one, 2)))
        total += chance
        counterfactual += chance * found.value
    assert total == pytest.approx(1, abs=1e-12)
    assert counterfactual == pytest.approx(float(scenarios.prior @ values), abs=1e-12)


def first_action(view, _):
    return torch.zeros_like(view.cells), torch.zeros(len(view.cells))


def test_how_an_episode_ends_is_evidence():
    """The same move in all three: one ends there and pays, two go on to different cells."""
    after = torch.tensor([[[1], [2], [2], [3]], [[1], [2], [2], [3]], [[1], [3], [2], [3]]])
    ends = torch.zeros(3, 4)
    ends[0, 1] = 1
    for rewards in (ends.clone(), torch.zeros(3, 4)):
        scenarios = Scenarios(after, torch.zeros(3, 4, dtype=torch.long), rewards, ends, torch.full((3,), 1 / 3), 0, 0.0)
        episodes = rollouts(scenarios, torch.tensor([0, 1, 2]), first_action, 2, torch.Generator().manual_seed(0))
        assert posterior(scenarios.prior, log_likelihood(scenarios, episodes, 2)).tolist() == torch.eye(3).tolist()
        one = posterior(scenarios.prior, log_likelihood(scenarios, episodes, 1))
        torch.testing.assert_close(one, torch.tensor([[1, 0, 0], [0, 0.5, 0.5], [0, 0.5, 0.5]], dtype=torch.float64))


def test_what_the_last_step_paid_is_evidence_and_whether_it_ended_nobody_knows():
    after, picture = torch.tensor([[[1], [1]]] * 3), torch.zeros(3, 2, dtype=torch.long)
    rewards, ends = torch.tensor([[0.0, 1.0], [0.0, 2.0], [0.0, 1.0]]), torch.tensor([[0.0, 1], [0.0, 1], [0.0, 0]])
    scenarios = Scenarios(after, picture, rewards, ends, torch.tensor([0.2, 0.4, 0.4], dtype=torch.float64), 0, 0.0)
    episodes = rollouts(scenarios, torch.tensor([0, 1, 2]), first_action, 1, torch.Generator())
    found = posterior(scenarios.prior, log_likelihood(scenarios, episodes, 1))
    third = [1 / 3, 0, 2 / 3]
    torch.testing.assert_close(found, torch.tensor([third, [0, 1, 0], third], dtype=torch.float64))


def test_a_log_in_another_type_is_no_contradiction():
    after, ends = torch.tensor([[[1], [1]]] * 2), torch.zeros(2, 2)
    rewards = torch.tensor([[0.0, 0.1], [0.0, 0.2]], dtype=torch.float64)
    scenarios = Scenarios(after, after[..., 0], rewards, ends, torch.tensor([0.5, 0.5]))
    episodes = rollouts(scenarios, torch.tensor([0, 1]), first_action, 3, torch.Generator())
    for ours in (scenarios, replace(scenarios, rewards=rewards.float())):
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            log = episodes._replace(rewards=episodes.rewards.to(dtype))
            assert posterior(ours.prior, log_likelihood(ours, log, 3)).tolist() == [[1, 0], [0, 1]]


def test_without_evidence_it_is_the_model_and_with_all_the_truth():
    scenarios = library(glimpse=1.0)
    episodes, values = logged(scenarios), scenarios.process(0.95).objective(torch.full((16, 4), 0.25))
    model = evaluate(values, posterior(scenarios.prior, log_likelihood(scenarios, episodes, 0)))
    assert model.value == pytest.approx(float(scenarios.prior @ values), abs=1e-12)
    assert model.error == pytest.approx(0, abs=1e-12)
    truth = evaluate(values, posterior(scenarios.prior, log_likelihood(scenarios, episodes, 1)))
    assert truth.value == pytest.approx(float(values[episodes.scenarios].mean()), abs=1e-12)


def test_values_of_the_processes_are_those_of_roll_outs():
    scenarios, generator = library(), torch.Generator().manual_seed(0)
    chosen = torch.arange(12).repeat_interleave(800)
    found = rollouts(scenarios, chosen, uniform, 60, generator).returns(0.9).view(12, 800)
    wanted = scenarios.process(0.9).objective(torch.full((16, 4), 0.25))
    assert ((found.mean(1) - wanted).abs() < 4.5 * found.std(1) / 800**0.5 + 0.005).all()


def test_a_counterfactual_keeps_its_evidence():
    scenarios = library(glimpse=0.5)
    episodes = logged(scenarios)
    beliefs = posterior(scenarios.prior, log_likelihood(scenarios, episodes, 1))
    again = counterfactual_rollouts(scenarios, episodes, beliefs, uniform, 6, torch.Generator().manual_seed(5), evidence=1)
    assert torch.equal(again.glimpsed[0], episodes.glimpsed[0])
    assert torch.equal(again.known[0], episodes.known[0])
    assert (beliefs.gather(1, again.scenarios[:, None]) > 0).all()
    assert not torch.equal(again.actions, episodes.actions)


def test_what_nobody_explains_is_refused_or_falls_back():
    scenarios = library()
    impossible = torch.zeros(3, 12)
    impossible[1] = -torch.inf
    with pytest.raises(ValueError, match=r"none for episode 1. Allow"):
        posterior(scenarios.prior, impossible)
    torch.testing.assert_close(posterior(scenarios.prior, impossible, unexplained="prior")[1], scenarios.prior)
    with pytest.raises(ValueError, match="NaN in episode 0"):
        posterior(scenarios.prior, torch.full((1, 12), torch.nan))
    impossible[1] = torch.inf
    with pytest.raises(ValueError, match=r"numbers or -inf\. Found inf in episode 1"):
        posterior(scenarios.prior, impossible)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("shape", [(3, 1), (12,), (12, 3), (3, 12, 1), (0, 12)])
def test_likelihoods_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"`log_likelihood` should have the shape \(B, 12\)"):
        posterior(library().prior, torch.zeros(shape))


@pytest.mark.usefixtures("as_installed")
def test_values_and_beliefs_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"`beliefs` should have the shape \(B, 12\). Found \(3, 11\)"):
        evaluate(torch.zeros(12), torch.zeros(3, 11))
    with pytest.raises(ValueError, match=r"`beliefs` should have the shape \(B, 12\). Found \(0, 12\)"):
        evaluate(torch.zeros(12), torch.zeros(0, 12))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"prior": torch.ones(12)}, "sum to 1. Found .* sum 12"),
        ({"prior": torch.ones(3) / 3}, r"`prior` \(K,\)"),
        ({"glimpse": 1.5}, "lie in"),
        ({"picture": torch.zeros(12, dtype=torch.long)}, "scenarios by cells"),
        ({"next": torch.full((12, 16, 4), 16)}, "cells from 0 to 15. Found 16"),
        ({"next": torch.zeros(12, 16, 0, dtype=torch.long)}, r"`next` should have the shape \(12, 16, A\)"),
        ({"ends": torch.full((12, 16), 0.5)}, r"`ends` should be 1 where arriving ends the episode, else 0.*Found 0\.5"),
        ({"ends": torch.full((12, 16), torch.nan)}, "`ends` should be 1 .*Found nan"),
        ({"rewards": torch.full((12, 16), torch.nan)}, r"`rewards` should be finite\. Found nan at \(0, 0\)"),
        ({"rewards": torch.full((12, 16), torch.inf)}, "`rewards` should be finite"),
    ],
)
def test_bad_libraries_are_refused(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        replace(library(), **changes)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("name", ["next", "picture"])
def test_cells_and_pictures_are_whole_numbers(name):
    with pytest.raises(TypeError, match=rf"`{name}` should hold whole numbers. Found torch.float32"):
        replace(library(), **{name: getattr(library(), name).float()})


def test_bad_roll_outs_are_refused():
    scenarios, generator = library(), torch.Generator()
    with pytest.raises(ValueError, match=r"scenarios from 0 to 11"):
        rollouts(scenarios, torch.tensor([12]), uniform, 2, generator)
    with pytest.raises(ValueError, match="`steps`"):
        rollouts(scenarios, torch.tensor([0]), uniform, 0, generator)
    with pytest.raises(TypeError, match=r"."):
        rollouts(scenarios, torch.tensor([0]), uniform, 2, None)
    assert isinstance(rollouts(scenarios, torch.tensor([0]), uniform, 2, generator), Episodes)


def glimpsed_all(pictures):
    """Two worlds of three cells in a row, whose pictures are all seen, and an episode of two steps in the first."""
    after = torch.tensor([[[1], [2], [2]]] * 2)
    even = torch.tensor([0.5, 0.5], dtype=torch.float64)
    scenarios = Scenarios(after, torch.tensor(pictures), torch.zeros(2, 3), torch.zeros(2, 3), even, glimpse=1.0)

    def first(view, _):
        return torch.zeros_like(view.cells), torch.zeros(view.cells.shape)

    return scenarios, rollouts(scenarios, torch.tensor([0]), first, 2, torch.Generator().manual_seed(0))


def test_every_picture_counts():
    scenarios, episodes = glimpsed_all([[0, 5, 1], [0, 2, 1]])
    with pytest.raises(ValueError, match=r"`scenarios.picture` should be numbers from 0 to 3\. Found 0 to 5\. Pass as many"):
        log_likelihood(scenarios, episodes, 2)
    found = log_likelihood(scenarios, episodes, 2, misread=0.1, pictures=6)
    wanted = [3 * np.log(0.9), 2 * np.log(0.9) + np.log(0.02)]
    np.testing.assert_allclose(found[0], wanted, rtol=1e-14)
    assert posterior(scenarios.prior, log_likelihood(scenarios, episodes, 2, pictures=6)).tolist() == [[1, 0]]
    with pytest.raises(ValueError, match=r"Found -1 to 2"):
        log_likelihood(replace(scenarios, picture=torch.tensor([[0, -1, 2]] * 2)), episodes, 2)


def test_one_picture_alone_is_none_to_misread():
    scenarios, episodes = glimpsed_all([[0, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match=r"`pictures` should be at least 2.*Found 1\. Of one alone say 2\."):
        log_likelihood(scenarios, episodes, 2, pictures=1)
    assert log_likelihood(scenarios, episodes, 2, pictures=2).tolist() == [[0, 0]]


def test_a_rare_misreading_stays_possible():
    scenarios, episodes = glimpsed_all([[0, 3, 1], [0, 2, 1]])
    found = log_likelihood(scenarios, episodes, 2, misread=1e-50)
    np.testing.assert_allclose(found[0], [0, np.log(1e-50) - np.log(3)], rtol=1e-14)


@pytest.mark.usefixtures("as_installed")
def test_pictures_of_a_short_type_are_pictures():
    scenarios = library()
    short = replace(scenarios, picture=scenarios.picture.to(torch.uint8), next=scenarios.next.int())
    assert short.picture.dtype == short.next.dtype == torch.int64
    assert all(torch.equal(one, other) for one, other in zip(logged(short), logged(scenarios), strict=True))
    assert torch.equal(short.process(0.9).transitions, scenarios.process(0.9).transitions)


def acting(*actions):
    return lambda view, _: (torch.tensor(actions), torch.zeros(len(view.cells)))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (acting(0, -1), "`actions` should be numbers from 0 to 3. Found -1 to 0"),
        (acting(0, 4), "`actions` should be numbers from 0 to 3. Found 0 to 4"),
        (acting([0], [1]), r"`actions` should have the shape \(2,\). Found \(2, 1\)"),
        (lambda view, _: (torch.zeros_like(view.cells), torch.zeros(2, 1)), r"`log_mu` should have the shape \(2,\)"),
    ],
)
def test_actions_that_there_are_not_are_refused(policy, sentence):
    with pytest.raises(ValueError, match=sentence):
        rollouts(library(), torch.tensor([0, 1]), policy, 2, torch.Generator())


@pytest.mark.usefixtures("as_installed")
def test_beliefs_of_other_episodes_are_refused():
    scenarios, generator = library(), torch.Generator().manual_seed(0)
    episodes = logged(scenarios)
    for beliefs, sentence in (
        (scenarios.prior[None], r"`logged.glimpsed` should have the shape \(T, 1, 16\). Found \(6, 40, 16\)"),
        (scenarios.prior, r"`beliefs` should have the shape \(B, 12\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            counterfactual_rollouts(scenarios, episodes, beliefs, uniform, 6, generator, evidence=2)
    with pytest.raises(ValueError, match=r"`glimpsed` should have the shape \(6, 3, 16\)"):
        rollouts(scenarios, torch.arange(3), uniform, 6, generator, glimpsed=episodes.glimpsed[:, :1])
    every = scenarios.prior.expand(40, -1)
    assert counterfactual_rollouts(scenarios, episodes, every, uniform, 2, generator, evidence=0).actions.shape == (2, 40)
