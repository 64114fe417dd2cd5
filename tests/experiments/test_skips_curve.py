from dataclasses import replace

import numpy as np
import pytest
import torch

from craik.experiments import skips_curve
from craik.harness.claims import judge
from craik.tasks.funnel_board import SMALL, generate

TINY = replace(skips_curve.PRESETS["quick"], skips=(1, 3, 9), episodes=4, test_episodes=3, hidden=8, steps=5)


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return list(skips_curve.run(replace(TINY, cache=str(tmp_path_factory.mktemp("cache")))))


def test_one_row_for_each_skip_and_state(rows):
    assert [(row["skip"], row["state"]) for row in rows] == [(s, state) for s in (1, 3, 9) for state in ("slow", "fast")]
    assert all(row["rate"] == pytest.approx(row["error"] / row["skip"]) for row in rows)


def test_transitions_span_their_skip():
    boards = generate(3, 0, SMALL)
    x, change, slow = skips_curve.transitions(boards, 4)
    path = boards.paths[0]
    assert torch.allclose(x[0, :2], torch.from_numpy(path[1]))
    assert torch.allclose(change[0], torch.from_numpy(path[5] - path[1]))
    assert len(x) == sum(len(path) - 5 for path in boards.paths)
    speed = np.linalg.norm(path[1] - path[0])
    assert bool(slow[0]) == (speed < 0.25)


def made_up(slow, fast):
    return [
        {"seed": seed, "skip": skip, "state": state, "rate": rate}
        for seed in range(3)
        for state, rates in (("slow", slow), ("fast", fast))
        for skip, rate in zip((1, 3, 9), rates, strict=True)
    ]


def test_claims_on_made_up_curves():
    verdicts = [judge(claim, made_up((3, 2, 2.5), (2, 1, 4)), "quick").verdict for claim in skips_curve.CLAIMS]
    assert verdicts == ["holds", "does not hold"]
    verdicts = [judge(claim, made_up((3, 2, 1), (2, 1, 4)), "quick").verdict for claim in skips_curve.CLAIMS]
    assert verdicts == ["does not hold", "holds"]


def test_figure_and_progress(rows):
    assert list(skips_curve.figures([{"seed": 0, **row} for row in rows])) == ["rate"]
    assert skips_curve.progress(TINY, rows[-1]) == (1.0, "skip 9")


@pytest.mark.parametrize("changes", [{"size": "huge"}, {"skips": ()}, {"steps": 0}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        replace(TINY, **changes)
