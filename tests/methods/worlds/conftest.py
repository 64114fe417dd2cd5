import jaxtyping
import pytest


@pytest.fixture
def as_installed():
    """Turn the tests' own checks of annotations off: a user meets ours."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
