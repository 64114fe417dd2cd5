import math

import pytest
import torch

from claimlab import judge
from mechlearn_zoo.experiments.worlds import social_dilemmas
from mechlearn_zoo.experiments.worlds.social_dilemmas.box import (
    ARMS,
    Config,
    State,
    Tables,
    eaten,
    episode,
    influence,
    pay,
    seen_by_a,
    seen_by_b,
)
from mechlearn_zoo.tasks.streams import stream
from tiny import check_measured_and_drawn, rows_of

EXPERIMENT = social_dilemmas.EXPERIMENT.at("box")
CONFIG = Config(trees=3, work=2, steps=7, worlds=5, updates=3, tested=6)
NONE = 3


@pytest.fixture
def played():
    """Random policies, so that every row answers in its own way, and an episode of theirs."""
    first, second = Tables(2 * 4 + 16, 4), Tables(4 + 16, 3)
    generator = stream(3, "logits")
    for tables in (first, second):
        torch.nn.init.normal_(tables.logits, generator=generator)
    return first, second, episode(CONFIG, first, second, 40, False, stream(4, "play"))


def test_a_tiny_run_can_be_judged_and_drawn():
    rows = rows_of(EXPERIMENT, config=CONFIG)
    check_measured_and_drawn(EXPERIMENT, rows, ("box",))
    assert judge(EXPERIMENT.claims[0], rows, "box").verdict == "does not hold so far"


def literal(config, first, second, play):
    """The game again, a world and a step at a time, with numbers of Python: apples, influence and whether it is open."""
    count = play.opened.shape[1]
    apples, changed = torch.zeros(2, config.steps, len(ARMS), count), torch.zeros(config.steps, len(ARMS), count)
    opened = torch.zeros(len(ARMS), count, dtype=torch.bool)
    for r in range(len(ARMS)):
        for w in range(count):
            is_open, at_lock, a_last, b_last = False, 0, NONE, NONE

            def answer(is_open, a_last, b_last, r=r):
                row = 4 + a_last * 4 + b_last if is_open else a_last
                return second.logits[r, row].log_softmax(-1).exp().tolist()

            for t in range(config.steps):
                a, b = int(play.acts[0][t, r, w]), int(play.acts[1][t, r, w])
                row_a = 8 + a_last * 4 + b_last if is_open else at_lock * 4 + a_last
                assert row_a == int(play.rows[0][t, r, w])
                ripe = {tree for tree in range(NONE) if tree not in (a_last, b_last)}
                both = is_open and a == b
                apples[0, t, r, w] = (a in ripe) * (0.5 if both else 1.0)
                apples[1, t, r, w] = is_open * (b in ripe) * (0.5 if both else 1.0)
                policy = first.logits[r, row_a].log_softmax(-1).exp().tolist()
                supposed = [
                    answer(is_open or (one == NONE and at_lock + 1 >= config.work), one, b if is_open else NONE)
                    for one in range(4)
                ]
                mean = [sum(p * one[k] for p, one in zip(policy, supposed, strict=True)) for k in range(NONE)]
                if t + 1 < config.steps:
                    changed[t, r, w] = sum(p * math.log(p / q) for p, q in zip(supposed[a], mean, strict=True))
                b_last = b if is_open else NONE
                at_lock = at_lock + 1 if a == NONE else 0
                is_open = is_open or at_lock >= config.work
                at_lock, a_last = min(at_lock, config.work - 1), a
            opened[r, w] = is_open
    return apples, changed, opened


def test_an_episode_and_its_influence_are_those_of_a_literal_game(played):
    first, second, play = played
    apples, changed, opened = literal(CONFIG, first, second, play)
    assert torch.equal(torch.stack(play.eaten), apples)
    assert torch.equal(play.opened, opened)
    assert bool(opened.any())
    torch.testing.assert_close(influence(first, second, play), changed, atol=1e-5, rtol=1e-5)


def test_each_arm_is_paid_for_what_it_says(played):
    first, second, play = played
    changed, own = influence(first, second, play), play.eaten[0]
    surprise = -first.policy(play.rows[0][:-1]).gather(-1, play.acts[0][..., None])[..., 0]
    paid = pay(CONFIG, first, second, play)
    wanted = (own, own + 4 * changed, 4 * changed, own + 4 * surprise)
    for index, one in enumerate(wanted):
        torch.testing.assert_close(paid[:, index], one[:, index])


def test_whoever_is_locked_in_eats_nothing_and_halves_nothing():
    state = State(*(torch.tensor([[one]]) for one in (False, 0, NONE, NONE)))
    a = b = torch.tensor([[1]])
    assert [float(one) for one in eaten(CONFIG, state, a, b)] == [1.0, 0.0]
    assert [float(one) for one in eaten(CONFIG, state._replace(opened=torch.tensor([[True]])), a, b)] == [0.5, 0.5]
    assert int(seen_by_a(CONFIG, state)) == 3
    assert int(seen_by_b(CONFIG, state.opened, state.mine, state.other)) == 3
