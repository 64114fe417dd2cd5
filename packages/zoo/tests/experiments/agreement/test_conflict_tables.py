"""Boards of digits at several sites, and at two new ones."""

import pytest
import torch

from claimlab import EarlyStopping
from mechlearn_zoo.experiments.agreement.conflict_codes.tables import Sites, table, train
from mechlearn_zoo.learners.shortcuts.methods import METHODS
from mechlearn_zoo.tasks.tables.codes import CORNERS, Writing, coded_digits

SMALL = Sites(sites=3, rows=40, batch=8)


def test_the_site_that_training_is_stopped_at_has_digits_and_a_code_of_its_own_and_the_board_is_what_it_was():
    data, before = table(SMALL), coded_digits(100, 3, 40, Writing(0.5, 1.0))
    assert all(torch.equal(one, other) for one, other in zip(data[:4], before, strict=True))
    assert data.validation_x.shape == data.test_x.shape
    codes = [
        torch.stack([x[y == label][0, list(CORNERS)].sign() for label in range(10)])
        for x, y in ((data.test_x, data.test_y), (data.validation_x, data.validation_y))
    ]
    assert (codes[0] != codes[1]).any(1).sum() > 5
    clean = table(Sites(sites=3, rows=40, batch=8, noise=0.0, code=0.0))
    pixels = torch.cat([clean.x.flatten(0, 1), clean.test_x, clean.validation_x])
    assert len(pixels.unique(dim=0)) == len(pixels) == 3 * 40 + 1000


def test_as_many_rows_as_are_left_stop_it_and_none_is_refused():
    assert len(table(Sites(sites=8, rows=160)).validation_y) == 1797 - 8 * 160 - 1 - 500 - 1
    with pytest.raises(ValueError, match="sizes should be at least 1"):
        table(Sites(sites=6, rows=216))


def test_looks_change_nothing_of_a_training(monkeypatch):
    config = Sites(sites=3, rows=16, batch=8, hidden=4, steps=2)
    data = table(config)

    seen = train(config, data, METHODS["homogeneous-decay"])
    assert 0 < seen.pop("stopped_at") <= 1
    assert 0 <= seen.pop("stopped_accuracy") < 1
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    assert train(config, data, METHODS["homogeneous-decay"]) == seen
