"""What is taken away from the AND-mask on the spirals."""

from dataclasses import replace

import pytest
import torch

from mechlearn_zoo.experiments.spirals.sensitivity.needs import AND, PRESETS, VARIANTS, Variant, on_shortcuts, train
from mechlearn_zoo.learners.shortcuts.training import Board, make_model, rotation

SMALL = replace(PRESETS["needs"].config, environments=3, examples=32, batch=8, hidden=8, steps=3, shortcuts=4)


def test_weights_on_shortcuts_are_told_in_their_own_coordinates():
    """A layer that reads the first shortcut alone, rotated with the inputs, has its whole norm there."""
    model = make_model(SMALL, Board(4))
    turn = rotation(6, torch.Generator().manual_seed(SMALL.seed))
    plain = torch.zeros(8, 6)
    plain[:, 2] = 3.0
    with torch.no_grad():
        model[0].weight.copy_(plain @ turn)
    assert on_shortcuts(SMALL, model, rotated=True) == pytest.approx(float(plain.norm()), rel=1e-5)
    x = torch.randn(5, 6)
    torch.testing.assert_close(x @ turn @ model[0].weight.T, x @ plain.T)


def test_only_the_texts_board_has_l2_through_adam_and_the_coordinates():
    changed = {name: variant for name, variant in VARIANTS.items() if variant != Variant(AND, l2=1e-5)}
    assert set(VARIANTS) - set(changed) == {"as the texts"}


def test_the_same_seed_gives_the_same_row_and_decay_takes_weights_away():
    assert train(SMALL, VARIANTS["AdamW 1"]) == train(SMALL, VARIANTS["AdamW 1"])
    strong = train(SMALL, Variant(decoupled=50.0))
    assert 0 < strong["left"] < 0.5 < train(SMALL, VARIANTS["no L2"])["left"]
