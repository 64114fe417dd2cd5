import hashlib

import pytest

from claimlab.errors import LabError
from claimlab.running.provenance.source_tree import code_of, folder_of, source_digest


def literal(*packages):
    """The definition: each file's name below its package, and what is in it, in the order of the paths."""
    digest = hashlib.sha256()
    for folder in map(folder_of, packages):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in (".py", ".c")):
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def test_the_digest_is_that_of_names_and_contents():
    assert source_digest("fake_experiments") == literal("fake_experiments", "claimlab")


@pytest.fixture
def another(tmp_path, monkeypatch):
    folder = tmp_path / "somebodys_own"
    for name in ("__init__.py", "a/b.py", "a/b/c.py", "a-b/c.py", "a.b/c.c", "a.py", "z/data.csv", "z/.py"):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder


def test_another_package_is_digested_before_the_lab(another):
    found = source_digest("somebodys_own.experiments")
    assert found == literal("somebodys_own", "claimlab") != source_digest("fake_experiments")
    another.joinpath("z", "data.csv").write_text("no source")
    assert source_digest("somebodys_own") == found
    another.joinpath("a", "b.py").write_text("edited")
    assert source_digest("somebodys_own") != found


def test_what_an_editor_leaves_is_no_source(another):
    found = source_digest("somebodys_own")
    another.joinpath("a", ".#b.py").symlink_to("somebody@host.1234:5678")
    another.joinpath(".ipynb_checkpoints").mkdir()
    another.joinpath(".ipynb_checkpoints", "b.py").write_text("as it was")
    assert source_digest("somebodys_own") == found


def test_a_package_that_nobody_has_is_a_sentence():
    with pytest.raises(LabError, match="found none named 'nobody_has'; install it, or name it with --package"):
        code_of("nobody_has.experiments")
