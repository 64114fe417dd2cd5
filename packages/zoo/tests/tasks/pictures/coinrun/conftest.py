import sys
from pathlib import Path

import pytest


@pytest.fixture
def python(tmp_path):
    """An "interpreter" that runs the fake simulator whatever script it is given."""
    fake = tmp_path / "python"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("fake_simulator.py")} "$@"\n')
    fake.chmod(0o755)
    return fake
