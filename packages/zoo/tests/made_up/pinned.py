"""Digests of first draws: who changes what a generator draws is told to raise its version, which cached files carry."""

import hashlib

import numpy as np
import pytest

from mechlearn_zoo.tasks.caching import version_of


def digest(*arrays, decimals=3):
    """Return eight hex digits of shapes and rounded numbers: another processor's last digits do not count."""
    found = hashlib.sha256()
    for array in map(np.asarray, arrays):
        whole = np.rint(array.astype(np.float64) * 10**decimals).astype(np.int64)
        found.update(str(array.shape).encode() + whole.tobytes())
    return found.hexdigest()[:8]


def assert_pinned(version, arrays, expected, **simulators):
    """Compare version and digest with those pinned, which hold for the named releases of the simulators."""
    for package, release in simulators.items():
        if version_of(package) != release:
            pytest.skip(f"pinned for {package} {release}, but found {version_of(package)}, for which cached files are others")
    advice = "The same seed gives other data: raise VERSION where the generator is defined, and pin the new digest."
    assert (version, digest(*arrays)) == expected, advice


def assert_same_episodes(first, second):
    """Compare all that two data sets of a world hold."""
    for name in ("images", "layouts", "labels"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert all(np.array_equal(a, b) for a, b in zip(first.paths, second.paths, strict=True))
    assert first.rejections == second.rejections
    assert first.settings == second.settings
