import numpy as np
import pytest
import torch
from PIL import Image

from mechlearn_zoo.tasks.frames.rope import RopePair, read_pairs, rope_pairs


@pytest.fixture
def folder(tmp_path):
    """Two runs in the published layout: pictures by number, five numbers a row, the last one 0 where the scene was reset."""
    for run, moved in (("run_05", [1, 1, 0, 1]), ("run_11", [1, 1])):
        (tmp_path / run).mkdir()
        for place in range(len(moved)):
            pixels = np.zeros((6, 8, 3), dtype=np.uint8)
            pixels[2:4, 2 + place // 2 : 4 + place // 2] = 255  # moves from the second picture to the third only
            Image.fromarray(pixels).save(tmp_path / run / f"img_{place:04d}.png")
        np.save(tmp_path / run / "actions.npy", np.array([[0.5, 0.5, 0.1, 0.2, m] for m in moved]))
    return tmp_path


def test_pairs_of_the_published_layout(folder):
    names = [(a.parent.name, a.name[4:8], b.name[4:8]) for a, b in rope_pairs(folder)]
    assert names == [("run_05", "0000", "0001"), ("run_05", "0001", "0002"), ("run_11", "0000", "0001")]
    assert [(a.name[4:8], b.name[4:8]) for a, b in rope_pairs(folder, apart=2)] == [("0000", "0002")]
    assert all(isinstance(pair, RopePair) for pair in rope_pairs(folder))


def test_pairs_as_pictures(folder):
    pairs = read_pairs(rope_pairs(folder), size=6)
    assert pairs.shape == (1, 2, 3, 6, 6)  # in the other two nothing changed
    assert float(pairs.min()) == 0.0
    assert float(pairs.max()) == 1.0
    assert torch.equal(pairs[0, 0, :, :, :5], pairs[0, 1, :, :, 1:])
    assert read_pairs(rope_pairs(folder), size=6, least=1.0).shape == (0, 2, 3, 6, 6)


def test_what_is_missing_is_named(folder):
    with pytest.raises(FileNotFoundError, match=r"github\.com/thanard/causal-infogan"):
        rope_pairs(folder / "nowhere")
    np.save(folder / "run_11" / "actions.npy", np.ones((3, 5)))
    with pytest.raises(ValueError, match="2 pictures and actions of shape"):
        rope_pairs(folder)
    (folder / "run_11" / "actions.npy").unlink()
    with pytest.raises(FileNotFoundError, match=r"actions\.npy"):
        rope_pairs(folder)
    with pytest.raises(ValueError, match="apart"):
        rope_pairs(folder, 0)
