from dataclasses import replace

import pytest
import torch
from matplotlib.patches import FancyArrowPatch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.worlds import forward_models
from mechlearn_zoo.experiments.worlds.forward_models.boards import board
from mechlearn_zoo.experiments.worlds.forward_models.figures import draw_edges, read
from mechlearn_zoo.experiments.worlds.forward_models.models import scene
from mechlearn_zoo.experiments.worlds.forward_models.policies import Hunting, Step, learn, loss
from mechlearn_zoo.experiments.worlds.forward_models.run import area, make, windows
from mechlearn_zoo.experiments.worlds.forward_models.stag_hunt import Hunt, aims, hunts
from mechlearn_zoo.nn.graphs import edge_norms, edges_to
from tiny import check_measured_and_drawn, rows_of

EXPERIMENT = forward_models.EXPERIMENT
SMALL = {
    "episodes": 3, "steps": 2, "batch": 2, "window": 3, "hidden": 4, "teams": 2, "team_episodes": 2, "team_steps": 1,
    "policy_updates": 4, "policy_hunts": 3, "test": 2,
}  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, **SMALL, parts=("policies", "teams"))


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    check_measured_and_drawn(EXPERIMENT, rows)
    config = EXPERIMENT.presets["quick"].config
    assert all(0 <= EXPERIMENT.progress(config, row)[0] <= 1 for row in rows)


def test_looks_change_nothing(rows, monkeypatch):
    assert all({"stopped_accuracy", "stopped_perfect", "stopped_at"} <= set(row) for row in rows.where(kind="final"))
    assert all({"stopped_known", "stopped_new", "stopped_at"} <= set(row) for row in rows.where(kind="teams"))
    monkeypatch.setattr(EarlyStopping, "due", lambda self, share: False)
    monkeypatch.setattr(EarlyStopping, "look", lambda self, share, validation, found: None)
    without = rows_of(EXPERIMENT, **SMALL, parts=("teams",))
    some = rows.where(lambda row: row["kind"] != "policy")
    assert list(without) == [{key: value for key, value in row.items() if not key.startswith("stopped_")} for row in some]


@pytest.mark.parametrize(("name", "kind"), [("longer", "final"), ("habits-mislead", "teams"), ("new-teammates", "teams")])
def test_claims_ask_where_validation_stops_both_where_there_are_looks(name, kind):
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == f"forward-models.{name}")
    last = {"seed": 0, "kind": "persistence", "accuracy": 0.1}
    ours = {"seed": 0, "kind": kind, "model": "relational", "rule": "AND-mask", "known": 0.9, "new": 0.7, "perfect": 0.9}
    other = {**ours, "model": "each alone", "rule": "averaging", "new": 0.5, "perfect": 0.5}
    assert judge(claim, [ours, other, last], "quick").verdict == "holds so far"
    looked = [
        {**row, "stopped_known": 0.6, "stopped_new": new, "stopped_perfect": new} for row, new in ((ours, 0.6), (other, 0.6))
    ]
    found = judge(claim, [*looked, last], "quick")
    assert found.measured == pytest.approx(0)
    assert found.verdict == "does not hold so far"


def test_the_models_alone_leave_out_what_comes_after():
    some = rows_of(EXPERIMENT, config=EXPERIMENT.presets["longer"].config, **SMALL)
    assert not {"policy", "teams"} & {str(row["kind"]) for row in some}
    assert EXPERIMENT.figures(some)
    found = {claim.id.removeprefix("forward-models."): judge(claim, some, "longer").measured for claim in EXPERIMENT.claims}
    assert [name for name, value in found.items() if value is None] == ["policies", "habits-mislead", "new-teammates"]


def test_no_model_sees_what_it_predicts():
    hunt = Hunt(agents=3, targets=2, steps=4)
    play = hunts(0, 2, hunt)
    other = play._replace(actions=torch.cat([play.actions[:, :-1], (play.actions[:, -1:] + 1) % 5], 1))
    assert torch.equal(scene(play, 12).nodes, scene(other, 12).nodes)
    config = replace(EXPERIMENT.presets["quick"].config, **SMALL)
    for name in forward_models.run.MODELS:
        model = make(name, config, hunt)
        assert torch.equal(model(play, 12).logits, model(other, 12).logits)


def test_who_is_alone_sees_no_other():
    hunt = Hunt(agents=3, targets=2, steps=2)
    play = hunts(0, 2, hunt)
    places = play.places.clone()
    places[:, :, 1] = 0
    config = replace(EXPERIMENT.presets["quick"].config, **SMALL)
    for name, sees in (("each alone", False), ("relational", True)):
        model = make(name, config, hunt)
        same = torch.equal(model(play, 12).logits[:, :, 0], model(play._replace(places=places), 12).logits[:, :, 0])
        assert same != sees


def test_windows_and_areas():
    play = hunts(0, 4, Hunt(steps=6))
    some = windows(play, torch.tensor([2, 0]), 3, torch.Generator().manual_seed(0))
    assert some.actions.shape == (2, 3, 4)
    assert area(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([False, False, True, True])) == 0.75
    assert area(torch.tensor([1.0, 1.0]), torch.tensor([False, True])) == 0.5


def test_predictions_on_board_are_those_of_recorded_play():
    """Step by step with its memory, the model says what it says of the whole hunt."""
    hunt = Hunt(steps=6)
    config = replace(EXPERIMENT.presets["quick"].config, hidden=4)
    model = make("relational", config, hunt)
    play = hunts(3, 2, hunt)
    whole = model(play, hunt.side).logits.softmax(-1)[:, :, 1:]
    hunting = Hunting(hunt, 2, model, torch.Generator().manual_seed(0))
    for t in range(6):
        hunting.places = play.places[:, t]
        if t:
            hunting.before = play.actions[:, t - 1]
        torch.testing.assert_close(hunting.features()[:, 18:].view(2, 3, 5), whole[:, t], rtol=1e-5, atol=1e-6)


def test_returns_of_a_few_steps():
    zeros = torch.zeros(1)
    steps = [Step(zeros, zeros, zeros, torch.tensor([float(reward)])) for reward in (1, 0, 2)]
    returns = [1 + 0.81 * 2 + 0.729 * 4, 0.9 * 2 + 0.81 * 4, 2 + 0.9 * 4]
    assert float(loss(steps, torch.tensor([4.0]))) == pytest.approx(sum(0.5 * r * r for r in returns) / 3)


def test_a_learner_is_the_same_for_the_same_seed():
    hunt = Hunt(steps=20)
    assert learn(hunt, None, 3, 2, 0) == learn(hunt, None, 3, 2, 0)


def test_a_board_is_read_as_it_was_kept():
    hunt = Hunt(steps=6)
    play, (senders, receivers) = hunts(3, 2, hunt), edges_to(4, 10)
    edges = torch.randn(2, 6, 36, 8, generator=torch.Generator().manual_seed(0))
    found = read(Rows([board(edges, play)]))
    places = play.places[:1, 3]
    truth = aims(places[:, :4], places[:, 4:], play.stags)
    assert found.places.tolist() == places[0].tolist()
    assert (found.stags, found.aims) == (play.stags.long().tolist(), truth.targets[0].tolist())
    assert found.partners == truth.partners[0].tolist()
    for sender, receiver, norm in zip(senders.tolist(), receivers.tolist(), edge_norms(edges[0, 3]).tolist(), strict=True):
        assert found.norms[receiver, sender] == pytest.approx(norm, abs=1e-3)


def test_the_widest_line_is_the_strongest_edge():
    edges = torch.ones(1, 6, 36, 8)
    edges[0, 3, 20] = 5.0  # of the third agent, from the fourth node but itself
    axes = draw_edges(Rows([board(edges, hunts(3, 1, Hunt(steps=6)))])).axes
    widths = [patch.get_linewidth() for patch in axes[0].patches if isinstance(patch, FancyArrowPatch)]
    assert len(widths) == 36
    assert max(widths) == widths[20]
    assert sum(width > 0 for width in widths) == 1


@pytest.mark.parametrize(("persistence", "verdict"), [(0.45, "does not hold so far"), (0.2, "holds so far")])
def test_new_teammates_are_foretold_better_than_by_their_last_moves(persistence, verdict):
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "forward-models.new-teammates")
    made = [{"seed": 0, "kind": "teams", "rule": rule, "new": new} for rule, new in (("AND-mask", 0.4), ("averaging", 0.3))]
    found = judge(claim, [*made, {"seed": 0, "kind": "persistence", "accuracy": persistence}], "quick")
    assert found.measured == pytest.approx(0.4 - max(0.3, persistence))
    assert found.verdict == verdict
    assert judge(claim, made, "quick").measured is None
