import pytest
import torch


@pytest.fixture(scope="module", autouse=True)
def _forgotten():
    """Dynamo keeps what it learned of a function's shapes for the whole process: the next tests begin without it."""
    yield
    torch._dynamo.reset()
