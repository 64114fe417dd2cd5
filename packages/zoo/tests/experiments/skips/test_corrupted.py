from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.skips.corrupted import EXPERIMENT, measures
from mechlearn_zoo.experiments.skips.corrupted import run as corrupted
from mechlearn_zoo.tasks.frames import corruption, funnel_board
from mechlearn_zoo.tasks.frames.funnel_board import places

QUICK = EXPERIMENT.presets["quick"].config
SMALL = funnel_board.PRESETS["small"]
NAMES = [each.name for each in corruption.ALL]


@pytest.fixture(scope="module")
def boards(tmp_path_factory):
    return funnel_board.generate(12, 5, SMALL, cache=tmp_path_factory.mktemp("boards"))


def test_true_frames_are_read_without_an_error(boards):
    reads = places.reader(SMALL, np.stack([path[-1] for path in boards.paths]))
    for path, label in zip(boards.paths, boards.labels, strict=True):
        frames = reads.places.frames(path)
        assert reads.landed(frames[-1:]).all()
        assert not reads.landed(frames[:-8]).any()
        assert int(reads.platform(frames[-1:])) == label
        x, _, bright = reads.places.found(frames)
        inside = np.abs(path[:, 0]) < 4.3  # at the wall a part of the code lies outside
        assert float((x - torch.as_tensor(path[:, 0]))[torch.from_numpy(inside)].abs().max()) < 0.2
        assert float(bright.min()) > 0.7
    faint = frames * 0.1
    assert not reads.landed(faint).any()


def test_a_frame_shows_where_the_ball_was_before(boards):
    frames = places.Places.of(SMALL).frames(boards.paths[0])
    half = frames.shape[1] // 2
    assert torch.equal(frames[1:, half:], frames[:-1, :half])
    assert torch.equal(frames[0, half:], frames[0, :half])


@pytest.mark.parametrize("each", corruption.ALL, ids=NAMES)
def test_corruption_keeps_both_ends_and_its_share(each, boards):
    own = places.Places.of(SMALL)
    clean = corrupted.recorded(boards, own, corruption.Corruption("clean"), np.random.default_rng(0))
    found = corrupted.recorded(boards, own, each, np.random.default_rng(0))
    lengths, before = found.frames.lengths, clean.frames.lengths
    for one, other in zip(found.frames, clean.frames, strict=True):
        half = one.shape[1] // 2
        assert torch.equal(one[0], other[0])
        torch.testing.assert_close(one[-1, :half], other[-1, :half])
        if each.kind == "missing":
            assert all(any(torch.equal(frame, true) for true in other) for frame in one)
    if each.kind == "missing":
        assert float(lengths.sum() / before.sum()) == pytest.approx(1 - each.level, abs=0.1)
    elif each.kind == "speed":
        ratios = (before - 1) / (lengths - 1)
        assert 0.49 < float(ratios.min()) < 0.9
        assert 1.2 < float(ratios.max()) < 2.1
    else:
        assert torch.equal(lengths, before)
        changed = (found.frames.values() != clean.frames.values()).any(2).sum()
        assert float(changed / before.sum()) == pytest.approx(each.level, abs=0.08)


def tiny_at(folder):
    return replace(
        QUICK, methods=("asi", "fixed-6"), steps=1, evaluations=12, hidden=8, episodes=5, test_episodes=2, cache=str(folder)
    )


STOPPED = {f"stopped_{name}" for name in ("at", "accuracy", "landed", "rollout")}


def test_a_tiny_run_has_a_row_for_each_corruption_and_method(tmp_path):
    tiny = replace(tiny_at(tmp_path), methods=("fixed-6",))
    rows = list(corrupted.run(tiny))
    assert all(row.keys() >= STOPPED for row in rows)
    assert [(row["corruption"], row["method"]) for row in rows] == [(name, "fixed-6") for name in NAMES]
    assert all(row["spent"] >= 12 and 0 <= row["accuracy"] <= row["landed"] <= 1 for row in rows)
    assert [EXPERIMENT.progress(tiny, row)[0] for row in rows][-1] == 1.0
    among_two = list(islice(corrupted.run(tiny_at(tmp_path)), 4))
    assert [row["method"] for row in among_two] == ["asi", "fixed-6"] * 2
    assert among_two[1::2] == rows[:2]


def test_looks_change_nothing_of_the_training(tmp_path, monkeypatch):
    tiny, state = replace(tiny_at(tmp_path), steps=3), torch.get_rng_state()
    looked = list(islice(corrupted.run(tiny), 2))
    assert torch.equal(torch.get_rng_state(), state)
    monkeypatch.setattr(EarlyStopping, "due", lambda stopping, share: False)
    assert [{name: row[name] for name in row.keys() - STOPPED} for row in looked] == list(islice(corrupted.run(tiny), 2))


def test_pictures_are_stopped_likewise(tmp_path, monkeypatch):
    small = corrupted.pictures.Settings(view="pixels", kernels=2, max_steps=2)
    monkeypatch.setattr(corrupted.pictures, "PUBLISHED", small)
    config = replace(tiny_at(tmp_path), view="pictures", methods=("fixed-3",), evaluations=30)
    (row,) = islice(corrupted.run(config), 1)
    assert row.keys() >= STOPPED
    assert (row["stopped_accuracy"], row["stopped_landed"]) == (row["accuracy"], row["landed"])  # nothing has been learnt


def test_pictures_are_corrupted_likewise(tmp_path):
    settings = corrupted.pictures.Settings(episodes=3, cache=str(tmp_path), view="pixels")
    world = corrupted.pictures.make_world(settings, "train", 3)
    for each in corruption.ALL[3:]:
        found = corrupted._corrupted_world(world, each, np.random.default_rng(0)).frames
        assert found.dtype == torch.uint8
        for one, other in zip(found, world.frames, strict=True):
            assert torch.equal(one[0], other[0])
            if each.kind == "noise":
                assert 0 < int((one != other).flatten(1).any(1).sum()) < len(one) - 1
            if each.kind == "speed":
                assert one.shape[1:] == other.shape[1:]


def made_up(accuracy, stopped=None):
    return Rows(
        {"seed": seed, "corruption": name, "method": method, "accuracy": accuracy(name, method) + 0.01 * seed}
        | {"stopped_accuracy": (stopped or accuracy)(name, method) + 0.01 * seed}
        for seed in range(6)
        for name in NAMES
        for method in ("asi", "fixed-2", "fixed-6")
    )


def test_claims_can_hold_and_fail():
    good = made_up(lambda name, method: 0.9 if method == "asi" else 0.5 if name == "clean" else 0.2)
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up(lambda name, method: (0.6 if name == "clean" else 0.3) if method == "asi" else 0.7 - 0.1 * (name != "clean"))
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}
    alike = made_up(lambda name, method: 0.25)  # a constant, which loses nothing
    found = {claim.id.split(".")[1]: judge(claim, alike, "quick").verdict for claim in EXPERIMENT.claims}
    assert {found[name] for name in ("noise", "speed")} == {"not measurable here"}
    assert {found[name] for name in ("clean", "missing-ahead", "noise-ahead", "speed-ahead")} == {"does not hold"}
    below_a_ceiling = made_up(lambda name, method: 0.9 if name != "clean" else 0.8 if method == "asi" else 0.85)
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "skips-corrupted.noise")
    assert judge(claim, below_a_ceiling, "quick").verdict == "not measurable here"
    assert list(EXPERIMENT.figures(good)) == ["corrupted"]


def test_leads_are_asked_of_stopped_methods_too():
    def good(name, method):
        return 0.9 if method == "asi" else 0.5 if name == "clean" else 0.2

    rows = made_up(good, lambda name, method: 0.95 if method == "fixed-2" else good(name, method))
    for claim in EXPERIMENT.claims:
        found = judge(claim, rows, "quick")
        assert (found.verdict, found.parts[0].low > 0) == ("does not hold", True)
        assert found.measured == pytest.approx(0 if claim.id.split(".")[1] in ("noise", "speed") else -0.05)
        former = judge(claim, Rows({name: row[name] for name in row if name != "stopped_accuracy"} for row in rows), "quick")
        assert former.verdict == "not measurable here"


def test_the_best_fixed_step_is_chosen_by_its_median():
    rows = made_up(lambda name, method: {"asi": 0.1, "fixed-2": 0.3, "fixed-6": 0.2}[method])
    assert measures.best_fixed(measures.accuracies(rows), "clean") == "fixed-2"
