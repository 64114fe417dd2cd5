import os
import subprocess
import sys
from pathlib import Path

import pytest

from claimlab.errors import LabError, UsageError
from claimlab.running import storage
from claimlab.running.runfiles import run_folders
from claimlab.running.storage import ensure_file, is_locked, locked, read_current, words_of, write_atomically, write_together
from claimlab.running.watching.status import STATUS, clean, status
from fake_commands import full


def test_a_failed_write_leaves_the_old_content(tmp_path, monkeypatch):
    path = tmp_path / "claims.json"
    write_atomically(path, "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["claims.json"]


def test_readers_never_see_half_a_file(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_atomically(path, "a" * 1_000_000)
    with path.open() as reader:
        write_atomically(path, "b" * 1_000_000)
        assert set(reader.read()) == {"a"}  # whoever reads the old file goes on reading the old file
    assert set(path.read_text()) == {"b"}


def test_a_file_is_not_written_over_a_folder(tmp_path):
    ensure_file(tmp_path / "new" / "file", "--to")
    with pytest.raises(UsageError, match=r"--to should name a file. Found the folder"):
        ensure_file(tmp_path / "new", "--to")


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (OSError("file not found"), "file not found"),
        (OSError(2, "No such file or directory", "a.gz"), "No such file or directory a.gz"),
        (OSError(28, "No space left on device"), "No space left on device seed-0"),
    ],
)
def test_files_that_cannot_be_used_are_named(error, found):
    sentence = f"Files should be readable and writable. Found: {found}. Fix that and try again."
    assert words_of(error, Path("seed-0")) == sentence


@pytest.mark.parametrize("sentence", ["It should hold a.gz. Found none. Load it.", "A file should be here. Found none."])
def test_a_sentence_is_not_put_into_another_one(sentence):
    assert words_of(FileNotFoundError(sentence), Path("seed-0")) == sentence


def test_a_folder_has_one_holder_at_a_time(tmp_path):
    with locked(tmp_path), pytest.raises(LabError, match="Found another that writes"), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]  # removing it would let two in


@pytest.mark.skipif(os.name == "nt", reason="no flock")
def test_a_lock_that_may_not_be_written_says_whether_it_is_held(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    with locked(tmp_path):
        monkeypatch.setattr("filelock.FileLock.acquire", refuse)
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        write_together(tmp_path, {"rows.jsonl.gz": b"rows"})
    assert "rows.jsonl.gz" in words_of(raised.value)


def test_a_killed_holder_lets_go(tmp_path):
    code = "import os, sys, pathlib; from claimlab.running.storage import locked\n"
    code += "with locked(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False).returncode == -9
    assert (tmp_path / ".lock").exists()
    (tmp_path / ".rows.jsonl.1.tmp").write_text("left behind")
    with locked(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


def test_a_reader_looks_again_for_what_a_writer_moves(tmp_path, monkeypatch):
    write_together(tmp_path, {"a": "old"})
    found = iter([tmp_path / ".committed" / "a", tmp_path / "a"])
    monkeypatch.setattr(storage, "current", lambda folder, name: next(found))
    assert read_current(tmp_path, "a") == b"old"
    monkeypatch.undo()
    assert read_current(tmp_path, "b") is None


def test_a_folder_that_a_writer_removes_meanwhile_is_passed_over(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name / ".committed").mkdir(parents=True)
        (tmp_path / name / ".committed" / "run.json").write_text("{}")
        (tmp_path / name / STATUS).write_text("{}")
    real = os.scandir

    def scandir(place):
        if os.fspath(place) == str(tmp_path / "one" / ".committed"):
            raise FileNotFoundError(place)
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir)
    assert run_folders(tmp_path) == [tmp_path / "two"]
    assert run_folders(tmp_path, ("run.json", ".status.*")) == [tmp_path / "one", tmp_path / "two"]
    assert [one.state for one in status(tmp_path)] == ["damaged", "damaged"]
    assert len(clean(tmp_path, older=False, half=True, dry_run=True)) == 2


def test_a_folder_by_the_name_of_the_file_is_found_too(tmp_path):
    (tmp_path / "run" / "run.json").mkdir(parents=True)
    assert run_folders(tmp_path) == [tmp_path / "run"]
