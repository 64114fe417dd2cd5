import pytest
import torch

from mechlearn_zoo.methods.control import collect
from mechlearn_zoo.tasks.agents.catch import Board, Catch
from mechlearn_zoo.tasks.agents.vectors import vector_env


def made(variants=range(8), **board):
    envs = Catch(list(variants), torch.Generator(), Board(**board))
    envs.reset(seed=3)
    return envs


def literal(variant, row, ball, dim, paddle, rows=10, columns=5):
    """The picture by its description, a cell at a time."""
    picture = [[0.0] * columns for _ in range(rows + 1)]
    for bit in range(3):
        picture[0][bit] = float(variant // 2**bit % 2)
    for height, column, light in ((row, dim, 0.5), (row, ball, 1.0), (rows - 1, paddle, 1.0)):
        if column >= 0:
            place = column + variant // 2
            picture[1 + height][(columns - 1 - place if variant % 2 else place) % columns] = light
    return picture


def test_pictures():
    envs = made(prizes=(6, 7))
    for _ in range(25):
        at = envs._at
        for b in range(8):
            assert envs.pictures()[b].tolist() == literal(b, *(int(part[b]) for part in at))
        envs.step(torch.randint(3, (8,), generator=torch.Generator().manual_seed(int(at.row[0]))))


def towards(envs, column):
    return (column - envs._at.paddle).sign() + 1


def test_rewards():
    scales = (0.1, 1.0, 10.0, 100.0, 1000.0, 1.0, 100.0, 100.0)
    envs = made(scales=scales, prizes=(6, 7))
    for column, worth in (("ball", 0.01), ("dim", 1.0)):
        for step in range(9):
            target = getattr(envs._at, column)
            *_, rewards, over, cut, infos = envs.step(towards(envs, torch.where(target < 0, envs._at.ball, target)))
            assert bool(over.all()) == (step == 8) == ("final_obs" in infos)
        assert not cut.any()
        expected = [scale * (worth if v in (6, 7) else 1.0) for v, scale in enumerate(scales)]
        assert rewards.tolist() == pytest.approx(expected)
    for _ in range(9):  # away from it
        ball = envs._at.ball
        away = torch.where(ball < 2, 2, 0)
        rewards = envs.step(away)[1]
    assert (rewards[:6] == -torch.tensor(scales)[:6]).all()


def test_a_seed_repeats():
    one, other = made(), made()
    other.step(torch.zeros(8, dtype=torch.long))
    assert torch.equal(one.reset(seed=5)[0], other.reset(seed=5)[0])
    assert not torch.equal(one.reset(seed=5)[0], other.reset(seed=6)[0])


def test_gymnasiums_face():
    def uniform(observations, generator):
        return torch.randint(3, (len(observations),), generator=generator), torch.full((len(observations),), -1.0986)

    ours = collect(made(), uniform, 20, torch.Generator().manual_seed(1))
    theirs = collect(vector_env(made()), uniform, 20, torch.Generator().manual_seed(1))
    assert torch.equal(ours.observations, theirs.observations)
    assert torch.equal(ours.rewards, theirs.rewards)
    face = vector_env(made())
    assert face.action_space.shape == (8,)
    assert face.single_observation_space.shape == (11, 5)


def test_bad_input():
    with pytest.raises(ValueError, match=r"between 0 and 7. Found \[0, 8\]"):
        Catch([0, 8], torch.Generator())
    with pytest.raises(ValueError, match="at least one environment"):
        Catch(torch.zeros(0, dtype=torch.long), torch.Generator())
    with pytest.raises(ValueError, match="8 positive numbers"):
        Board(scales=(1.0,))
    with pytest.raises(ValueError, match="`columns` should be at least 3"):
        Board(columns=2)
    with pytest.raises(ValueError, match="8 integers from 0 to 2"):
        made().step(torch.full((8,), 3))


def test_a_reset_without_a_seed_goes_on():
    face = vector_env(made(range(8)))
    seen = [face.reset(seed=5)[0], face.reset()[0], face.reset()[0]]
    assert not (seen[0] == seen[1]).all()
    assert not (seen[1] == seen[2]).all()
    assert (face.reset(seed=5)[0] == seen[0]).all()
    assert (face.reset()[0] == seen[1]).all()


@pytest.mark.usefixtures("as_installed")
def test_variants_and_seeds_are_whole():
    with pytest.raises(TypeError, match=r"`variants` should be whole numbers. Found torch.float32"):
        Catch([0.9, 1.7], torch.Generator())
    with pytest.raises(TypeError, match=r"`seed` should be a whole number: one for all environments. Found .* of type list"):
        vector_env(made()).reset(seed=[1, 2])
