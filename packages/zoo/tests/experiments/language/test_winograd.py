from dataclasses import replace

import pytest
import torch

from mechlearn_zoo.experiments.language.winograd import EXPERIMENT
from mechlearn_zoo.experiments.language.winograd.run import (
    Config,
    choice_losses,
    fresh,
    probe,
    right,
    scorer_of,
    world_of,
    written,
)
from mechlearn_zoo.methods.language.scoring import Scorer
from tiny import check_measured_and_drawn, rows_of
from tiny_settings import tiny

_, TINY = tiny("winograd")


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, 100, TINY)


def test_claims_figures_and_the_same_rows_again(rows):
    check_measured_and_drawn(EXPERIMENT, rows)
    assert set(EXPERIMENT.figures(rows)) == {"parts", "training"}
    assert [{"seed": 100, **row} for row in EXPERIMENT.run(replace(TINY, methods=("averaging",)))] == [
        row for row in rows if row.get("method", "averaging") == "averaging"
    ]


def test_the_loss_is_between_the_two_candidates():
    world = world_of(TINY)
    model = fresh(TINY, world, torch.Generator().manual_seed(0))
    drawn = world.draw("neutral", torch.tensor([0, 1]), torch.Generator().manual_seed(0))
    logits = model(drawn.ids)[:, -1]
    meant, other = (logits.gather(1, one[:, None])[:, 0] for one in (drawn.meant, drawn.other))
    torch.testing.assert_close(choice_losses(model, drawn), torch.nn.functional.softplus(other - meant))


class Oracle:
    """Knows the world's table; a `Scorer` asks it for logits of the last word."""

    def __init__(self, world, counts_only=False):
        self.world, self.counts_only = world, counts_only

    def __call__(self, ids, attended):
        base = 5 + self.world.environments * self.world.names
        verbs, adjectives = ids[:, 1] - base, ids[:, 6] - base - self.world.verbs
        subject = self.world.tables.roles[verbs, adjectives]
        logits = torch.zeros(*ids.shape, len(self.world.vocabulary))
        logits[torch.arange(len(ids)), 7, torch.where(subject, ids[:, 0], ids[:, 2])] = 5.0
        return logits


def test_whoever_knows_the_table_is_right_everywhere_and_consistent():
    config = replace(TINY, names=8, verbs=4, adjectives=8, environments=3)
    world = world_of(config)
    scorer = Scorer(Oracle(world), world.vocabulary.encode)
    generator = torch.Generator().manual_seed(0)
    for part in ("associative", "neutral", "opposed"):
        assert right(scorer, world.schemas(part, 30, generator)).all()
    found = probe(scorer, world.schemas("associative", 30, generator), written(world, config))
    assert found.consistency.value == found.robust.value == found.accuracy.value == 1.0
    assert found.associative.n == 30  # the text's counts find what the world was asked for
    found = probe(scorer, world.schemas("neutral", 30, generator), written(world, config))
    assert found.associative.n <= 3  # PMI of a text has noise


def test_scoring_is_by_the_last_word():
    world = world_of(TINY)
    model = fresh(TINY, world, torch.Generator().manual_seed(0))
    items = world.schemas("neutral", 6, torch.Generator().manual_seed(0))
    ids = torch.tensor([world.vocabulary.encode(one.text).ids[:-1] for one in items])
    logits = model(ids)[:, -1]
    names = torch.tensor([world.vocabulary.ids(one.candidates) for one in items])
    expected = logits.gather(1, names).argmax(1) == torch.tensor([one.answer for one in items])
    assert torch.equal(right(scorer_of(world, model), items), expected)


def test_bad_input():
    with pytest.raises(ValueError, match="together"):
        Config(wsc="file.xml")
    with pytest.raises(ValueError, match="and_mask should hold 3 numbers"):
        Config(and_mask=(1.0,))
