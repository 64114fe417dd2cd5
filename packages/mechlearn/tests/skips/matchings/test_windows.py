import torch
from hypothesis import given
from hypothesis import strategies as st

from mechlearn.skips.matchings.windows import Window

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


def test_frames_are_converted_many_at_a_time():
    window, fills = Window(FRAMES, torch.float32, 5), 0
    fill = window._fill

    def counting(first):
        nonlocal fills
        fills += 1
        fill(first)

    window._fill = counting
    for first in range(36):
        assert torch.equal(window(first, first + 4), FRAMES[first : first + 4].float())
    assert fills == 3  # 15 frames at a time, of which 12 are new


def test_of_a_large_picture_only_what_moves_is_held():
    frames = torch.full((9, 5000), 7, dtype=torch.uint8)
    frames[:, 100:140] = torch.randint(0, 256, (9, 40), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    window = Window(frames, torch.float32, 4)
    assert torch.equal(window(2, 6), frames[2:6, 100:140].float())
    assert window.columns is not None
    assert window.columns.tolist() == list(range(100, 140))
    assert window.part(torch.arange(5000.0)).tolist() == list(range(100, 140))
    whole = Window(torch.rand(9, 5000), torch.float32, 4)
    assert whole.columns is None


@given(
    speeds=st.lists(st.integers(0, 40), min_size=12, max_size=40),
    steps=st.lists(st.integers(1, 4), min_size=3, max_size=30),
    in_bytes=st.booleans(),
    norms=st.booleans(),
)
def test_what_stands_still_adds_the_same_to_every_frame(speeds, steps, in_bytes, norms):
    frames = torch.full((len(speeds), 5000), 3, dtype=torch.uint8)
    for frame, place in zip(frames, torch.tensor(speeds).cumsum(0).tolist(), strict=True):
        frame[place : place + 5] = 200  # drifts over a still background, or stands
    window = Window(frames if in_bytes else frames.double(), torch.float64, 4)
    weight = torch.rand(5000, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    first = 0
    for step in steps:
        end = min(first + 4, len(frames))
        rows, all_of_it = window(first, end), frames[first:end].double()
        found, expected = rows @ window.part(weight), all_of_it @ weight
        if norms:
            found, expected = found + window.squared_norms(first, end), expected + all_of_it.square().sum(1)
        assert torch.allclose(found - found[0], expected - expected[0])
        first = min(first + step, len(frames) - 1)


def test_of_floats_the_faintest_change_counts_as_motion():
    frames = torch.zeros(9, 5000)
    frames[4, 17] = 1e-40  # its square is 0
    frames[5:, 4000] = -3e38
    window = Window(frames, torch.float32, 4)
    assert window.columns is not None
    assert window.columns.tolist() == [17, 4000]
