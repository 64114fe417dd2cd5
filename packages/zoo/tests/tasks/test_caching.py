import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from mechlearn_zoo.tasks import caching

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
    assert_same(caching.cached(tmp_path, "world", make))
    assert len(made) == 2


def test_a_failed_making_leaves_no_file(tmp_path):
    def fail():
        raise RuntimeError("no boards")

    with pytest.raises(RuntimeError, match="no boards"):
        caching.cached(tmp_path, "world", fail)
    assert not list(tmp_path.glob("*.npz*"))


def test_a_second_process_waits_for_the_first(tmp_path):
    code = (
        "import pathlib, sys, time, numpy\n"
        "from mechlearn_zoo.tasks import caching\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "def make():\n"
        "    (folder / f'made-{time.monotonic_ns()}').touch()\n"
        "    time.sleep(0.3)\n"
        "    return {'x': numpy.arange(3)}\n"
        "assert caching.cached(folder, 'world', make)['x'].tolist() == [0, 1, 2]\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)]) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert len(list(tmp_path.glob("made-*"))) == 1


def test_a_key_changes_with_version_arguments_and_the_simulators_version(monkeypatch):
    first = caching.key_of(1, ("board", 3), ["numpy"])
    assert first == caching.key_of(1, ("board", 3), ["numpy"])
    assert first != caching.key_of(1, ("board", 4), ["numpy"])
    assert first != caching.key_of(2, ("board", 3), ["numpy"])
    monkeypatch.setattr(caching, "version_of", lambda package: f"another {package}")
    assert first != caching.key_of(1, ("board", 3), ["numpy"])


def test_the_default_folder_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caching.default_folder() == tmp_path / "mechlearn"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the standard says that relative paths are ignored
    monkeypatch.setenv("HOME", str(tmp_path))
    assert caching.default_folder() == Path(tmp_path, ".cache", "mechlearn")


SCRIPT = """
from pathlib import Path
import numpy as np
from mechlearn_zoo.tasks.caching import cached
from mechlearn_zoo.tasks.generation import draw_many

def draw(generator):
    return generator.random()

def make():
    return {"x": np.array(draw_many(draw, 4, 0, processes=2).items)}
"""


@pytest.mark.parametrize("folder", ["Path(__file__).parent", "None"])
def test_a_script_that_does_not_guard_its_main_part_is_told_and_does_not_hang(tmp_path, folder):
    script = tmp_path / "script.py"
    call = f"print(cached({folder}, 'world', make)['x'].shape)"
    script.write_text(f"{SCRIPT}\n{call}\n", encoding="utf-8")
    found = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)
    assert found.returncode == 1
    # The last line may be the standard library's own on semaphores: it comes from another process, when it likes.
    error = next(line for line in reversed(found.stderr.splitlines()) if line.startswith("RuntimeError: "))
    assert 'below `if __name__ == "__main__":`' in error
    if folder != "None":
        assert "Found it asking for world.npz while it was imported." in found.stderr
    assert not (tmp_path / "world.npz").exists()
    script.write_text(f"{SCRIPT}\nif __name__ == '__main__':\n    {call}\n", encoding="utf-8")
    assert subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=True).stdout == "(4,)\n"


def test_a_new_process_that_imports_its_script_reads_and_makes_other_files(tmp_path, monkeypatch):
    make, made = counted()
    monkeypatch.setattr(caching.current_process(), "_inheriting", True, raising=False)
    monkeypatch.setenv("MECHLEARN_MAKING", str(tmp_path / "other.npz"))
    for _ in range(2):
        assert_same(caching.cached(tmp_path, "world", make))
    assert len(made) == 1
    assert caching.os.environ["MECHLEARN_MAKING"] == str(tmp_path / "other.npz")


def test_a_process_that_waits_for_another_one_says_so(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(caching, "PATIENCE", 0.05)
    make, made = counted()
    held = threading.Event()

    def another():
        with FileLock(tmp_path / "world.lock"):
            held.set()
            time.sleep(0.5)

    other = threading.Thread(target=another)
    other.start()
    assert held.wait(10)
    assert_same(caching.cached(tmp_path, "world", make))
    other.join(10)
    assert caplog.messages == [f"Waiting for another process that makes or reads {tmp_path / 'world.npz'}."]
    assert len(made) == 1


@pytest.mark.usefixtures("as_installed")
def test_a_folder_may_be_a_text(tmp_path):
    make, made = counted()
    for _ in range(2):
        assert_same(caching.cached(str(tmp_path / "new"), "world", make))
    assert len(made) == 1
    with pytest.raises(TypeError, match=r"`cache` should be the path of a file or folder. Found 3"):
        caching.cached(3, "world", make)


def test_versions_of_what_is_and_what_is_not_there():
    assert caching.version_of("numpy")[0].isdigit()
    assert caching.version_of("no-such-package-anywhere") == ""
