"""ILC across architectures, at a size that trains nothing."""

from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.surfaces.architectures import EXPERIMENT, networks
from mechlearn_zoo.experiments.surfaces.architectures import run as architectures
from mechlearn_zoo.experiments.surfaces.architectures.measures import ranks
from mechlearn_zoo.tasks.tables.codes import CORNERS

TINY = {"initialisations": 1, "sites": 2, "rows": 8, "hidden": 2, "steps": 2, "iterations": 1}


def config(**changes):
    return replace(EXPERIMENT.presets["quick"].config, **(TINY | changes))


def test_rows_claims_and_figures():
    rows = [{**row, "seed": 100} for row in architectures.run(config())]
    assert [(row["start"], row["method"]) for row in rows] == [
        (start, method) for start in architectures.STARTS for method in architectures.METHODS
    ]
    for row in rows:
        assert row["regularised"] == pytest.approx(row["loss"] - row["ilc"], rel=1e-6)
        assert row["walked"] <= 0
        assert ({"stopped_accuracy", "stopped_at"} <= set(row)) == (row["method"] != "untrained")
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["consistency"]
    assert EXPERIMENT.progress(config(), rows[-1])[0] == 1


def test_pre_training_has_other_digits_and_training_stops_at_its_target():
    chosen = config(rows=40)
    board = architectures.make_board(chosen)
    assert len(board.plain_x) == 600
    x, y = board.coded.x.flatten(0, 1), board.coded.y.flatten()
    network = networks.make_network("perceptron", 16, torch.Generator().manual_seed(0))
    ids = torch.arange(2).repeat_interleave(40)
    taken = architectures.train(replace(chosen, steps=100, target=1.0), network, architectures.Mean(), x, y, ids)
    assert 0 < taken < 100
    with torch.no_grad():
        assert float(torch.nn.functional.cross_entropy(network(x), y)) <= 1.0


def test_every_preset_has_the_digits_it_asks_for():
    for preset in EXPERIMENT.presets.values():
        assert len(architectures.make_board(preset.config).validation_x) > 100
    with pytest.raises(ValueError, match=r"sites \* rows should be at most 695"):
        config(sites=8, rows=128)
    assert len(architectures.make_board(config(sites=5, rows=139)).validation_x) == 1


@pytest.mark.parametrize("start", architectures.STARTS)
def test_a_network_comes_from_its_generator(start):
    before = torch.get_rng_state()
    one, other = (networks.make_network(start, 8, torch.Generator().manual_seed(3)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert one(torch.zeros(5, 64)).shape == (5, 10)
    assert torch.equal(before, torch.get_rng_state())


def made_up(value):
    return [
        {"seed": seed, "start": start, "method": method, "walked": value(start, method), "accuracy": value(start, method) / 9,
         "stopped_accuracy": value(start, method) / 9, "regularised_walked": 0.1 - value(start, method)}
        for seed in range(6) for start in architectures.STARTS for method in architectures.METHODS
    ]  # fmt: skip


def test_cells_that_are_level_share_a_rank():
    def measured(losses, accuracies):
        return ranks(
            Rows(
                {"seed": 0, "method": "mean", "regularised_walked": loss, "accuracy": accuracy}
                for loss, accuracy in zip(losses, accuracies, strict=True)
            )
        )

    assert measured([1.0, 2.0, 3.0, 4.0], [0.1, 0.5, 0.5, 0.9]) == pytest.approx(0.9486832980505138)  # Spearman, with ties
    assert measured([1.0, 3.0, 2.0, 4.0], [0.1, 0.5, 0.5, 0.9]) == pytest.approx(0.9486832980505138)  # in any order of rows
    assert measured([1.0, 2.0, 3.0], [0.5, 0.5, 0.5]) == 0.0


def test_claims_can_hold_and_fail():
    order = {"untrained": -20.0, "mean": -5.0, "geometric": -4.0, "and-mask": -3.0}
    better = {"perceptron": 0.0, "convolution": 0.5, "pre-trained": 0.6}
    good = made_up(lambda start, method: order[method] + better[start])
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up(lambda start, method: -order[method] - better[start] - 30)
    for row in bad:
        row["accuracy"] = row["regularised_walked"]
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}


def test_ranks_are_asked_of_trainings_that_are_stopped_too():
    claim = next(claim for claim in EXPERIMENT.claims if claim.id.endswith(".ranks"))
    places = [(start, method) for start in architectures.STARTS for method in architectures.METHODS]
    rows = made_up(lambda start, method: float(places.index((start, method))))
    assert judge(claim, rows, "quick").verdict == "holds"
    found = judge(claim, [row | {"stopped_accuracy": row["regularised_walked"]} for row in rows], "quick")
    assert (found.measured, found.verdict) == (pytest.approx(1), "does not hold")
    assert found.parts[0].measured == pytest.approx(-1)


def test_looks_change_nothing_and_are_at_a_site_of_its_own():
    chosen, state = config(rows=40, steps=5), torch.get_rng_state()
    board = architectures.make_board(chosen)
    stopping = architectures.EarlyStopping(5)
    looked = architectures.trained(chosen, "perceptron", "and-mask", board, 0, stopping)
    plain = architectures.trained(chosen, "perceptron", "and-mask", board, 0)
    assert all(torch.equal(a, b) for a, b in zip(looked.parameters(), plain.parameters(), strict=True))
    assert stopping.looked == 5
    assert torch.equal(torch.get_rng_state(), state)
    clean = architectures.make_board(replace(chosen, noise=0.0))
    inner = [pixel for pixel in range(64) if pixel not in CORNERS]
    digits = {tuple(row) for part in (clean.coded.x.flatten(0, 1), clean.coded.test_x, clean.plain_x)
              for row in part[:, inner].tolist()}  # fmt: skip
    assert not digits & {tuple(row) for row in clean.validation_x[:, inner].tolist()}


def test_initialisations_are_networks_of_their_own():
    """They were copies: an offset of 2**35 leaves a stream of torch's the same."""
    chosen = config(initialisations=2)
    board = architectures.make_board(chosen)
    for start in architectures.STARTS:
        first, second = (architectures.trained(chosen, start, "untrained", board, k).state_dict() for k in range(2))
        assert any(not torch.equal(first[name], second[name]) for name in first), start
