"""Histories of measurements that no training made."""

import pytest

from mechlearn.integrations import LayerMeasurement, Measurement, SourceMeasurement

NAMES = ["a", "b", "c", "d"]
LAYERS = [f"h.{i}" for i in range(4)]


def measurement(step, cosine, names=NAMES):
    """One in which a function says the cosine of a source in a layer; of pairs it is that of the later one."""
    sources = {s: SourceMeasurement(4, 1.0, 1.0, 1.0, 1.0, cosine(s, None)) for s in names}
    pairs = {(s, t): cosine(t, s) for i, s in enumerate(names) for t in names[i + 1 :]}
    return Measurement(step, sources, pairs, {n: LayerMeasurement(0.5, {s: cosine(s, n) for s in names}) for n in LAYERS})


def history(cosine, count=40, names=NAMES):
    return [measurement(20 * i, lambda s, where, i=i: cosine(i, s, where), names) for i in range(count)]


@pytest.fixture(name="measurement")
def _measurement():
    return measurement


@pytest.fixture(name="history")
def _history():
    return history
