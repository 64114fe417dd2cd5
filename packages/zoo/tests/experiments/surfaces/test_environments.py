import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from claimlab import Rows, judge
from mechlearn.params import parameters_of
from mechlearn_zoo.experiments.surfaces.environments import EXPERIMENT
from mechlearn_zoo.experiments.surfaces.environments.run import METHODS, Watched, train, validation_split
from mechlearn_zoo.tasks.boards.spirals import HeldOut, Shortcuts, spirals
from tiny import check_measured_and_drawn, rows_of

SMALL = {
    "environments": 3, "examples": 8, "shortcuts": 2, "hidden": 6, "batch": 4, "steps": 2, "grid": 5, "lines": 5, "compared": 2,
}  # fmt: skip
COLUMNS = {
    "solution": {
        "method", "train_loss", "test_accuracy", "stopped_test_accuracy", "stopped_at",
        "inconsistency", "walked", "stays", "other",
    },
    "line": {"method", "role", "losses"},
    "barrier": {"height", "distance"},
    "placebo": {"height", "distance"},
    "plane": {"surface", "losses"},
}  # fmt: skip


@pytest.fixture(scope="module")
def made():
    return rows_of(EXPERIMENT, **SMALL)


def found(seed, walked=(6.0, 2.0), accuracy=(0.5, 0.9), stopped=(0.5, 0.9), height=0.8, placebo=0.3):
    """The rows of a seed whose numbers are known: averaging's, then the AND-mask's."""
    rows = [{"kind": "barrier", "height": height, "distance": 3.0}, {"kind": "placebo", "height": placebo, "distance": 3.0}]
    for method, walk, *right in zip(METHODS, walked, accuracy, stopped, strict=True):
        accuracies = dict(zip(("test_accuracy", "stopped_test_accuracy"), right, strict=True))
        rows.append({"kind": "solution", "method": method, "walked": walk, **accuracies, "stays": 0, "other": 2})
        rows += [{"kind": "line", "method": method, "role": role, "losses": "2 1 0 1 2"} for role in ("stays", "other")]
    for surface, level in (("mean", 1.0), ("stays", 0.01), ("other", 10.0)):
        losses = " ".join([f"{level:g}"] * 8 + ["0"])
        rows.append({"kind": "plane", "surface": surface, "losses": losses})
    return [{**row, "seed": seed} for row in rows]


def judged(rows):
    return {claim.id.partition(".")[2]: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}


def test_a_tiny_run_can_be_judged_and_drawn(made):
    check_measured_and_drawn(EXPERIMENT, made)
    config = EXPERIMENT.presets["quick"].config
    assert all(0 <= EXPERIMENT.progress(config, row)[0] <= 1 for row in made)


def test_rows_have_the_columns_that_claims_and_figures_read(made):
    for kind, columns in COLUMNS.items():
        assert all(set(row) == {"kind", "seed", *columns} for row in made.where(kind=kind)), kind
    assert [len(made.where(kind=kind)) for kind in COLUMNS] == [2, 4, 1, 1, 3]
    for kind, count in (("line", 5), ("plane", 25)):
        assert {len(str(row["losses"]).split()) for row in made.where(kind=kind)} == {count}
    assert [row["surface"] for row in made.where(kind="plane")] == ["mean", "stays", "other"]
    assert all({row["stays"], row["other"]} == {0, 1} for row in made.where(kind="solution"))  # of the first two alone


def test_both_solutions_lie_on_the_plane(made):
    """At (0, 0) and (1, 0), points of a grid of five, the mean's plane has the losses that both methods ended with."""
    losses = [float(word) for word in str(made.where(kind="plane", surface="mean")[0]["losses"]).split()]
    plane = np.array(losses).reshape(5, 5)
    ends = [made.where(kind="solution", method=method)[0]["train_loss"] for method in METHODS]
    np.testing.assert_allclose([plane[1, 2], plane[3, 2]], ends, rtol=6e-3)  # rows keep three digits


def test_the_placebo_is_averaging_from_the_same_start_on_other_batches():
    config = replace(EXPERIMENT.presets["quick"].config, **SMALL)
    split = spirals(0, 3, 8, Shortcuts(2, 0.1), held_out=HeldOut(1, 1)).train
    whole = replace(config, batch=8)  # all examples in every batch: only their order differs
    weights = [parameters_of(train(whole, split, "averaging", again=again)) for again in (False, True)]
    assert all(torch.allclose(weights[0][name], weights[1][name], atol=1e-5) for name in weights[0])
    weights = [parameters_of(train(config, split, "averaging", again=again)) for again in (False, True)]
    assert not all(torch.allclose(weights[0][name], weights[1][name], atol=1e-5) for name in weights[0])


def test_looks_change_nothing_and_are_at_examples_of_their_own():
    config, state = replace(EXPERIMENT.presets["quick"].config, **SMALL), torch.get_rng_state()
    data = spirals(0, 3, 8, Shortcuts(2, 0.1), held_out=HeldOut(1, 1))
    validation = validation_split(config, data.plane_scale)
    assert validation.x.shape == data.test.x.shape
    assert not torch.isin(validation.x, data.test.x).any()
    np.testing.assert_allclose(validation.x.std(0), data.test.x.std(0), rtol=0.1)
    watched = Watched(validation, data.test)
    weights = [parameters_of(train(config, data.train, "AND-mask", one)) for one in (watched, None)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert watched.stopping.row["stopped_at"] in (0.5, 1.0)
    assert torch.equal(torch.get_rng_state(), state)
    again = Watched(validation, data.test)
    again.stopping.load_state_dict(watched.stopping.state_dict())
    assert again.stopping == watched.stopping


def test_the_same_seed_gives_the_same_rows(made):
    config = EXPERIMENT.presets["quick"].config
    assert config.compared == 3  # as the README says
    assert {**next(EXPERIMENT.run(replace(config, **SMALL))), "seed": 0} == made[0]


def test_claims_on_known_rows():
    good = judged([row for seed in range(6) for row in found(seed)])
    assert {one.verdict for one in good.values()} == {"holds"}
    assert good["patchwork"].measured == pytest.approx(math.log(3))
    assert good["generalises"].measured == pytest.approx(0.4)
    assert good["two-minima"].measured == pytest.approx(0.5)
    bad = judged([row for seed in range(6) for row in found(seed, (2.0, 6.0), (0.9, 0.5), height=0.05)])
    assert {one.verdict for one in bad.values()} == {"does not hold"}
    assert bad["patchwork"].measured == pytest.approx(-math.log(3))
    alike = judged([row for seed in range(6) for row in found(seed, placebo=0.75)])["two-minima"]
    assert alike.verdict == "does not hold"  # two averagings have the same barrier
    mixed = judged([row for seed in range(6) for row in found(seed, walked=(6.0, 2.0) if seed < 4 else (2.0, 6.0))])
    assert mixed["patchwork"].verdict == "does not hold"  # the median is above 0, its interval is not
    stopped = judged([row for seed in range(6) for row in found(seed, stopped=(0.75, 0.9))])["generalises"]
    assert stopped.verdict == "does not hold"  # averaging does if it is stopped
    assert [one.measured for one in stopped.parts] == pytest.approx([0.4, 0.15])
    ends = [{key: value for key, value in row.items() if key != "stopped_test_accuracy"} for row in found(0)]
    assert judged(ends)["generalises"].verdict == "not measurable here"
    assert judged([])["patchwork"].verdict == "not measured"


def test_figures_show_what_they_say():
    figures = EXPERIMENT.figures(Rows(found(100)))
    assert set(figures) == {"planes", "worst"}
    planes = figures["planes"].axes
    assert [axes.get_title("left") or axes.get_title() for axes in planes] == ["all environments", "one environment", "another"]
    for axes in planes:  # the cross and the star, where both solutions are
        assert [tuple(line.get_xydata()[0]) for line in axes.lines] == [(0.0, 0.0), (1.0, 0.0)]
    worst = figures["worst"].axes
    assert [axes.get_title("left") or axes.get_title() for axes in worst] == list(METHODS)
    assert [[line.get_label() for line in axes.lines] for axes in worst] == [["stays", "suffers"]] * 2
    for word in ("mean of all environments", "the one that stays", "the one that suffers"):
        assert word in figures["planes"].get_label()
