import torch
from hypothesis import given
from hypothesis import strategies as st

from craik.skips.windows import Window

FRAMES = torch.randint(0, 256, (40, 3), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)


def test_floats_are_looked_at_where_they_are():
    frames = torch.rand(9, 3)
    assert Window(frames, torch.float32, 4)(2, 6).data_ptr() == frames[2].data_ptr()


@given(steps=st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5)), min_size=1, max_size=12), norms=st.booleans())
def test_bytes_are_the_same_as_converted(steps, norms):
    window, first = Window(FRAMES, torch.float32, 5), 0
    for jump, size in steps:
        first = min(first + jump, 39)
        end = min(first + size, 40)
        assert torch.equal(window(first, end), FRAMES[first:end].float())
        if norms:
            expected = FRAMES[first:end].float().square().sum(1)
            assert torch.equal(window.squared_norms(first, end), expected)


def test_a_frame_is_converted_once():
    class Counting:
        """Frames that count how often a row is read."""

        def __init__(self):
            self.read = torch.zeros(40, dtype=torch.int64)
            self.dtype, self.shape, self.device = FRAMES.dtype, FRAMES.shape, FRAMES.device

        def __len__(self):
            return len(FRAMES)

        def __getitem__(self, rows):
            self.read[rows] += 1
            return FRAMES[rows]

    frames = Counting()
    window = Window(FRAMES, torch.float32, 5)
    window._frames = frames
    for first in range(0, 36, 2):
        end = min(first + 5, 40)
        assert torch.equal(window(first, end), FRAMES[first:end].float())
    assert frames.read.max() == 1


def test_of_a_large_picture_only_what_moves_is_held():
    frames = torch.full((9, 5000), 7, dtype=torch.uint8)
    frames[:, 100:140] = torch.randint(0, 256, (9, 40), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    window = Window(frames, torch.float32, 4)
    assert window.columns is not None
    assert window.columns.tolist() == list(range(100, 140))
    assert torch.equal(window(2, 6), frames[2:6, 100:140].float())
    assert window.part(torch.arange(5000.0)).tolist() == list(range(100, 140))
    whole = Window(torch.rand(9, 5000), torch.float32, 4)
    assert whole.columns is None


def test_of_floats_the_faintest_change_counts_as_motion():
    frames = torch.zeros(9, 5000)
    frames[4, 17] = 1e-40  # its square is 0
    frames[5:, 4000] = -3e38
    window = Window(frames, torch.float32, 4)
    assert window.columns is not None
    assert window.columns.tolist() == [17, 4000]
