import os
import sys

import pytest

from mechlearn.nn.saving import safetensors, sha256, write_at_once


def test_a_file_is_old_or_new_and_nothing_is_left_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "card.json"
    write_at_once(path, b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_at_once(path, b"new")
    assert path.read_bytes() == b"old"
    monkeypatch.undo()
    write_at_once(path, b"new")
    assert path.read_bytes() == b"new"
    assert [each.name for each in tmp_path.iterdir()] == ["card.json"]


def test_a_link_in_the_way_is_not_written_through(tmp_path):
    other = tmp_path / "other"
    other.write_bytes(b"theirs")
    (tmp_path / f".card.json.{os.getpid()}").symlink_to(other)
    write_at_once(tmp_path / "card.json", b"ours")
    assert (other.read_bytes(), (tmp_path / "card.json").read_bytes()) == (b"theirs", b"ours")


def test_a_digest_is_sha256():
    assert sha256(b"abc").startswith("ba7816bf8f01cfea")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(ImportError, match="pip install safetensors"):
        safetensors("torch")
