import contextlib
import ctypes
import gc
import inspect
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import distill_models as models
from cpu_alone import cpu_alone
from mechlearn.distill import (
    SGD,
    Adam,
    Adjoint,
    Batches,
    Checkpoint,
    Hoisting,
    Implicit,
    Labelled,
    Truncated,
    Unroll,
    forecast_memory,
    meta_gradient,
)


def _settle():
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone has it: give back what was freed
        ctypes.CDLL(None).malloc_trim(0)


def _status(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:"))


WIDTH, BATCH, STEPS = 256, 512, 8
PLAIN, STEPPING = Unroll(), SGD(0.1)


def problem():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        student = nn.Sequential(nn.Linear(64, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 3))
        teacher = nn.Sequential(nn.Linear(64, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
    batches = Batches(*(models.randn(k, STEPS, BATCH, 64).float() for k in (0, 1)), models.labels(2, STEPS, BATCH))
    validation = Labelled(models.randn(3, BATCH, 64).float(), models.labels(4, BATCH))
    return models.lesson(student, teacher, ["0"], alpha=1.0), batches, validation


def chunked(lesson, chunk):
    return replace(lesson, hoisting=Hoisting(chunk=chunk))


CASES = [
    (Unroll(), SGD(0.1), None),
    (Unroll(), Adam(), 2),
    (Checkpoint(2), SGD(0.1, 0.9), None),
    (Truncated(4), SGD(0.1), 2),
    (Adjoint(), Adam(), 2),
]


@cpu_alone("the memory of the process, by the kernel's high-water mark")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the kernel's high-water mark, which Linux has")
@pytest.mark.parametrize(("strategy", "inner", "chunk"), CASES)
def test_the_forecast_is_within_a_factor_of_two_of_what_is_measured(strategy, inner, chunk):
    lesson, batches, validation = problem()
    lesson = chunked(lesson, chunk)
    rehearsal = Batches(*(part[:1, :4] for part in batches))  # loads what is loaded on first use
    meta_gradient(lesson, rehearsal, Labelled(*(part[:4] for part in validation)), inner, strategy)
    forecast = forecast_memory(lesson, batches, validation, inner, strategy)
    gc.collect()
    _settle()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    meta_gradient(lesson, batches, validation, inner, strategy)
    measured = _status("VmHWM") - before
    assert forecast.peak / 2 < measured < forecast.peak * 2
    assert forecast.peak <= forecast.teacher + forecast.signals + forecast.student + 2**21


def test_strategies_trade_memory_as_they_say():
    lesson, *data = problem()

    def peak(strategy=PLAIN, inner=STEPPING, chunk=None):
        return forecast_memory(chunked(lesson, chunk), *data, inner, strategy).peak

    assert peak(Adjoint(), chunk=2) < peak(Checkpoint(), chunk=2) < peak(chunk=2) < peak()
    assert peak(Adjoint(), Adam(), chunk=2) > peak(Adjoint(), SGD(0.1, 0.9), chunk=2)
    assert peak(Implicit(), chunk=2) < peak(chunk=2)


def shared(function):
    """Name, kind and default of each of a function's parameters but the two that bear on values alone."""
    parameters = inspect.signature(function).parameters.values()
    return [
        (parameter.name, parameter.kind, parameter.default)
        for parameter in parameters
        if parameter.name not in ("clip", "start")
    ]


def test_what_is_forecast_takes_what_is_computed_takes():
    assert shared(forecast_memory) == shared(meta_gradient)


class Shifting(nn.Module):
    """A teacher that writes into what it reads."""

    def __init__(self):
        super().__init__()
        self.layer = models.filled(nn.Linear(4, 5), 1)

    def forward(self, x):
        x -= 0.5
        return self.layer(x)


def test_a_forecast_leaves_the_data_as_they_are():
    batches, validation = models.data()
    forecast_memory(models.lesson(models.student("mlp"), Shifting(), ["0"]), batches, validation, SGD(0.1))
    assert torch.equal(batches.privileged, models.data()[0].privileged)
