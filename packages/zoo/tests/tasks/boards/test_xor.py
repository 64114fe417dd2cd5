import math

import pytest
import torch

from mechlearn_zoo.tasks.boards.xor import xor


def test_shapes_and_labels():
    data = xor(0, inputs=7, examples=20, selection=5, test=6)
    assert [len(split.y) for split in data] == [20, 5, 6]
    assert data.train.x.shape == (20, 7)
    assert data.train.privileged.shape == (20, 4)
    assert set(data.train.y.tolist()) == {0.0, 1.0}


def test_the_privileged_data_show_the_label_behind_signs():
    data = xor(1, inputs=30, examples=500)
    for split in data:
        signs, signed = split.privileged[:, :2], split.privileged[:, 2:]
        assert set(signs.unique().tolist()) == {-1.0, 1.0}
        h = signs * signed  # s (s h) = h
        assert torch.equal(((h[:, 0] > 0) != (h[:, 1] > 0)).float(), split.y)


def test_h_is_one_linear_map_of_x_for_all_splits_within_the_corrected_bounds():
    data = xor(2, inputs=9, examples=50)
    mixings = [torch.linalg.lstsq(s.x, s.privileged[:, :2] * s.privileged[:, 2:]).solution for s in data]
    torch.testing.assert_close(mixings[0], mixings[2], atol=1e-4, rtol=1e-4)
    assert float(mixings[0].abs().max()) <= 1 / math.sqrt(9) + 1e-4
    assert float(mixings[0].min()) < 0 < float(mixings[0].max())  # the printed interval lacks its minus sign


def test_nothing_of_the_privileged_data_is_predictable_from_x():
    data = xor(3, inputs=4, examples=20_000)
    correlation = data.train.x.T @ data.train.privileged / 20_000
    assert float(correlation.abs().max()) < 0.03


def test_the_seed_decides_and_the_global_generator_is_left_alone():
    before = torch.random.get_rng_state()
    a, b, c = xor(5, 8, 30), xor(5, 8, 30), xor(6, 8, 30)
    assert torch.equal(a.train.x, b.train.x)
    assert torch.equal(a.test.y, b.test.y)
    assert not torch.equal(a.train.x, c.train.x)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("name", ["inputs", "examples", "selection", "test"])
def test_sizes_below_one_are_refused(name):
    with pytest.raises(ValueError, match=rf"`{name}` should be at least 1\. Found 0"):
        xor(0, **{"inputs": 4, "examples": 4, name: 0})
