"""Whatever draws does so from a generator that it is given, never from torch's own."""

import pytest
import torch

from mechlearn_zoo.experiments.agreement.linear.linear_units import linear_units
from mechlearn_zoo.experiments.own_data.linear_units.unit_tests import scrambled, unit_test
from mechlearn_zoo.experiments.vision.captions.captioned_digits import captioned_digits
from mechlearn_zoo.experiments.vision.decoding.simulated_voxels import simulated_voxels
from mechlearn_zoo.experiments.worlds.forward_models.stag_hunt import Hunt, moved, slipped, spread
from mechlearn_zoo.experiments.worlds.take_cover.playing import brownian, record, thirds
from mechlearn_zoo.experiments.worlds.take_cover.take_cover import TakeCover
from mechlearn_zoo.experiments.worlds.two_rooms.two_rooms import TwoRooms
from mechlearn_zoo.tasks.boards.spirals import spiral_points
from mechlearn_zoo.tasks.pictures.images import with_random_labels
from mechlearn_zoo.tasks.tables.codes import coded
from mechlearn_zoo.tasks.tables.sites import normal, signs

WHOLE = torch.zeros(2, 10, 2, dtype=torch.long)


def given():
    return torch.Generator().manual_seed(0)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    "draw",
    [
        lambda g: linear_units(0.1, g),
        lambda g: unit_test("cows", 2, 10, g),
        lambda g: scrambled(unit_test("cows", 2, 10, given()), g),
        lambda g: captioned_digits(0, 3, "train", g),
        lambda g: simulated_voxels(4, 5, 5, g),
        lambda g: simulated_voxels(4, 5, 5, given()).record(torch.rand(3, 1, 5, 5), 0.5, 1, g),
        lambda g: spread(Hunt(), 2, g),
        lambda g: slipped(WHOLE[:, :4, 0], 0.1, g),
        lambda g: moved(WHOLE, WHOLE[:, :4, 0], Hunt(), torch.ones(6) > 0, g),
        lambda g: TakeCover().start(1, 2, g),
        lambda g: TakeCover().step(TakeCover().start(1, 2, given()), torch.zeros(1, 2, 1), g),
        lambda g: thirds(None, 2, g),
        lambda g: brownian(None, 2, g),
        lambda g: record(TakeCover(), 1, 2, thirds, g),
        lambda g: TwoRooms().pairs(3, g),
        lambda g: TwoRooms().near_the_wall(3, g),
        lambda g: spiral_points(3, 1, 0.0, g),
        lambda g: with_random_labels(torch.arange(10), 0.5, 10, g),
        lambda g: coded(torch.zeros(2, 64), torch.zeros(2, dtype=torch.long), 1.0, g),
        lambda g: normal(g, 3),
        lambda g: signs(3, 1, g),
    ],
)
def test_nothing_is_drawn_from_torchs_own_generator(draw):
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        draw(None)
