from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.worlds import particle_language
from mechlearn_zoo.experiments.worlds.particle_language.agents import Policy, views
from mechlearn_zoo.experiments.worlds.particle_language.errands import among_three, among_two, held_out
from mechlearn_zoo.experiments.worlds.particle_language.measures import over_best, over_best_of_three, over_none
from mechlearn_zoo.experiments.worlds.particle_language.particle_world import begin
from mechlearn_zoo.experiments.worlds.particle_language.playing import Talk, heard_by_each, play, sensed, widths
from mechlearn_zoo.experiments.worlds.particle_language.run import CONCENTRATION, habit, said_of
from tiny import check_measured_and_drawn

EXPERIMENT = particle_language.EXPERIMENT
CONFIG = replace(EXPERIMENT.presets["quick"].config, steps=3, three_steps=2, vocabulary=0.1, batch=4, test=40, time=3)


def drawn(seed):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def rows():
    return [{**row, "seed": 0} for row in EXPERIMENT.run(CONFIG)]


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    check_measured_and_drawn(EXPERIMENT, rows, ("quick", "longer", "vocabulary"))
    verdicts = {claim.id: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    for name in ("grounded", "three", "gaze"):
        assert verdicts[f"particle-language.{name}"].verdict == "does not hold so far"  # untrained
    assert set(EXPERIMENT.figures(Rows(rows))) == {"language", "three"}
    shares = [EXPERIMENT.progress(CONFIG, row)[0] for row in rows]
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == 1


def test_two_agents_alone_leave_three_out():
    config = replace(EXPERIMENT.presets["longer"].config, steps=2, batch=4, test=40, time=3)
    rows = [{**row, "seed": 0} for row in EXPERIMENT.run(config)]
    assert not any("three" in str(row["kind"]) for row in rows)
    assert [EXPERIMENT.progress(config, row)[0] for row in rows][-1] == 1
    verdicts = {claim.id: judge(claim, rows, "longer").verdict for claim in EXPERIMENT.claims}
    for name in ("three", "grounded", "gaze"):
        assert verdicts[f"particle-language.{name}"] == "not measurable here"
    assert EXPERIMENT.figures(Rows(rows)).keys() == {"language"}
    assert verdicts["particle-language.bodies-longer"] == "does not hold so far"  # untrained


def test_three_agents_alone_with_and_without_the_reward_for_what_is_said_often():
    config = replace(EXPERIMENT.presets["vocabulary"].config, three_steps=2, batch=4, test=40, time=3)
    rows = [{**row, "seed": 0} for row in EXPERIMENT.run(config)]
    assert {row["channel"] for row in rows} == {"symbols", "none", "rewarded", "untrained"}
    assert {str(row["kind"]) for row in rows} == {"curve of three", "three"}
    shares = [EXPERIMENT.progress(config, row)[0] for row in rows]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    verdicts = {claim.id: judge(claim, rows, "vocabulary").verdict for claim in EXPERIMENT.claims}
    for name in ("compositional-rewarded", "rewarded"):
        assert verdicts[f"particle-language.{name}"] == "does not hold so far"  # untrained
    assert verdicts["particle-language.compositional"] == "not measurable here"
    assert EXPERIMENT.figures(Rows(rows)).keys() == {"three"}


def test_the_reward_draws_symbols_to_the_one_that_is_said_most():
    said = torch.eye(3)[torch.tensor([0, 0, 0, 1])].requires_grad_()
    counts = torch.tensor([3.0, 1.0, 0.0])
    wanted = (said * (counts.clamp(min=torch.finfo(said.dtype).tiny) / (CONCENTRATION + 4 - 1)).log()).sum(-1).mean()
    torch.testing.assert_close(habit(said), wanted)
    habit(said).backward()
    assert (said.grad[:, 0] > said.grad[:, 1]).all()
    assert (said.grad[:, 1] > said.grad[:, 2]).all()


def test_nobody_to_train_is_refused():
    with pytest.raises(ValueError, match="Two agents or three should be trained"):
        replace(CONFIG, channels=(), three_steps=0)


def test_a_record_of_two_agents_alone_is_drawn_and_leaves_the_others_out(rows):
    new = ("gaze", "bodies")
    old = Rows([row for row in rows if "three" not in str(row["kind"]) and row.get("channel") not in new])
    assert set(EXPERIMENT.figures(old)) == {"language"}
    assert over_none("gaze")(old) is None


def test_those_without_a_channel_count_where_they_are_nearest():
    def made(kind, curve, seed, *looks):
        ends = (("symbols", False, 0.1), ("symbols", True, 0.9), ("none", False, 0.5))
        found = [{"seed": seed, "kind": kind, "channel": name, "exchanged": e, "distance": d} for name, e, d in ends]
        ways = [("none", look) for look in looks] + [("symbols", 0.01)]
        return found + [{"seed": seed, "kind": curve, "channel": name, "distance": look} for name, look in ways]

    for kind, curve, measure in (
        ("final", "curve", over_best("symbols")),
        ("three", "curve of three", over_best_of_three("symbols")),
    ):
        found = measure(Rows(made(kind, curve, 0, 0.6, 0.4, 0.7) + made(kind, curve, 1, 0.6)))  # on the way, and at the end
        assert (found.low, found.high, found.n) == (pytest.approx(0.2), pytest.approx(0.25), 2)
        assert measure(Rows(made(kind, curve, 0))) is None  # no looks
        assert measure(Rows([])) is None


@pytest.mark.parametrize("channel", ["symbols", "gaze", "bodies", "none"])
def test_gradients_go_through_world_and_channel(channel):
    policy = Policy(3, 8, drawn(0), widths(CONFIG, 2)[channel], looks=channel in ("gaze", "bodies"))
    found = play(CONFIG, policy, among_two(CONFIG, 8, drawn(1)), drawn(2), Talk(channel))
    found.path.mean().backward()
    assert policy.hear.weight.grad.any() == (channel != "none")  # nothing is heard
    assert all(bool(parameter.grad.any()) for parameter in policy.body.parameters())


def test_three_learn_from_what_two_others_say():
    policy = Policy(3, 8, drawn(0), widths(CONFIG, 3)["symbols"], addressees=3)
    found = play(CONFIG, policy, among_three(CONFIG, 8, drawn(1)), drawn(2), Talk("symbols"))
    (found.path.mean() + found.auxiliary).backward()
    assert all(parameter.grad is not None and bool(parameter.grad.any()) for parameter in policy.parameters())
    said = torch.eye(3).expand(2, 3, 3)
    assert heard_by_each(said)[0].tolist() == [[0, 1, 0, 0, 0, 1], [0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 1, 0]]


def test_each_goal_of_three_is_told_to_whom_it_says():
    errand = among_three(CONFIG, 200, drawn(0))
    for b in range(200):
        for agent in range(3):
            teller = int(errand.tellers[b, agent])
            assert (teller + int(errand.offsets[b, teller])) % 3 == agent
            colour = int(errand.world.colours[b, errand.goals[b, agent]])
            assert errand.told[b, teller].tolist() == [
                float(i in (colour, 3 + int(errand.offsets[b, teller]))) for i in range(6)
            ]


def test_one_pair_is_held_out_of_training_and_comes_once_a_world():
    train, new = among_three(CONFIG, 500, drawn(0)), among_three(CONFIG, 500, drawn(0), new=True)
    assert not held_out(train.colours, train.offsets).any()
    pairs = {(int(c), int(o)) for c, o in zip(train.colours.flatten(), train.offsets.flatten(), strict=True)}
    assert len(pairs) == 8
    found = held_out(new.colours, new.offsets)
    assert torch.equal(found.sum(1) == 1, (new.offsets == 1).any(1))
    assert torch.equal(train.colours[~found], new.colours[~found])


def test_a_gaze_is_seen_where_it_falls_from_the_other_one_s_side():
    world = begin(3, 2, 3, drawn(0))
    point = torch.randn(3, 2, 2, generator=drawn(1))
    found = sensed(Talk("gaze"), world, torch.zeros(3, 2, 8), point, torch.zeros(3, 2, 2))
    torch.testing.assert_close(found[1, 0], world.frames[1, 0] @ (point[1, 1] - world.places[1, 0]))
    exchanged = sensed(Talk("gaze", exchanged=True), world, torch.zeros(3, 2, 8), point, torch.zeros(3, 2, 2))
    torch.testing.assert_close(exchanged[1, 0], world.frames[1, 0] @ (point[0, 1] - world.places[1, 0]))
    bodies = sensed(Talk("bodies"), world._replace(speeds=point), torch.zeros(3, 2, 8), point, torch.zeros(3, 2, 4))
    torch.testing.assert_close(bodies[2, 1, :2], world.frames[2, 1] @ (world.places[2, 0] - world.places[2, 1]))
    torch.testing.assert_close(bodies[2, 1, 2:], world.frames[2, 1] @ point[2, 0])


def test_bits_of_the_most_telling_step():
    meanings = torch.arange(3).repeat(400)
    noise = torch.randint(0, 8, (1200, 2), generator=drawn(0))
    symbols = torch.stack([noise[:, 0], meanings + 4, noise[:, 1]], 1)
    assert said_of(symbols, meanings, drawn(1)) == pytest.approx(1.585, abs=0.02)
    assert said_of(noise, meanings, drawn(1)) < 0.02


def test_views():
    world = begin(2, 2, 3, drawn(0))
    goals = torch.tensor([[0, 2], [1, 1]])
    marks, goal = views(world, goals)
    assert marks.shape == (2, 2, 3, 5)
    way = world.landmarks[0, 2] - world.places[0, 1]
    torch.testing.assert_close(goal[0, 1], world.frames[0, 1] @ way)
