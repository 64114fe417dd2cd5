import io

import numpy as np
from PIL import Image

from mechlearn_zoo.learners.films import gif


def test_every_frame_has_its_time_and_the_last_one_its_own():
    frames = [np.full((4, 5, 3), shade, np.uint8) for shade in (0, 120, 250)]
    film = Image.open(io.BytesIO(gif(frames, 100, last=500)))
    found = []
    for place in range(film.n_frames):
        film.seek(place)
        found.append((film.info["duration"], film.convert("RGB").getpixel((0, 0))[0]))
    assert found == [(100, 0), (100, 120), (500, 250)]
    assert film.size == (5, 4)
    assert Image.open(io.BytesIO(gif(frames, 80))).info["duration"] == 80
