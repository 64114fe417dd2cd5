import multiprocessing
import time
from pathlib import Path

import numpy as np
import pytest

from craik.tasks import caching

ARRAYS = {"x": np.arange(2000.0), "names": np.array(["a", "bc"])}


def counted():
    made = []

    def make():
        made.append(1)
        return ARRAYS

    return make, made


def assert_same(found):
    assert found.keys() == ARRAYS.keys()
    assert all(np.array_equal(found[name], ARRAYS[name]) for name in ARRAYS)


def test_made_once_and_read_back(tmp_path):
    make, made = counted()
    for _ in range(2):
        assert_same(caching.cached(tmp_path / "new", "world", make))
    assert len(made) == 1


def test_nothing_is_kept_without_a_folder():
    make, made = counted()
    for _ in range(2):
        assert_same(caching.cached(None, "world", make))
    assert len(made) == 2


@pytest.mark.parametrize("damage", ["truncated", "flipped", "emptied", "text"])
def test_a_damaged_file_is_made_anew(tmp_path, damage):
    make, made = counted()
    caching.cached(tmp_path, "world", make)
    path = tmp_path / "world.npz"
    whole = path.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    path.write_bytes({"truncated": whole[:middle], "flipped": flipped, "emptied": b"", "text": b"no archive"}[damage])
    assert_same(caching.cached(tmp_path, "world", make))
    assert len(made) == 2
    assert path.read_bytes() == whole


def test_a_failed_making_leaves_no_file(tmp_path):
    def fail():
        raise RuntimeError("no boards")

    with pytest.raises(RuntimeError, match="no boards"):
        caching.cached(tmp_path, "world", fail)
    assert not list(tmp_path.glob("*.npz*"))


def make_slowly(folder):
    def make():
        (folder / f"made-{time.monotonic_ns()}").touch()
        time.sleep(0.2)
        return ARRAYS

    caching.cached(folder, "world", make)


def test_a_second_process_waits_for_the_first(tmp_path):
    both = [multiprocessing.get_context("spawn").Process(target=make_slowly, args=(tmp_path,)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert len(list(tmp_path.glob("made-*"))) == 1


def test_a_key_changes_with_settings_and_source(tmp_path):
    source = tmp_path / "physics.py"
    source.write_text("a = 1")
    first = caching.key_of(("board", 3), [source])
    assert first == caching.key_of(("board", 3), [source])
    assert first != caching.key_of(("board", 4), [source])
    source.write_text("a = 2")
    assert first != caching.key_of(("board", 3), [source])


def test_the_default_folder_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caching.default_folder() == tmp_path / "craik"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says that relative paths are ignored
    monkeypatch.setenv("HOME", str(tmp_path))
    assert caching.default_folder() == Path(tmp_path, ".cache", "craik")
