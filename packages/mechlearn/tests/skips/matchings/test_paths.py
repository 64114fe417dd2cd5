import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import skips_oracles as oracles
from mechlearn.skips.matchings.paths import cheapest_path


@given(
    length=st.integers(2, 8),
    horizon=st.integers(1, 8),
    levels=st.sampled_from([1, 2, 9]),
    seed=st.integers(0, 999),
    inputs=st.sampled_from(["frames", "predictions"]),
    cost=st.sampled_from(["mean", "sum"]),
)
def test_the_path_is_the_best_of_all(length, horizon, levels, seed, inputs, cost):
    # Whole numbers, so that sums are exact and ties are ties.
    costs = np.random.default_rng(seed).integers(0, levels, (length - 1, length)).astype(float)
    found = cheapest_path(costs, horizon, inputs, cost)
    assert tuple(found) == oracles.best_path(costs.tolist(), horizon, inputs, cost)
