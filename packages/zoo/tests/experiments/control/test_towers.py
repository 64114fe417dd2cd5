import pytest
import torch

from mechlearn_zoo.experiments.control.one_shot_towers.towers import (
    TABLE,
    demonstrate,
    expert,
    move,
    scattered,
    solved,
    standing,
    tasks,
)


def starts(count, blocks, seed=0):
    return scattered(count, blocks, torch.Generator().manual_seed(seed))


def test_tasks_are_orders_without_circles():
    found = tasks(4)
    assert len(found) == len(found.unique(dim=0)) == 72
    for below in found.tolist():
        bases = [base for base in below if base != TABLE]
        assert len(set(bases)) == len(bases)
        for block in range(4):
            path = [block]
            while path[-1] != TABLE:
                path.append(below[path[-1]])
                assert len(path) <= 5


def test_the_expert_builds_every_task():
    below = tasks(4)
    found = demonstrate(starts(72, 4), below)
    ends = found.frames[torch.arange(72), found.present.sum(1) - 1]
    assert solved(ends, below).all()
    assert torch.equal(found.present.sum(1) - 1, (below != TABLE).sum(1))  # no move too many
    assert (found.movers >= 0).sum(1).eq(found.present.sum(1) - 1).all()


def test_moves_stack_free_blocks_only():
    positions = starts(1, 3)
    one = move(positions, torch.tensor([0]), torch.tensor([1]))
    assert standing(one).tolist() == [[1, TABLE, TABLE]]
    assert torch.equal(move(one, torch.tensor([2]), torch.tensor([1])), one)  # 1 is covered
    assert torch.equal(move(one, torch.tensor([1]), torch.tensor([2])), one)
    assert torch.equal(move(one, torch.tensor([2]), torch.tensor([2])), one)
    assert standing(move(one, torch.tensor([2]), torch.tensor([0]))).tolist() == [[1, TABLE, 0]]


def test_an_expert_with_nothing_to_do_says_so():
    below = torch.tensor([[1, TABLE, TABLE]])
    done = move(starts(1, 3), torch.tensor([0]), torch.tensor([1]))
    assert [part.tolist() for part in expert(done, below)] == [[-1], [-1]]


def test_starts_are_apart():
    found = starts(50, 5)
    assert (torch.cdist(found, found) + 10 * torch.eye(5)).min() >= 0.4
    with pytest.raises(ValueError, match="smaller distance"):
        scattered(1, 5, torch.Generator(), near=3.0)


def test_tasks_that_cannot_be_built_are_refused():
    with pytest.raises(ValueError, match=r"one block onto a block.* Found block 1, which cannot be put onto 2, in .* 1\."):
        demonstrate(starts(2, 3), torch.tensor([[TABLE, 0, 1], [2, 2, TABLE]]))
    covered = move(starts(1, 3), torch.tensor([2]), torch.tensor([0]))
    with pytest.raises(ValueError, match=r"Found block 0, which cannot be put onto 1"):
        demonstrate(covered, torch.tensor([[1, TABLE, TABLE]]))
