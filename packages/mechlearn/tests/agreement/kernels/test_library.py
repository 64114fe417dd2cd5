"""How the shared library is built, kept, checked and loaded: never what somebody else put there, never half a file."""

import ctypes
import os
import shutil
import subprocess

import pytest

from mechlearn.agreement.kernels import library
from mechlearn.agreement.kernels.library import BuildError, loaded

pytestmark = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="there is no C compiler on the path"
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache; the folder of the kernels in it."""
    try:
        library._check_private(tmp_path)
    except PermissionError as reason:
        pytest.skip(f"no place for a cache that is trusted: {reason}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mechlearn" / "kernels"


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """A cache in which the library was built."""
    folder = tmp_path_factory.mktemp("once")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        loaded()
    return folder


@pytest.fixture
def built(once, cache):
    """The folder of the kernels in a cache where they have been built before: a compiler takes most of the time."""
    shutil.copytree(once, cache.parent.parent)
    return cache


@pytest.fixture
def opened(monkeypatch):
    """The paths that are loaded."""
    paths = []

    class Spy(ctypes.CDLL):
        def __init__(self, path):
            paths.append(path)
            super().__init__(path)

    monkeypatch.setattr(ctypes, "CDLL", Spy)
    return paths


def only(folder):
    (file,) = folder.iterdir()
    return file


def test_built_once_for_all_processes(cache, monkeypatch):
    assert loaded().mechlearn_and_mask
    file = only(cache)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(library, "_build", lambda *_: pytest.fail("built twice"))
    loaded()
    assert only(cache) == file


def test_whatever_the_umask(cache, monkeypatch):
    before = os.umask(0)
    try:
        loaded()
    finally:
        os.umask(before)
    monkeypatch.setattr(library, "_build", lambda *_: pytest.fail("what others may write is not loaded"))
    loaded()
    assert only(cache).stat().st_mode & 0o777 == 0o700


def test_built_anew_for_other_options(cache, monkeypatch):
    loaded()
    monkeypatch.setattr(library, "OPTIONS", (*library.OPTIONS, "-g"))
    loaded()
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize("damage", ["half", "nothing", "one bit"])
def test_a_damaged_library_is_built_again(built, damage):
    """Half a file ended the process with SIGBUS, at every start."""
    loaded()
    file = only(built)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    file.unlink()  # the process has it in memory: a file of its own, not other bytes in this one
    file.write_bytes({"half": whole[: len(whole) // 2], "nothing": b"", "one bit": bytes(flipped)}[damage])
    file.chmod(0o700)
    assert loaded().mechlearn_and_mask
    assert only(built).read_bytes() == whole


def test_a_file_with_the_right_name_and_another_digest_is_not_run(built, tmp_path):
    loaded()
    file = only(built)
    source, mark = tmp_path / "planted.c", tmp_path / "ran"
    source.write_text(
        f'#include <stdio.h>\n__attribute__((constructor)) static void run(void) {{ fopen("{mark}", "w"); }}\n'
        "int mechlearn_and_mask, mechlearn_add_signs;\n"
    )
    planted = tmp_path / "planted.so"
    subprocess.run([shutil.which("cc") or "gcc", "-shared", "-fPIC", str(source), "-o", str(planted)], check=True)
    stem = file.name.rpartition("-")[0]
    file.unlink()  # the process has it in memory
    for name in (file.name, f"{stem}.so", f"{stem}-0.so"):
        shutil.copy(planted, built / name)
    loaded()
    assert not mark.exists()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_folder_that_others_may_write_is_left_alone(built, mode, opened):
    loaded()
    built.chmod(mode)
    assert loaded().mechlearn_and_mask
    assert opened[0].startswith(str(built))
    assert not opened[1].startswith(str(built))
    assert not os.path.exists(opened[1])  # it was built into a private folder, which is gone


def test_a_file_that_others_may_write_is_built_again(built):
    loaded()
    only(built).chmod(0o722)
    loaded()
    assert only(built).stat().st_mode & 0o777 == 0o700


def test_a_link_is_not_followed(built, tmp_path):
    loaded()
    file = only(built)
    file.rename(tmp_path / "elsewhere.so")
    file.symlink_to(tmp_path / "elsewhere.so")
    loaded()
    assert not only(built).is_symlink()


def test_what_belongs_to_somebody_else_is_left_alone(built, monkeypatch, opened):
    loaded()
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    loaded()
    assert not opened[1].startswith(str(built))


def test_a_folder_above_that_everybody_may_write_is_left_alone(built, opened):
    loaded()
    built.parent.chmod(0o777)
    loaded()
    assert not opened[1].startswith(str(built))
    built.parent.chmod(0o1777)  # as /tmp is: nobody but the owner may move what is in it
    loaded()
    assert opened[2].startswith(str(built))


def test_a_relative_cache_is_ignored(tmp_path, monkeypatch, opened):
    """It would load code from the folder that a process happens to be in."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(home))
    loaded()
    assert not (tmp_path / "cache").exists()
    assert opened[0].startswith(str(home / ".cache"))


@pytest.mark.parametrize("home", [None, "", "here"])
def test_without_a_home_it_is_built_into_a_private_folder(tmp_path, monkeypatch, opened, home):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    if home is not None:
        monkeypatch.setenv("HOME", home)
    assert loaded().mechlearn_and_mask
    assert not os.path.exists(opened[0])
    assert not list(tmp_path.iterdir())


def test_in_a_private_folder_where_the_cache_cannot_be_written(cache):
    cache.parent.parent.write_text("a file where the cache should be")
    assert loaded().mechlearn_and_mask


def test_a_compiler_that_fails(cache, tmp_path, monkeypatch):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho first >&2; echo no room on the disk >&2; exit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(BuildError, match="fails: no room on the disk"):
        loaded()
    assert not list(cache.iterdir())
