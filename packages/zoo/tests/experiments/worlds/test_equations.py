"""Networks of formulas under the three systems, at a size that trains nothing."""

import math
from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.worlds.equations import EXPERIMENT, data
from mechlearn_zoo.experiments.worlds.equations import run as equations
from mechlearn_zoo.tasks.streams import stream

OVER = ("mean", "fixed-1", "no-teacher")


def config(**changes):
    tiny = {"units": 1, "hidden": 3, "steps": 4, "rounds": 4, "inner_steps": 2, "horizon": 2}
    return replace(EXPERIMENT.presets["quick"].config, **(tiny | changes))


def test_rows_claims_and_figures():
    rows = [{**row, "seed": 100} for row in equations.run(config())]
    assert [(row["arm"], row["network"]) for row in rows] == [(a, n) for a in equations.ARMS for n in equations.NETWORKS]
    learnt = [{**row, "inside": 0.5} for row in rows]  # which nothing has at this size
    for claim in EXPERIMENT.claims:
        assert judge(claim, learnt, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["errors"]
    assert EXPERIMENT.progress(config(), rows[-1])[0] == 1
    some = config(arms=("mean", "ldt"), networks=("equations",))
    assert [{**row, "seed": 100} for row in equations.run(some)] == [
        row for row in rows if row["arm"] in ("mean", "ldt") and row["network"] == "equations"
    ]


def test_the_formula_is_the_literal_one():
    x = torch.tensor([[0.3, -2.0], [1.5, 0.7]])
    wanted = [math.sin(0.6) - 0.6 - 1.0, math.sin(3.0) + 1.05 + 0.35]
    assert data.formula(x)[:, 0].tolist() == pytest.approx(wanted)
    few = data.formula_few(3, noise=0.0)
    torch.testing.assert_close(few.terms @ torch.tensor([[1.0], [1.0], [0.5]]), few.train.y)


def test_ranges_are_quadrants_and_the_outside_is_outside():
    found = data.formula_ranges(5, 0.0)
    x, ids = found.train.x, found.environments
    quadrants = {(bool(a > 0), bool(b > 0), int(e)) for a, b, e in zip(x[:, 0], x[:, 1], ids, strict=True)}
    assert len(quadrants) == data.ENVIRONMENTS
    slopes = x[:, 2] / found.train.y[:, 0]
    for e in range(data.ENVIRONMENTS):
        assert float(slopes[ids == e].std()) < 1e-3
        assert (float(slopes[ids == e].mean()) > 0) == (e < 3)
    assert float(found.inside.x[:, :2].abs().max()) <= data.INSIDE
    outside = found.outside.x[:, :2].abs()
    assert float(outside.amax(1).min()) > data.INSIDE
    assert float(outside.max()) <= data.OUTSIDE


def test_a_pendulum_is_the_literal_recursion_and_the_nearest_frame_is_found():
    paths = data.pendulums(1, 3, 0.8, frames=6)
    for path in paths.tolist():
        q, v = path[0]
        assert 0.4 <= abs(q) <= 0.8
        for wanted in path[1:]:
            v = v - 0.15 * math.sin(q)
            q = q + v
            assert wanted == pytest.approx([q, v], abs=1e-5)

    def exact(frames, steps=1):
        for _ in range(steps):
            v = frames[:, 1] - 0.15 * frames[:, 0].sin()
            frames = torch.stack([frames[:, 0] + v, v], 1)
        return frames

    assert data.nearest(exact, paths, 1) < 1e-10
    assert data.nearest(lambda frames: exact(frames, 3), paths, 3) < 1e-10
    assert data.nearest(lambda frames: exact(frames, 3), paths, 1) > 0.1
    assert data.nearest(lambda frames: frames, paths, 1) == pytest.approx(1)


def made_up(ours, theirs):
    values = {"equations": ours, "perceptron": 0.4}
    helped = {"and-mask": 0.5, "asi": 0.5, "ldt": 0.5}
    return [
        {"seed": seed, "arm": arm, "network": network, "inside": 0.3,
         "outside": values[network] * helped.get(arm, theirs), "stopped_outside": values[network] * helped.get(arm, theirs)}
        for seed in range(6) for arm in equations.ARMS for network in equations.NETWORKS
    ]  # fmt: skip


def test_claims_can_hold_and_fail():
    assert {judge(claim, made_up(0.1, 1.0), "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    assert {judge(claim, made_up(2.0, 0.1), "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}


def test_a_perceptron_that_has_learnt_nothing_and_a_constant_are_beaten_by_nobody():
    claims = {claim.id: claim for claim in EXPERIMENT.claims}
    blind = [{**row, "inside": 1.0} for row in made_up(0.1, 1.0)]
    assert judge(claims["equations.and-mask"], blind, "quick").measured is None
    errors = ("outside", "stopped_outside")
    bad = [row | {key: row[key] * 20 for key in errors} for row in made_up(0.1, 1.0)]  # 1 and 4, where a constant has 1
    assert judge(claims["equations.ldt"], bad, "quick").verdict == "does not hold"


def test_what_is_stopped_must_err_less_too():
    rows = made_up(0.1, 1.0)
    early = [row | {"stopped_outside": 0.01} if row["network"] == "perceptron" or row["arm"] in OVER else row for row in rows]
    ends = [{key: value for key, value in row.items() if key != "stopped_outside"} for row in rows]
    for claim in EXPERIMENT.claims[:-1]:
        found, older = judge(claim, early, "quick"), judge(claim, ends, "quick")
        assert found.verdict == "does not hold"
        assert found.measured == pytest.approx(5)
        assert older.verdict == "not measurable here"


def test_looks_change_nothing(monkeypatch):
    chosen, state = config(arms=("mean", "asi", "no-teacher", "ldt"), networks=("equations",)), torch.get_rng_state()
    looked = list(equations.run(chosen))
    monkeypatch.setattr(equations.EarlyStopping, "due", lambda *_: False)
    for row, plain in zip(looked, equations.run(chosen), strict=True):
        assert set(row) - set(plain) == {"stopped_inside", "stopped_outside", "stopped_at"}
        assert plain == {key: value for key, value in row.items() if not key.startswith("stopped_")}
    assert torch.equal(state, torch.get_rng_state())


def test_validation_is_another_draw_of_the_outside():
    tests = data.formula_ranges(100, 0.0).outside
    found = data.outside(stream(100, "validation"), sensor=True)
    assert found.x.shape == tests.x.shape
    assert not torch.isin(found.x, tests.x).any()
    assert float(found.x[:, :2].abs().amax(1).min()) > data.INSIDE
    assert data.outside(stream(100, "validation")).x.shape == (400, 2)


def test_lessons_are_of_what_the_read_out_reads():
    for network in equations.NETWORKS:
        student = equations.make_network(config(), network, 2, 1)
        assert isinstance(student[-1], torch.nn.Linear)
        assert student[:-1](torch.zeros(5, 2)).shape == (5, 3)


@pytest.mark.parametrize("changes", [{"arms": ()}, {"steps": 1}, {"penalty": -1.0}, {"horizon": 0}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        config(**changes)
