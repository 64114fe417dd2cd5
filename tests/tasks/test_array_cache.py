import threading

import numpy as np
import pytest

from craik.tasks.array_cache import cache_folder, cached_arrays


def test_arrays_are_made_once_for_the_same_settings(tmp_path):
    calls = []

    def make():
        calls.append(1)
        return {"a": np.arange(3.0), "b": np.ones((2, 2))}

    first = cached_arrays("thing", {"seed": 1}, make, tmp_path)
    again = cached_arrays("thing", {"seed": 1}, make, tmp_path)
    assert len(calls) == 1
    assert first.keys() == again.keys() == {"a", "b"}
    np.testing.assert_array_equal(again["a"], np.arange(3.0))
    cached_arrays("thing", {"seed": 2}, make, tmp_path)
    assert len(calls) == 2


def test_whoever_comes_second_waits(tmp_path):
    calls, inside, go_on = [], threading.Event(), threading.Event()

    def make():
        calls.append(1)
        inside.set()
        go_on.wait(5)
        return {"a": np.zeros(1)}

    threads = [threading.Thread(target=cached_arrays, args=("x", {}, make, tmp_path)) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait(5)
    go_on.set()
    for thread in threads:
        thread.join()
    assert len(calls) == 1


def test_a_failure_leaves_nothing_that_looks_like_a_cache(tmp_path):
    def fail():
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        cached_arrays("x", {}, fail, tmp_path)
    assert not list(tmp_path.glob("*.npz"))
    assert cached_arrays("x", {}, lambda: {"a": np.zeros(2)}, tmp_path)["a"].shape == (2,)


def test_an_unreadable_file_is_named(tmp_path):
    cached_arrays("x", {}, lambda: {"a": np.zeros(2)}, tmp_path)
    path = next(tmp_path.glob("*.npz"))
    path.write_bytes(b"half")
    with pytest.raises(ValueError, match=f"Found {path} is not"):
        cached_arrays("x", {}, lambda: {"a": np.zeros(2)}, tmp_path)


def test_the_folder_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "craik"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "craik"
    assert cache_folder(tmp_path / "mine") == tmp_path / "mine"
