"""What can be asked of a CPU alone, for tests that run with their tensors on a GPU (MECHLEARN_DEVICE; see `on_device.py`)."""

import os

import pytest

ON_A_GPU = os.environ.get("MECHLEARN_DEVICE", "") not in ("", "cpu", "pretended")
"""Whether tests' tensors are on a GPU; where one is pretended, arithmetic is a CPU's."""


def cpu_alone(what):
    """Mark tests to be skipped on a GPU; ``what`` says what is the CPU's own."""
    return pytest.mark.skipif(ON_A_GPU, reason=f"a CPU's own: {what}")
