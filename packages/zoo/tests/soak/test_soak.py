"""A minute of `make soak`: fifteen runs of four seconds at most, each of cases of its own."""

import time
import warnings

import pytest

from soak import Tally, run

SECONDS, CASES = 4.0, 100


@pytest.mark.parametrize("part", range(15))
def test_networks_at_random(part):
    tally, end = Tally(), time.process_time() + SECONDS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(10**6 + CASES * part, 10**6 + CASES * (part + 1)):
            run(number, tally)
            if time.process_time() > end:
                break
    assert not tally.mismatches, tally.report()
    assert sum(tally.refusals.values()) <= 0.02 * max(50, tally.calls), tally.report()
    for kind in ("noise below 1e-06", "noise below 1e-12"):
        assert tally.apart[kind] <= max(10, 1e-3 * tally.components[kind]), tally.report()  # of many cases, 1e-4
