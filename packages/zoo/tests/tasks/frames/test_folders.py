import numpy as np
import pytest
import torch
from PIL import Image

from mechlearn_zoo.tasks.frames.folders import read_episodes

TABLE = """file,episode,ended,left,gas
a0.png,a,0,-1,0.5
a1.png,a,0,1,0.25
a2.png,a,1,,
b0.png,b,0,0,1
b1.png,b,0,,
"""


@pytest.fixture
def folder(tmp_path):
    for shade, name in enumerate(("a0", "a1", "a2", "b0", "b1")):
        Image.fromarray(np.full((8, 8, 3), 10 * shade, dtype=np.uint8)).save(tmp_path / f"{name}.png")
    (tmp_path / "actions.csv").write_text(TABLE)
    return tmp_path


def test_a_folder_becomes_episodes(folder):
    found = read_episodes(folder, 4)
    assert found.frames.shape == (2, 3, 3, 4, 4)
    assert found.frames[:, :, 0, 0, 0].tolist() == [[0, 10, 20], [30, 40, 40]]
    assert found.actions.tolist() == [[[-1, 0.5], [1, 0.25]], [[0, 1], [0, 0]]]
    assert found.ended.tolist() == [[False, True], [False, False]]
    assert torch.equal(found.lengths, torch.tensor([2, 1]))
    assert len(found.shown()) == 5


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("file,episode", "picture,episode", "columns file, episode, ended"),
        ("left,gas", "gas,gas", "Found gas twice"),
        ("b0.png,b,", "b0.png,c,", "two frames or more"),
        ("a1.png,a,0,1,0.25", "a1.png,a,0,1,fast", "`gas` should be a finite number"),
        ("a1.png,a,0,1,0.25", "a1.png,a,0,nan,0", "`left` should be a finite number"),
        ("b1.png,b,0,,\n", "b1.png,b,0,,\na2.png,a,0,,\n", "in two places"),
    ],
)
def test_bad_tables_are_refused(folder, old, new, message):
    (folder / "actions.csv").write_text(TABLE.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_episodes(folder, 4)


def test_what_is_missing_is_named(folder, tmp_path_factory):
    (folder / "b1.png").unlink()
    with pytest.raises(FileNotFoundError, match=r"b1\.png"):
        read_episodes(folder, 4)
    with pytest.raises(FileNotFoundError, match="a row for each frame"):
        read_episodes(tmp_path_factory.mktemp("empty"), 4)
    with pytest.raises(ValueError, match="size"):
        read_episodes(folder, 0)


def test_a_table_may_begin_with_a_byte_order_mark(folder):
    expected = read_episodes(folder, 4)
    (folder / "actions.csv").write_text(TABLE, encoding="utf-8-sig")
    assert torch.equal(read_episodes(folder, 4).actions, expected.actions)


@pytest.mark.parametrize("content", [b"no picture", None])
def test_broken_pictures_are_named(folder, content):
    whole = (folder / "b1.png").read_bytes()
    (folder / "b1.png").write_bytes(content or whole[:45])
    with pytest.raises(ValueError, match=r"b1\.png', which cannot be read"):
        read_episodes(folder, 4)
