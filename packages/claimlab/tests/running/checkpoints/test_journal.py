"""Rows of an unfinished seed are appended, each once, wherever it was killed: a long seed's checkpoint is a short one's."""

import pytest

from claimlab import checkpoint
from claimlab.errors import LabError
from claimlab.running.checkpoints import files
from claimlab.running.checkpoints.files import Journal, files_of, previous
from fake_commands import full


def kept(keeper, steps, name="loop"):
    """Keeps a row in each of some steps, and hands it to the worker as `run` does."""
    found = keeper()
    saved = checkpoint(name)
    for step in range(saved.done + 1, steps + 1):
        found.rows.append({"seed": 0, **saved.keep(step, {"step": step})})
    return found, saved


def test_a_checkpoint_grows_by_its_news_alone(keeper, tmp_path):
    found, saved = kept(keeper, 3)
    path, _, journal = files_of(found._path)
    size, lines = path.stat().st_size, journal.read_bytes()
    saved.keep(4, {"step": 4})
    assert journal.read_bytes().startswith(lines)
    assert len(journal.read_bytes()) < len(lines) + 80
    kept(keeper, 200)
    assert abs(path.stat().st_size - size) < 40
    assert len(journal.read_text().splitlines()) == 199 + 200 - 1  # its values and rows, the last step's row not yet


@pytest.mark.parametrize("more", [b"", b'["loop", {"st', b'["loop", {"step": 99}]\n[null, {"seed": 0, "step": 99}]\n'])
def test_what_was_written_behind_the_last_checkpoint_does_not_count(keeper, more):
    found, _ = kept(keeper, 5)
    journal = files_of(found._path)[2]
    with journal.open("ab") as file:
        file.write(more)
    again, saved = kept(keeper, 7)
    assert [value["step"] for value in saved.values] == [1, 2, 3, 4, 5, 6, 7]
    assert [row["step"] for row in again.rows] == [1, 2, 3, 4, 6, 7]  # the worker hears of a row after `keep`
    assert b"99" not in journal.read_bytes()


@pytest.mark.parametrize("damage", [lambda data: data[:5], lambda data: data.replace(b'"step": 1}', b'"step": 7}', 1), None])
def test_a_damaged_journal_is_named_and_the_seed_begins_again(keeper, damage):
    found, _ = kept(keeper, 5)
    journal = files_of(found._path)[2]
    journal.unlink() if damage is None else journal.write_bytes(damage(journal.read_bytes()))
    again = keeper()
    assert (again.rows, checkpoint("loop").done) == ([], 0)
    assert len(keeper.said) == 2  # the last one and the one before
    assert all("A checkpoint should be as it was written" in text and journal.name in text for text in keeper.said)


def test_a_seed_goes_on_from_the_checkpoint_before_with_its_part_of_the_journal(keeper):
    found, _ = kept(keeper, 5)
    found._path.write_bytes(b"damaged")
    again = keeper()
    assert checkpoint("loop").values == [{"step": step} for step in range(1, 5)]
    assert [row["step"] for row in again.rows] == [1, 2, 3]
    assert previous(found._path).exists()


def test_parts_and_their_loops_keep_their_values_apart(keeper):
    keeper()
    for name in ("one", "two"):
        saved = checkpoint(name)
        saved.keep(1, name)
        saved.finish(name.upper())
    keeper()
    assert [checkpoint(name).values for name in ("one", "two")] == [["one", "ONE"], ["two", "TWO"]]


def test_a_full_disk_loses_no_entry(tmp_path, monkeypatch):
    journal = Journal(tmp_path / "seed-0-aaaaaa.checkpoint.safetensors")
    before = journal.add(["a"])

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", full)
        with pytest.raises(LabError, match="No space left on device"):
            journal.add(["b"])
    assert journal.add([]) == before
    said = journal.add(["c"])
    assert Journal(tmp_path / "seed-0-aaaaaa.checkpoint.safetensors").back_to(tmp_path, said) == ["a", "c"]
