"""Values from returns, at a size that trains nothing."""

from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.distill.value import EXPERIMENT
from mechlearn_zoo.experiments.distill.value import run as value
from mechlearn_zoo.experiments.distill.value.tables import counted, ridge

TINY = {"side": 2, "examples": 40, "frames": 2, "horizon": 20, "rounds": 2, "inner_steps": 2, "student_steps": 2, "batch": 4,
        "hidden": 4, "every": 1}  # fmt: skip


def config(**changes):
    return replace(EXPERIMENT.presets["quick"].config, **(TINY | changes))


def test_rows_claims_and_figures():
    rows = [{**row, "seed": 100} for row in value.run(config())]
    assert [row["method"] for row in rows] == list(value.METHODS)
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["errors"]
    assert value.progress(config(), rows[-1])[0] == 1
    assert rows[0]["selected"] >= 1 - 1e-9  # a constant misses all of the variance
    assert [{**row, "seed": 100} for row in value.run(config())] == rows


def test_ridge_is_the_literal_regression():
    generator = torch.Generator().manual_seed(0)
    states = torch.randint(3, (20,), generator=generator)
    y = torch.randn(20, dtype=torch.float64, generator=generator)
    x = torch.nn.functional.one_hot(states, 4).double()
    (found,) = ridge(states, y, 4, (0.7,))
    torch.testing.assert_close(found, torch.linalg.solve(x.T @ x + 0.7 * torch.eye(4, dtype=torch.float64), x.T @ y))


def test_counting_is_the_literal_model():
    problem = value.make_problem(config(side=3, examples=60, frames=5))
    found = counted(problem.train, problem.process.states, 0.9)
    trips: dict[int, list[tuple[float, int]]] = {}
    for b in range(60):
        states = [int(problem.train.states[b]), *problem.train.visited[b].tolist()]
        for t in range(5):
            if states[t] >= 0:
                trips.setdefault(states[t], []).append((float(problem.train.rewards[b, t]), states[t + 1]))
    values = [0.0] * problem.process.states
    for _ in range(400):  # Bellman's operator of the counted model
        values = [
            sum(r + 0.9 * (values[after] if after >= 0 else 0.0) for r, after in trips[s]) / len(trips[s])
            if s in trips
            else 0.0
            for s in range(len(values))
        ]
    torch.testing.assert_close(found, torch.tensor(values, dtype=torch.float64), rtol=1e-9, atol=1e-9)


def test_with_all_the_data_counting_is_exact():
    problem = value.make_problem(config(side=2, examples=4000, frames=20))
    found = (counted(problem.train, problem.process.states, 0.95) - problem.mean) / problem.scale
    assert float((found - problem.values).square().mean() / problem.values.var()) < 0.02


def test_the_placebo_differs_in_the_trajectories_alone():
    problem = value.make_problem(config())
    found = {
        method: [estimate for _, estimate in value.estimates(config(alpha=1e-9), method, problem)]
        for method in ("ldt", "ldt-placebo")
    }
    # Without a coefficient to speak of, the same student, batches and split.
    torch.testing.assert_close(found["ldt"][-1], found["ldt-placebo"][-1], rtol=1e-4, atol=1e-4)


def made_up(errors):
    return [{"seed": seed, "method": name, "selected": error} for seed in range(6) for name, error in errors.items()]


def test_claims_can_hold_and_fail():
    good = made_up(
        {"constant": 1.0, "ridge": 0.3, "no-teacher": 0.3, "auxiliary": 0.3, "ldt": 0.1, "ldt-placebo": 0.3, "counted": 0.01}
    )
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up(
        {"constant": 0.5, "ridge": 0.3, "no-teacher": 0.3, "auxiliary": 0.3, "ldt": 0.5, "ldt-placebo": 0.3, "counted": 0.4}
    )
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="horizon should be at least frames"):
        config(horizon=1)
