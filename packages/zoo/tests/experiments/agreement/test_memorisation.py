from dataclasses import replace

import pytest
import torch

from claimlab import LabError, Rows, judge
from mechlearn.agreement import AndMask, Mean
from mechlearn_zoo.experiments.agreement import per_example
from mechlearn_zoo.experiments.agreement.memorisation import EXPERIMENT
from mechlearn_zoo.experiments.agreement.memorisation import run as memorisation
from mechlearn_zoo.experiments.agreement.memorisation.measures import closing, meeting
from mechlearn_zoo.tasks.pictures.digits import digits

TINY = replace(EXPERIMENT.presets["quick"].config, examples=16, batch=8, epochs=2, reports=2, thresholds=(0.0, 0.2))


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in memorisation.run(replace(TINY, seed=seed)))


def test_one_curve_for_each_kind_of_labels_and_threshold(rows):
    found = [(row["labels"], row["threshold"], row["epoch"], row["kind"]) for row in rows if row["seed"] == 0]
    trials = [(labels, threshold) for labels in ("true", "random") for threshold in (0.0, 0.2)]
    assert found == [(*trial, *end) for trial in trials for end in ((1, "curve"), (2, "final"))]
    assert "digits" in rows[0]["data"]


def test_batches_visit_every_example_once_an_epoch():
    epochs = list(per_example.batches(20, 5, 3, torch.Generator().manual_seed(0)))
    assert [len(rows) for rows in epochs] == [5] * 12
    for start in (0, 4, 8):
        assert sorted(torch.cat(epochs[start : start + 4]).tolist()) == list(range(20))
    assert [len(rows) for rows in per_example.batches(20, 8, 1, torch.Generator().manual_seed(0))] == [8, 8]


def test_threshold_0_is_plain_training():
    """AND-mask at threshold 0 and Mean take the same steps, and both differ from a mask's."""
    data = per_example.load("digits", "", 0, 16)
    after = []
    for rule in (Mean(), AndMask(0.0), AndMask(0.4)):
        model = per_example.make_model(TINY.training(), 1)
        assert list(per_example.fit(model, rule, data.train, data.train.y, TINY.training())) == [2, 4]
        after.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    torch.testing.assert_close(after[0], after[1], atol=1e-5, rtol=1e-3)
    assert not torch.allclose(after[0], after[2], atol=1e-3)


def test_batch_norm_takes_the_pooled_path():
    config = replace(TINY, norm="batch", epochs=1, labels=("true",), thresholds=(0.2,))
    (row,) = memorisation.run(config)
    assert row["kind"] == "final"


def test_accuracy_is_measured_in_eval_mode_and_leaves_train_mode():
    model = per_example.make_model(replace(TINY, norm="batch").training(), 1)
    data = per_example.load("digits", "", 0, 16)
    before = model.state_dict()["0.1.running_mean"].clone()
    with torch.no_grad():
        predicted = model.eval()(data.train.x).argmax(1)
    assert per_example.accuracy(model.train(), data.train, predicted) == 1
    assert model.training
    assert torch.equal(model.state_dict()["0.1.running_mean"], before)


def test_claims_and_figures(rows):
    judged = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    regularised = ("l2", "l2-felt", "dropout", "dropout-felt", "closing-noisy", "meet-noisy", "gap")
    assert {judged.pop(f"memorisation.{name}") for name in regularised} == {"not measurable here"}
    assert judged.pop("memorisation.closing") == "not measurable here"  # so short a training learns nothing under the mask
    assert "not measurable here" not in judged.values()
    assert set(EXPERIMENT.figures(rows)) == {"thresholds", "learning-curves"}
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1


def test_one_kind_of_labels_alone_still_draws(rows):
    some = rows.where(labels="random")
    assert set(EXPERIMENT.figures(some)) == {"thresholds", "learning-curves"}
    assert judge(EXPERIMENT.claims[2], some, "quick").verdict == "not measurable here"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"data": "cifar10"}, "--folder"),
        ({"examples": 4}, "at least the batch"),
        ({"examples": 1001}, "at most 1000: the other digits"),
        ({"batch": 1}, "should"),
        ({"thresholds": (2.0,)}, "threshold"),
    ],
)
def test_bad_settings_are_refused(changes, match):
    with pytest.raises(ValueError, match=match):
        replace(TINY, **changes)


def test_cifar_without_an_archive_says_how_to_get_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="Download one from https"):
        next(memorisation.run(replace(TINY, data="cifar10", folder=str(tmp_path))))


def test_a_damaged_archive_and_too_many_examples_are_no_fault_of_the_run(tmp_path, monkeypatch):
    (tmp_path / "cifar-10-binary.tar.gz").write_bytes(b"cut")
    with pytest.raises(LabError, match="truncated"):
        next(memorisation.run(replace(TINY, data="cifar10", folder=str(tmp_path))))
    monkeypatch.setattr(per_example, "cifar10", lambda folder, seed: digits(seed, train=100))
    with pytest.raises(LabError, match="at most 100, CIFAR-10's"):
        next(memorisation.run(replace(TINY, data="cifar10", folder=str(tmp_path), examples=101)))


def test_the_gap_is_followed_to_the_largest_threshold_that_still_learns():
    found = {0.0: (1.0, 0.9), 0.2: (0.9, 0.85), 0.4: (0.5, 0.48), 0.8: (0.1, 0.4)}
    rows = Rows(
        {"kind": "final", "labels": "true", "threshold": at, "train_accuracy": train, "test_accuracy": test}
        for at, (train, test) in found.items()
    )
    assert closing(rows) == pytest.approx(0.1 - 0.02)
    assert closing(rows[:1]) is None
    assert meeting(rows) == pytest.approx(0.5 - 0.48)
    assert meeting(rows.where(threshold=0.8)) is None  # nothing is learnt there


def test_a_batch_larger_than_all_the_digits_is_refused():
    with pytest.raises(ValueError, match=r"batch should be between 2 and 1000.*Found 1200"):
        memorisation.Config(examples=0, batch=1200)


@pytest.fixture(scope="module")
def regularised():
    config = replace(
        EXPERIMENT.presets["regularised"].config, examples=16, batch=8, epochs=2, reports=2, width=4, labels=("true", "random")
    )
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in memorisation.run(replace(config, seed=seed)))


def test_regularisers_are_arms_beside_each_threshold(regularised):
    finals = regularised.where(kind="final", seed=0)
    arms = [(labels, name) for labels in ("true", "random") for name in ("none", "l2", "dropout")]
    assert [(row["labels"], row["regulariser"]) for row in finals] == arms
    assert {row["threshold"] for row in finals} == {0.0}


def test_without_a_regulariser_rows_are_those_of_the_other_presets(regularised):
    plain = memorisation.run(replace(TINY, thresholds=(0.0,)))
    alone = regularised.where(regulariser="none", seed=0)
    assert [dict(row) for row in plain] == [{k: v for k, v in row.items() if k not in ("seed", "regulariser")} for row in alone]


def test_claims_of_regularisers_are_of_their_preset(regularised):
    found = {claim.id.partition(".")[2]: judge(claim, regularised, "regularised") for claim in EXPERIMENT.claims}
    assert {found[name].verdict for name in ("l2", "dropout")} == {
        "does not hold so far"
    }  # so short a training memorises nothing
    made_up = [
        {"kind": "curve", "seed": seed, "labels": "random", "regulariser": name, "train_accuracy": value}
        for seed in range(6)
        for name, values in {"none": (0.8, 1.0), "l2": (0.7, 0.9), "dropout": (0.5, 1.1)}.items()
        for value in values
    ]
    claims = {claim.id.partition(".")[2]: claim for claim in EXPERIMENT.claims}
    assert judge(claims["l2-felt"], Rows(made_up), "regularised").measured == pytest.approx(0.1)
    assert judge(claims["dropout-felt"], Rows(made_up), "regularised").measured == pytest.approx(0.1)


def test_dropout_and_l2_change_what_is_trained(regularised):
    ends = [
        regularised.where(kind="final", seed=0, labels="true", regulariser=name)[0]["test_accuracy"]
        for name in ("none", "dropout")
    ]
    assert ends[0] != ends[1]
    assert TINY.training("l2").weight_decay == TINY.l2 != TINY.training().weight_decay


def test_noise_is_the_same_for_all_trials_and_none_leaves_images_alone():
    data = per_example.load("digits", "", 0, 16)
    assert memorisation.noisy(data, 0.0, 0) is data
    twice = [memorisation.noisy(data, 0.5, 3) for _ in range(2)]
    assert torch.equal(twice[0].train.x, twice[1].train.x)
    assert not torch.equal(twice[0].train.x, memorisation.noisy(data, 0.5, 4).train.x)
    assert torch.equal(twice[0].test.y, data.test.y)
    assert float((twice[0].test.x - data.test.x).std()) == pytest.approx(0.5, abs=0.02)
    assert "noise of 0.5" in twice[0].name


def test_a_gap_that_closes_is_told_from_one_that_does_not():
    def judged(ends):
        rows = Rows(
            {"kind": "final", "labels": "true", "seed": seed, "threshold": at, "train_accuracy": train, "test_accuracy": test}
            for seed in range(6)
            for at, (train, test) in ends.items()
        )
        found = {claim.id.partition(".")[2]: judge(claim, rows, "gap").verdict for claim in EXPERIMENT.claims}
        return found["closing-noisy"], found["gap"]

    assert judged({0.0: (1.0, 0.6), 0.2: (0.7, 0.6)}) == ("holds", "holds")
    assert judged({0.0: (1.0, 0.95), 0.2: (0.9, 0.8)}) == ("does not hold", "does not hold")
