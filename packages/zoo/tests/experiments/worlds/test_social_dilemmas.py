import math
from dataclasses import replace

import pytest
import torch
from torch import Generator

from claimlab import EarlyStopping, judge
from mechlearn_zoo.experiments.worlds import social_dilemmas
from mechlearn_zoo.experiments.worlds.social_dilemmas.agents import Speakers, others, slots
from mechlearn_zoo.experiments.worlds.social_dilemmas.dilemmas import CLEAN, State, begin, layout
from mechlearn_zoo.experiments.worlds.social_dilemmas.playing import anew, answered, influence, quiet, roll
from mechlearn_zoo.experiments.worlds.social_dilemmas.run import ARMS, advantages, cut, losses, pay, played, risen, standard
from mechlearn_zoo.experiments.worlds.social_dilemmas.scripts import careful, scripted
from mechlearn_zoo.experiments.worlds.social_dilemmas.settings import Config, worlds
from mechlearn_zoo.methods.worlds import causal_influence
from tiny import check_measured_and_drawn, rows_of

EXPERIMENT = social_dilemmas.EXPERIMENT
SMALL = {
    "harvest_height": 7, "harvest_width": 8, "view": 1, "symbols": 2, "hidden": 4, "worlds": 3, "episode": 6, "horizon": 3,
    "updates": 8, "tested": 4,
}  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, **SMALL)


@pytest.fixture
def made():
    """Gives a config, a world, its members and some play of three steps."""

    def _made(name="cleanup", seed=0, **settings):
        config = replace(Config(), **(SMALL | settings))
        world, generator = worlds(config)[name], Generator().manual_seed(seed)
        inputs = world.planes * (2 * world.view + 1) ** 2
        members = Speakers(len(ARMS), config.agents, inputs, world.actions, config.symbols, config.hidden, generator)
        with torch.no_grad():
            for parameter in members.parameters():
                parameter.normal_(generator=generator)
        play, after = roll(world, members, quiet(world, members, config.worlds, generator), config.horizon, generator)
        return config, world, members, play, after

    return _made


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    check_measured_and_drawn(EXPERIMENT, rows)
    config = EXPERIMENT.presets["quick"].config
    assert all(0 <= EXPERIMENT.progress(config, row)[0] <= 1 for row in rows)
    for world in ("harvest", "cleanup"):
        assert len(rows.where(kind="curve", world=world)) == 8
        assert {row["budget"] for row in rows.where(kind="final", world=world)} == {8 * 3 * 3}  # equal for all arms


def test_looks_change_nothing_and_keep_the_best(rows, monkeypatch):
    finals = rows.where(kind="final")
    assert all(0 < row["stopped_at"] <= 1 for row in finals)
    assert all(row["stopped_reward"] == row["reward"] for row in finals if row["stopped_at"] == 1)

    def due(self, share):
        return share == 1.0  # an end has always been looked at

    monkeypatch.setattr(EarlyStopping, "due", due)
    alone = rows_of(EXPERIMENT, **SMALL)
    assert all(row["stopped_reward"] == row["reward"] for row in alone.where(kind="final"))
    old = [[{key: row[key] for key in row if not key.startswith("stopped")} for row in some] for some in (rows, alone)]
    assert old[0] == old[1]


def test_claims_ask_ends_and_where_validation_stops():
    rows = [{"kind": "script", "group": "random", "reward": 5.0}, {"kind": "script", "group": "careful", "reward": 40.0}]
    for arm, reward, stopped in (
        ("none", 20.0, 30.0),
        ("influence", 24.0, 31.0),
        ("alone", 26.0, 29.0),
        ("surprise", 21.0, 32.0),
    ):
        rows.append({"kind": "final", "arm": arm, "reward": reward, "stopped_reward": stopped})
    rows = [{**row, "world": world, "seed": 100} for world in ("harvest", "cleanup") for row in rows]
    found = {claim.id: [part.measured for part in judge(claim, rows, "quick").parts] for claim in EXPERIMENT.claims}
    assert {name.removeprefix("social-dilemmas."): parts for name, parts in found.items() if parts} == {
        "influence-cleanup": [4.0, 1.0],
        "influence-harvest": [4.0, 1.0],
        "alone-suffices": pytest.approx([26 / 24 - 1, 29 / 31 - 1]),
        "alone-above-none": [6.0, -1.0],
        "learns": [15.0, 25.0],
        "trapped": [0.5, 0.25],
        "more-than-surprise": [3.0, -1.0],
    }
    without = [{key: value for key, value in row.items() if key != "stopped_reward"} for row in rows]
    assert judge(EXPERIMENT.claims[4], without, "quick").measured is None


def test_all_arms_begin_with_the_same_weights_and_each_agent_has_its_own(made):
    config = replace(Config(), **SMALL)
    members = Speakers(len(ARMS), 3, 5, 6, 2, config.hidden, Generator().manual_seed(0))
    by_arm = members.see.detach().unflatten(0, (len(ARMS), 3))
    assert torch.equal(by_arm, by_arm[:1].expand_as(by_arm))
    assert not torch.equal(by_arm[0, 0], by_arm[0, 1])


def test_what_is_heard_is_what_the_others_said_in_the_step_before(made):
    _, _, members, play, after = made()
    said = play.said.unflatten(0, (len(ARMS), 3))
    heard = play.heard.unflatten(0, (len(ARMS), 3))
    assert bool((heard[:, :, 0] == members.symbols).all())  # nothing yet
    for listener in range(3):
        rest = [agent for agent in range(3) if agent != listener]
        for slot, speaker in enumerate(rest):
            assert torch.equal(heard[:, listener, 1:, :, slot], said[:, speaker])
    assert torch.equal(after.said, play.said[:, -1])
    assert others(3).tolist() == [[1, 2], [0, 2], [0, 1]]
    assert slots(3).tolist() == [[0, 0], [0, 1], [1, 1]]


def test_influence_is_the_function_of_a_loop_over_speakers_and_listeners(made):
    _, _, members, play, _ = made()
    answers = answered(members, play)
    ends = torch.tensor([False, True, False])
    found = influence(members, answers, play, ends).unflatten(0, (len(ARMS), 3))
    for arm in (0, 2):
        for speaker in range(3):
            total = torch.zeros(3, 3)
            for listener in range(3):
                if listener == speaker:
                    continue
                slot, me = [one for one in range(3) if one != listener].index(speaker), arm * 3 + listener
                supposed = []
                for symbol in range(members.symbols):
                    heard = play.heard.clone()
                    heard[me, :, :, slot] = symbol
                    supposed.append(answered(members, play._replace(heard=heard)).acts[me, 1:])
                policy = answers.says[arm * 3 + speaker, :-1]
                total += causal_influence(torch.stack(supposed, -2), policy, play.said[arm * 3 + speaker])
            total = total.clamp(max=10.0)
            total[-1, 1] = 0.0  # there the episode is over, and nobody hears it
            torch.testing.assert_close(found[arm, speaker], total, rtol=1e-4, atol=1e-5)
    assert float(found.max()) > 0.01
    torch.testing.assert_close(influence(members, answers, play, ends, slice(1, 3)), found[1:3].flatten(0, 1))


def test_who_does_not_listen_is_not_influenced(made):
    _, _, members, play, _ = made()
    with torch.no_grad():
        members.hear.zero_()
    assert float(influence(members, answered(members, play), play, torch.zeros(3, dtype=torch.bool)).abs().max()) < 1e-6


def test_messages_are_paid_by_arm(made):
    _, _, members, play, _ = made()
    over, answers = torch.zeros(3, dtype=torch.bool), answered(members, play)
    apples = play.rewards.unflatten(0, (len(ARMS), 3))
    some = influence(members, answers, play, over).unflatten(0, (len(ARMS), 3))
    paid = dict(zip(ARMS, pay(members, answers, play, over, 2.0).unflatten(0, (len(ARMS), 3)), strict=True))
    assert torch.equal(paid["none"], apples[0])
    torch.testing.assert_close(paid["influence"], apples[1] + 2 * some[1])
    torch.testing.assert_close(paid["alone"], 2 * some[2])
    logs = answers.says.detach()[9:, :-1].gather(-1, play.said[9:, ..., None]).squeeze(-1)
    torch.testing.assert_close(paid["surprise"], apples[3] - 2 * logs)
    config = Config(updates=100, beta=10.0)
    assert [risen(config, done) for done in (1, 25, 100)] == [0.4, 10.0, 10.0]


def test_every_weight_learns_of_its_own_arm_alone_and_pay_for_messages_trains_their_head(made):
    config, _, members, play, _ = made()
    over = torch.zeros(3, dtype=torch.bool)
    losses(config, members, play, over, 1.0)[3:6].sum().backward()  # the arm with influence
    for parameter in members.parameters():
        sizes = parameter.grad.flatten(1).norm(dim=1)
        assert bool((sizes[3:6] > 0).all())
        assert float(sizes[:3].sum() + sizes[6:].sum()) == 0.0
    before = [parameter.grad.clone() for parameter in members.parameters()]
    members.zero_grad()
    losses(config, members, play, over, 50.0)[3:6].sum().backward()
    names = [name for name, _ in members.named_parameters()]
    changed = {
        name for name, old, new in zip(names, before, members.parameters(), strict=True) if not torch.equal(old, new.grad)
    }
    assert changed == {"say", "say_bias"}
    cut(members, 0.01)
    lengths = [torch.stack([one.grad.flatten(1).norm(dim=1) for one in group]).norm(dim=0) for group in members.groups()]
    assert all(float(one.max()) <= 0.01 + 1e-6 for one in lengths)


def test_advantages_are_those_of_a_loop():
    generator = Generator().manual_seed(0)
    rewards, values = torch.rand(2, 4, 3, generator=generator), torch.rand(2, 5, 3, generator=generator)
    found, rest = advantages(rewards, values, 0.9, 0.8), torch.zeros(2, 3)
    for t in reversed(range(4)):
        rest = rewards[:, t] + 0.9 * values[:, t + 1] - values[:, t] + 0.9 * 0.8 * rest
        torch.testing.assert_close(found[:, t], rest)
    assert float(standard(found).mean().abs()) < 1e-6


def test_worlds_begin_anew_where_they_are_over(made):
    _, world, members, _, after = made("harvest")
    over = torch.tensor([True, False, False])
    fresh = anew(world, members, after, over, Generator().manual_seed(5))
    said = fresh.said.unflatten(0, (len(ARMS), 3))
    assert bool((said[:, :, 0] == members.symbols).all())
    assert torch.equal(fresh.said[:, 1:], after.said[:, 1:])
    places = fresh.state.apples.unflatten(0, (len(ARMS), 3))
    assert bool((places[:, 0].sum(1) == len(layout(world).orchard)).all())
    assert torch.equal(places[:, 1:], after.state.apples.unflatten(0, (len(ARMS), 3))[:, 1:])


def test_scripted_agents_go_for_apples_and_the_careful_leave_the_last_ones_or_clean():
    config = Config()
    both = worlds(config)
    assert careful(both["harvest"]) == (True, True, True)
    assert careful(both["cleanup"]) == (True, False, False)
    state = begin(both["cleanup"], 8, Generator().manual_seed(0))
    still, generator = layout(both["cleanup"]), Generator().manual_seed(1)
    actions = scripted(both["cleanup"], state, (True, True, True), generator)
    near = (still.cleaned[state.places] & state.waste[:, None, still.river]).any(-1)
    assert torch.equal(actions == CLEAN, near)
    world = both["harvest"]
    state = begin(world, 8, generator)
    apple = int(layout(world).orchard[0])  # the only one, and the first agent below it
    places = apple + world.width * torch.tensor([1, 5, 6]).expand(8, -1)
    one = torch.zeros_like(state.apples).index_fill_(1, torch.tensor([apple]), True)
    greedy, spared = (scripted(world, State(places, one, state.waste), (care,) * 3, generator) for care in (False, True))
    assert greedy[:, 0].tolist() == [1] * 8
    assert 1 not in spared[:, 0].tolist()
    small = replace(config, **SMALL)
    assert played(small, worlds(small)["harvest"], "random", None).shape == (3,)


def test_influence_alone_is_asked_whether_it_does_more_than_none():
    def found(alone):
        apples = {"none": 30.0, "influence": 30.5, "alone": alone}
        return [
            {
                "kind": "final",
                "world": "harvest",
                "arm": arm,
                "seed": seed,
                "reward": reward + seed,
                "stopped_reward": reward + seed,
            }
            for seed in range(6)
            for arm, reward in apples.items()
        ]

    asked = {claim.id: claim for claim in EXPERIMENT.claims}
    suffices, above = (asked[f"social-dilemmas.{name}"] for name in ("alone-suffices", "alone-above-none"))
    assert above.kind == "control"
    same, more = found(30.0), found(31.0)
    assert [judge(claim, same, "quick").verdict for claim in (suffices, above)] == ["holds", "does not hold"]
    assert [judge(claim, more, "quick").verdict for claim in (suffices, above)] == ["holds", "holds"]
    assert judge(above, more, "quick").measured == pytest.approx(1.0)


def test_refusals():
    with pytest.raises(ValueError, match="episode should be a multiple of horizon"):
        Config(episode=100, horizon=30)
    with pytest.raises(ValueError, match="room for river and orchard"):
        Config(cleanup_width=6)
    assert math.isclose(EXPERIMENT.presets["paper"].config.episode, 1000)
