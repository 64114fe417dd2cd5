import os

from claimlab.running.runfiles import run_folders
from claimlab.running.watching.leftovers import clean
from claimlab.running.watching.status import STATUS, status


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
