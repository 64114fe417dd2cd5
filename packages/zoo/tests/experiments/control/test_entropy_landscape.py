from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.control.entropy_landscape import EXPERIMENT
from mechlearn_zoo.experiments.control.entropy_landscape.run import ascend, run
from mechlearn_zoo.methods.control.entropy import objective
from mechlearn_zoo.tasks.finite.grids import open_grid

SMALL = replace(EXPERIMENT.presets["quick"].config, size=4, starts=4, taus=(0.0, 0.3), rates=(10.0,), steps=40, directions=5)


def test_the_rows_can_be_judged_and_drawn():
    rows = Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))
    verdicts = {claim.id: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}
    assert verdicts["entropy-landscape.helps"].measured is not None
    assert verdicts["entropy-landscape.steps-plain"].measured is not None
    assert {"shares", "visits"} <= set(EXPERIMENT.figures(rows))
    assert list(run(replace(SMALL, seed=1000))) == list(run(replace(SMALL, seed=1000)))


def test_a_batch_of_starts_ascends_as_each_alone():
    mdp = open_grid(3, 3).mdp({(2, 2): 1.0}, (0, 0), 0.9)
    starts = torch.randn(3, 9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    together = ascend(mdp, starts, 0.2, 10.0, SMALL)
    alone = torch.cat([ascend(mdp, one.unsqueeze(0), 0.2, 10.0, SMALL) for one in starts])
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-10)
    assert (objective(together, mdp) > objective(starts, mdp)).all()


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="begin with 0"):
        replace(SMALL, taus=(0.1, 0.2))
