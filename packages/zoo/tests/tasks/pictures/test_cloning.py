import pytest
import torch

from mechlearn_zoo.tasks.pictures import cloning
from mechlearn_zoo.tasks.pictures.cloning import Recording, States


def states(levels, actions=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    frames = torch.randint(0, 256, (len(levels), 6, 6, 3), dtype=torch.uint8, generator=generator)
    return States(frames, torch.rand(len(levels), actions, generator=generator).softmax(1), torch.tensor(levels))


def recording():
    return Recording(states([4, 4, 1]), states([7]), states([8, 9]), {"source": "a test"})


def test_a_file_gives_back_what_was_written(tmp_path):
    cloning.write(recording(), tmp_path / "r")
    found = cloning.read(tmp_path / "r")
    assert found.about == {"source": "a test"}
    for one, other in zip(found[:3], recording()[:3], strict=True):
        assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_levels_in_two_parts_and_policies_that_do_not_add_up_are_refused(tmp_path):
    leak = recording()._replace(test=states([8, 4]))
    with pytest.raises(ValueError, match="should not share levels"):
        cloning.write(leak, tmp_path / "r")
    short = recording().test
    with pytest.raises(ValueError, match=r"add up to 1\. Found 0\.9 in test"):
        cloning.write(recording()._replace(test=short._replace(policy=0.9 * short.policy)), tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="mechlearn coinrun collect"):
        cloning.read(tmp_path / "missing")
    cloning.write(recording(), tmp_path / "r")
    whole = (tmp_path / "r").read_bytes()
    (tmp_path / "r").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="Collect it anew"):
        cloning.read(tmp_path / "r")


def test_places_by_level():
    assert [places.tolist() for places in cloning.by_level(recording().train)] == [[2], [0, 1]]


@pytest.mark.usefixtures("as_installed")
def test_what_a_file_does_not_hold_is_refused_when_it_is_written(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"Found none at .*nowhere. Make it first"):
        cloning.write(recording(), tmp_path / "nowhere" / "r")
    own = recording().test
    with pytest.raises(TypeError, match=r"Frames should be bytes.* Found torch\.float32"):
        cloning.write(recording()._replace(test=own._replace(frames=own.frames / 255)), tmp_path / "r")
    negative = own._replace(policy=torch.tensor([[-0.5, 1.5, 0.0]] * 2))
    with pytest.raises(ValueError, match=r"no negative probability. Found -0\.5 in test"):
        cloning.write(recording()._replace(test=negative), tmp_path / "r")
    assert list(tmp_path.iterdir()) == []
