from dataclasses import replace

import pytest
import torch

from claimlab import Rows
from mechlearn_zoo.experiments.language.masked_lm import EXPERIMENT
from mechlearn_zoo.experiments.language.masked_lm.measures import later
from mechlearn_zoo.experiments.language.masked_lm.run import Config, corpus, fresh, token_losses
from mechlearn_zoo.experiments.language.masked_lm.two_way import TwoWay
from mechlearn_zoo.methods.language.masked import Corruption
from mechlearn_zoo.tasks.text.code_tokens import NO_ROLE, ROLES
from tiny import check_measured_and_drawn, rows_of

TINY = Config(modules=10, words=30, window=8, width=8, layers=1, steps=2, labelled=(32, 128), tuning=10, reached=100.0)


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, 100, TINY)


def test_claims_figures_and_the_same_rows_again(rows):
    check_measured_and_drawn(EXPERIMENT, rows, ("quick", "both-sides"))
    again = [{"seed": 100, **row} for row in EXPERIMENT.run(replace(TINY, arms=("masked",)))]
    assert again[-1] == next(row for row in rows if row.get("arm") == "masked" and row["labelled"] == 128)
    assert {row["model"] for row in again if "model" in row} == {"masked"}, "what no arm takes is not pretrained"
    assert EXPERIMENT.figures(Rows(again))


def test_the_corpus():
    data = corpus(TINY)
    assert data.words == 35
    for text in data[:3]:
        assert text.ids.shape == text.roles.shape
        assert (text.roles != NO_ROLE).any(1).all()
        assert int(text.roles.max()) < len(ROLES)


def test_a_causal_model_is_asked_for_every_token_and_the_other_for_some():
    ids = torch.randint(5, 35, (4, 8), generator=torch.Generator().manual_seed(0))
    generator = torch.Generator().manual_seed(0)
    assert len(token_losses(fresh(TINY, 35, True), ids, Corruption(35), generator)) == 4 * 7
    assert len(token_losses(fresh(TINY, 35, False), ids, Corruption(35), generator)) == 4 * 1


def test_who_never_reaches_the_loss_counts_the_whole_budget():
    found = [{"seed": 0, "kind": "reached", "model": m, "step": s, "budget": 50} for m, s in (("masked", None), ("causal", 20))]
    assert later(Rows(found)) == 30
    assert later(Rows([{**row, "step": None} for row in found])) is None


def test_two_ways_see_one_side_each_and_are_asked_for_every_token():
    model = TwoWay(35, 8, torch.Generator().manual_seed(0))
    ids = torch.randint(5, 35, (4, 8), generator=torch.Generator().manual_seed(0))
    changed = ids.clone()
    changed[:, 3] = 4
    with torch.no_grad():
        (left, right), (left_too, right_too) = model.encoder.sides(ids), model.encoder.sides(changed)
        torch.testing.assert_close(left[:, :3], left_too[:, :3])
        torch.testing.assert_close(right[:, 4:], right_too[:, 4:])
        assert not torch.allclose(left[:, 3:], left_too[:, 3:])
        assert not torch.allclose(right[:, :4], right_too[:, :4])
        torch.testing.assert_close(model.encoder(ids), left + right)
    losses = token_losses(model, ids, Corruption(35), torch.Generator())
    assert len(losses) == 2 * 4 * 7
    losses.mean().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    same = TwoWay(35, 8, torch.Generator().manual_seed(0))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), same.parameters(), strict=True))
