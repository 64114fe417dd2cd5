"""`temporal.c` on lists of tensors: every component once, whatever the list and however many threads share it."""

import shutil

import pytest
import torch

from cpu_alone import cpu_alone
from mechlearn.agreement.kernels import compiled
from mechlearn.agreement.kernels import steps as module
from mechlearn.agreement.kernels.steps import DTYPES, NUMBERS, steps
from mechlearn.agreement.temporal.compiled import _numbers_in_c
from mechlearn.agreement.temporal.steps import Scalars, Tensors, loop_step

pytestmark = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="there is no C compiler on the path"
)

SIZES = [1, 0, 31, 64, 1000, 3, 2]
NUMBERS_OF = Scalars(0.1, (0.5, 0.25, 0.75), 0.4, 1e-3, 0.99, 0.5, True)


@pytest.fixture
def shared(request, monkeypatch):
    """Work that is cut into pieces for several threads, or done in one."""
    monkeypatch.setattr(module, "SHARE", 1 if request.param > 1 else 2**60)
    monkeypatch.setattr(torch, "get_num_threads", lambda: request.param)


def columns(dtype, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return Tensors(*([torch.randn(size, generator=generator).to(dtype).abs() for size in SIZES] for _ in range(5)))


@cpu_alone("steps in C read memory by its address")
@pytest.mark.parametrize("shared", [1, 2, 7, 5000], indirect=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.usefixtures("shared")
def test_a_step_of_many_is_the_loop(dtype, inside):
    found, expected = columns(dtype), columns(dtype)
    numbers = NUMBERS_OF._replace(inside=inside)
    steps().advance(list(zip(*found, strict=True)), _numbers_in_c(numbers))
    loop_step(expected, numbers)
    for some, others in zip(found, expected, strict=True):
        for one, other in zip(some, others, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-12 if dtype == torch.float64 else 1e-5, atol=1e-7)


@cpu_alone("steps in C read memory by its address")
@pytest.mark.parametrize("shared", [1, 7], indirect=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.usefixtures("shared")
def test_the_first_that_is_not_finite(dtype):
    for position, size in enumerate(SIZES):
        for component in {0, size // 2, size - 1} if size else ():
            for value in (float("nan"), float("inf"), -float("inf")):
                tensors = columns(dtype).g
                assert steps().first_nonfinite(tensors) is None
                tensors[position][component] = value
                assert steps().first_nonfinite(tensors) == position


def test_numbers_are_counted():
    with pytest.raises(ValueError, match=f"hold {NUMBERS} numbers.*Found 2"):
        steps().advance([[torch.ones(1)] * 5], [1.0, 2.0])


def test_without_a_compiler_there_are_none(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    compiled.load.cache_clear()
    assert steps.__wrapped__() is None
    compiled.load.cache_clear()
