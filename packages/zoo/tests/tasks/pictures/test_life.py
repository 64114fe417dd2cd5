import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import distill_worlds_oracles as oracles
from mechlearn.distill import TimeMixture
from mechlearn_zoo.tasks.pictures.life import STEPS, life, next_board, oracle_logits


@given(st.integers(0, 2**31), st.sampled_from([1, 2, 3, 6]), st.floats(0.05, 0.95))
def test_a_generation_follows_the_literal_rules(seed, side, alive):
    boards = (torch.rand(3, side, side, generator=torch.Generator().manual_seed(seed)) < alive).float()
    expected = torch.tensor([oracles.next_board(board) for board in boards.int().tolist()])
    assert torch.equal(next_board(boards).int(), expected.int())


def test_a_blinker_blinks_and_a_block_stays():
    blinker = torch.zeros(1, 5, 5)
    blinker[0, 2, 1:4] = 1
    assert torch.equal(next_board(blinker), blinker.transpose(1, 2))
    block = torch.zeros(1, 4, 4)
    block[0, 1:3, 1:3] = 1
    assert torch.equal(next_board(block), block)


def test_frames_are_shuffled_in_one_order_that_is_told():
    orders = set()
    for seed in range(8):
        found = life(seed, examples=20, side=7, selection=1, test=3)
        orders.add(tuple(found.frame_of_step.tolist()))
        for split in found.data:
            board = split.x
            for step in range(STEPS):
                board = next_board(board)
                assert torch.equal(split.privileged[:, found.frame_of_step[step]], board)
            assert torch.equal(split.y, board[:, 3, 3])
    assert len(orders) > 1


def test_the_edge_of_the_full_board_cannot_be_felt_in_the_middle():
    """Four cells from the middle decide three generations at most; 17 a side leaves eight."""
    x = life(0, examples=50).data.train
    inner = x.x[:, 4:13, 4:13]
    board = inner
    for _ in range(STEPS):
        board = next_board(board)
    assert torch.equal(board[:, 4, 4], x.y)


def test_the_share_of_living_cells():
    assert float(life(1, examples=400).data.train.x.mean()) == pytest.approx(0.4, abs=0.01)


def test_the_oracle_shows_each_generation_in_its_turn():
    found = life(3, examples=6, side=7, selection=1, test=1)
    teacher = TimeMixture(STEPS, {"a": 2, "b": 2, "c": 2}, scale=0.0, generator=torch.Generator())
    with torch.no_grad():
        teacher.phi.copy_(oracle_logits(found.frame_of_step, filters=2, sharpness=30.0))
    board = found.data.train.x
    for name, target in teacher(found.data.train.privileged).items():
        board = next_board(board)
        torch.testing.assert_close(target.value, board[:, None].expand(-1, 2, -1, -1), msg=name)


@pytest.mark.parametrize(("name", "value"), [("examples", 0), ("side", 4), ("alive", 1.0)])
def test_bad_settings_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"`{name}` should .*Found {value}"):
        life(0, **{"examples": 2, name: value})
