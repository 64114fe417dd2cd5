"""A minute's part of `make soak`: random networks, and runs that mix all that a training loop does."""

import pytest

from traced_soak import try_network, try_run

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning"),  # torch.compile imports what torch deprecates
    pytest.mark.filterwarnings("ignore:The losses should be traced", "ignore:.*one backward pass for each environment"),
]


@pytest.mark.parametrize("number", range(3))
def test_random_networks(number):
    assert try_network(number) is None


@pytest.mark.parametrize("number", range(2))
def test_mixed_runs(number):
    try_run(number, actions=6)
