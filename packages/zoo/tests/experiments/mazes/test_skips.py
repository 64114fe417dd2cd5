from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Generator

from claimlab import Rows, judge
from mechlearn_zoo.experiments.mazes.television import EXPERIMENT as HOST
from mechlearn_zoo.experiments.mazes.television.skips import ARMS, Forward, ahead, run

EXPERIMENT = HOST.at("skips")
SMALL = replace(EXPERIMENT.presets["skips"].config, walkers=8, steps=12, rollouts=5)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    assert all(judge(claim, rows, "skips").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["coverage", "presses"]
    assert len(rows) == 2 * 5 * len(ARMS)
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_the_easiest_frame_is_that_of_a_loop():
    generator = Generator().manual_seed(0)
    seen, actions = torch.randn(6, 3, 4, generator=generator), torch.randn(5, 3, 2, generator=generator)
    forward = Forward(torch.nn.Identity(), torch.nn.Linear(6, 4), "easiest", 3)
    with torch.no_grad():
        found = forward.errors(seen, actions, generator)
        for t in range(5):
            for b in range(3):
                said = forward.network(torch.cat([seen[t, b], actions[t, b]]))
                each = [float((said - seen[min(t + j, 5), b]).square().mean()) for j in (1, 2, 3)]
                assert float(found[t, b]) == pytest.approx(min(each), rel=1e-5)
                one = forward._replace(held="next").errors(seen, actions, generator)[t, b]
                assert float(one) == pytest.approx(each[0], rel=1e-5)
        drawn = torch.stack([forward._replace(held="any").errors(seen, actions, generator) for _ in range(40)])
    assert bool((drawn >= found - 1e-6).all())
    assert bool((drawn.std(0)[:3] > 0).all())


def test_the_last_frame_stands_in_behind_the_end():
    windows = ahead(torch.arange(4.0)[:, None, None], 3)[..., 0, 0]
    np.testing.assert_array_equal(windows, [[1, 2, 3], [2, 3, 3], [3, 3, 3]])
