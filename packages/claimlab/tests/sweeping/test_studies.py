import dataclasses
import json

import pytest

from claimlab import Choice, LabError, UsageError
from claimlab.sweeping.studies import JOURNAL, Studies, open_storage


@pytest.fixture
def studies(tmp_path, hill):
    """Opens a sweep's studies as a process of some owner would."""

    def _studies(plan=None, owner="me", source="s" * 64, url=None):
        return Studies(plan or hill(), open_storage(url, tmp_path), source, owner)

    return _studies


def test_every_method_has_the_same_number_of_trials_and_the_same_draws(studies):
    found = studies()
    claimed = []
    while (trial := found.claim()) is not None:
        claimed.append(trial)
        found.told(trial, "complete", 1.0, 0.1)
    assert [(one.method, one.number) for one in claimed] == [(m, n) for n in range(3) for m in ("up", "down")]
    assert [one.chosen for one in found.trials("up")] == [one.chosen for one in found.trials("down")]
    assert claimed[0].chosen == {"x": 0.01, "y": 3, "shape": "round", "penalty": "none"}  # the preset's own comes first
    assert len({str(one.chosen) for one in claimed}) == 3


def test_what_a_killed_process_claimed_is_found_again_once(studies):
    before = studies()
    first, second = before.claim(), before.claim()
    before.told(first, "complete", 0.5, 0.1)
    after = studies()
    assert after.left_behind() == [second]
    after.told(second, "complete", 0.6, 0.1)
    rest = []
    while (trial := after.claim()) is not None:
        rest.append(trial)
    assert [len(after.trials(method)) for method in ("up", "down")] == [3, 3]
    assert len(rest) == 4


def test_tpe_draws_the_same_after_a_kill(studies, hill, tmp_path):
    plan = hill(trials=14, draws=("tpe", "none"))

    def claims(found):
        yield from found.left_behind()
        yield from iter(found.claim, None)

    whole = studies(plan)
    for trial in claims(whole):
        whole.told(trial, "complete", -abs(trial.chosen["x"] - 0.1), 0.1)
    expected = [one.chosen for one in whole.trials("up")]
    (tmp_path / JOURNAL).unlink()
    for _ in range(40):
        some = studies(plan)
        for count, trial in enumerate(claims(some)):
            if count == 2:  # claimed, and killed
                break
            some.told(trial, "complete", -abs(trial.chosen["x"] - 0.1), 0.1)
        else:
            break
    assert [one.chosen for one in studies(plan).trials("up")] == expected


def test_a_line_that_a_killed_process_had_begun_is_taken_off(studies, tmp_path):
    studies().claim()
    path = tmp_path / JOURNAL
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    for cut in (last + 1, (last + len(whole)) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        found = studies()
        assert path.read_bytes().startswith(whole[:last])
        assert all(json.loads(line) for line in path.read_bytes().splitlines())
        assert found.left_behind() == []


def test_a_damaged_line_is_named(studies, tmp_path):
    studies().claim()
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_bytes(b"".join([lines[0], b"{half\n", *lines[2:]]))
    with pytest.raises(LabError, match=r"journal\.jsonl, line 2 is not"):
        studies()


def test_a_study_of_something_else_is_refused_with_what_differs(studies, hill):
    plan = hill()
    studies(plan)
    with pytest.raises(LabError, match=r"Found source tttttt for .*, which ssssss began\. Check it out, or pass another --out"):
        studies(plan, source="t" * 64)
    other = dataclasses.replace(plan.ranges, of={**plan.ranges.of, "shape": Choice("round", "steep")})
    others = dataclasses.replace(plan, experiment=dataclasses.replace(plan.experiment, ranges={"quick": other}))
    with pytest.raises(LabError, match="ranges: shape is 'one of round, steep' here and 'one of round, steep, broken' there"):
        studies(others)
    fewer = {name: one for name, one in plan.ranges.of.items() if name != "y"}
    fewer = dataclasses.replace(plan.ranges, of=fewer)
    with pytest.raises(LabError, match="ranges: y is 'absent' here and 'whole 0 to 9' there"):
        studies(dataclasses.replace(plan, experiment=dataclasses.replace(plan.experiment, ranges={"quick": fewer})))


@pytest.mark.parametrize(
    ("url", "kind", "sentence"),
    [
        ("somewhere", UsageError, "should be a URL of a kind that Optuna knows. Found 'somewhere'"),
        ("oracle9://me:secret@host/db", UsageError, "Found 'oracle9://***@host/db'"),
        ("sqlite://", UsageError, "should outlive the process"),
        ("sqlite:////no/such/folder/x.db", LabError, "should be reachable"),
    ],
)
def test_unknown_storages(tmp_path, url, kind, sentence):
    with pytest.raises(kind) as found:
        open_storage(url, tmp_path)
    assert sentence in str(found.value)
    assert "secret" not in str(found.value)


def test_two_owners_share_a_storage_and_spend_one_budget(studies, tmp_path):
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    mine, yours = studies(url=url), studies(owner="you", url=url)
    claimed = []
    for place in range(20):
        trial = (mine if place % 2 else yours).claim()
        if trial is not None:
            claimed.append((trial.method, trial.number))
    assert sorted(claimed) == sorted((method, number) for method in ("up", "down") for number in range(3))
    assert len(mine.left_behind()) == len(yours.left_behind()) == 3
    assert len(mine.left_behind(everyones=True)) == 6


def test_a_trial_that_two_draw_at_once_counts_once(studies, tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'shared.db'}"
    mine, yours = studies(url=url), studies(owner="you", url=url)
    from claimlab.sweeping import studies as module

    draw = module.own_setting

    def late(ranges, config):
        monkeypatch.setattr(module, "own_setting", draw)
        assert yours.claim().number == 0  # between our look and our claim
        return draw(ranges, config)

    monkeypatch.setattr(module, "own_setting", late)
    trial = mine.claim()
    assert (trial.method, trial.number) == ("down", 0)
    assert [one.owner for one in mine.trials("up")] == ["you"]
