import gc
import inspect
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import distill_models as models
from craik.cli.bench import folder, load_package
from craik.distill import SGD, Adam, Adjoint, Batches, Checkpoint, Labelled, Truncated, forecast_memory, meta_gradient

WIDTH, BATCH, STEPS = 256, 512, 8


def problem():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        student = nn.Sequential(nn.Linear(64, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 3))
        teacher = nn.Sequential(nn.Linear(64, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH))
    batches = Batches(*(models.randn(k, STEPS, BATCH, 64).float() for k in (0, 1)), models.labels(2, STEPS, BATCH))
    validation = Labelled(models.randn(3, BATCH, 64).float(), models.labels(4, BATCH))
    return (student, teacher, batches, validation), {"layers": ["0"], "label_loss": models.label_loss, "alpha": 1.0}


CASES = [
    ("unroll", SGD(0.1), None),
    ("unroll", Adam(), 2),
    (Checkpoint(2), SGD(0.1, 0.9), None),
    (Truncated(4), SGD(0.1), 2),
    (Adjoint(), Adam(), 2),
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the kernel's high-water mark, which Linux has")
@pytest.mark.parametrize(("strategy", "inner", "chunk"), CASES)
def test_the_forecast_is_within_a_factor_of_two_of_what_is_measured(strategy, inner, chunk):
    load_package(folder())
    from craik_benchmarks.measuring.memory import _settle, _status

    arguments, settings = problem()
    settings |= {"strategy": strategy, "inner": inner, "chunk": chunk}
    student, teacher, batches, validation = arguments
    rehearsal = Batches(*(part[:1, :4] for part in batches))  # loads what is loaded on first use
    meta_gradient(student, teacher, rehearsal, Labelled(*(part[:4] for part in validation)), **settings)
    forecast = forecast_memory(*arguments, **settings)
    gc.collect()
    _settle()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    meta_gradient(*arguments, **settings)
    measured = _status("VmHWM") - before
    assert forecast.peak / 2 < measured < forecast.peak * 2
    assert forecast.peak <= forecast.teacher + forecast.signals + forecast.student + 2**21


def test_strategies_trade_memory_as_they_say():
    arguments, settings = problem()

    def peak(**chosen):
        return forecast_memory(*arguments, **settings, **{"inner": SGD(0.1), **chosen}).peak

    assert peak(strategy="adjoint", chunk=2) < peak(strategy="checkpoint", chunk=2) < peak(chunk=2) < peak()
    assert peak(strategy="adjoint", inner=Adam(), chunk=2) > peak(strategy="adjoint", inner=SGD(0.1, 0.9), chunk=2)
    assert peak(strategy="implicit", chunk=2) < peak(chunk=2)


def shared(function):
    """Name, kind and default of each of a function's parameters but the one that bears on values alone."""
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters if parameter.name != "clip"]


def test_what_is_forecast_takes_what_is_computed_takes():
    assert shared(forecast_memory) == shared(meta_gradient)
