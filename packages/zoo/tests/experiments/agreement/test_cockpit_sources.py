"""Cockpit-sources: what is done to a source, numbers of a history, areas from made-up rows; a tiny run of everything."""

from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.agreement import cockpit_sources
from mechlearn_zoo.experiments.agreement.cockpit_sources import data, measures, models, numbers
from mechlearn_zoo.experiments.agreement.cockpit_sources.data import KINDS, LETTERS, conflicting, sources, spoiled
from mechlearn_zoo.experiments.agreement.cockpit_sources.measures import Candidate
from mechlearn_zoo.experiments.agreement.cockpit_sources.run import Config, drawn
from mechlearn_zoo.tasks.streams import stream

EXPERIMENT = cockpit_sources.EXPERIMENT
TINY = {"steps": 4, "every": 2, "rows": 2, "pool": 16, "width": 4}


@pytest.fixture(scope="module")
def texts():
    return sources(True, 1000, 64)


@pytest.fixture(scope="module")
def pictures():
    return sources(False, 1000, 64)


def test_eight_sources_with_held_out_rows(texts, pictures):
    for found, shape in ((texts, (16,)), (pictures, (16, 4))):
        assert len(found) == 8
        assert {tuple(own.x.shape) for own, _ in found.values()} == {(64, *shape)}
        assert {len(held.x) for _, held in found.values()} == {data.HELD}


@pytest.mark.parametrize("text", [True, False])
def test_sources_of_one_kind_share_no_row(text):
    found = sources(text, 1000, 16, 12, alike=True)
    assert len(found) == 8
    held = torch.cat([one.x.flatten(1) for _, one in found.values()])
    assert held.shape == (8 * data.HELD, 12 if text else 64)
    assert len(held.unique(dim=0)) > 0.95 * len(held)  # the reference repeats a few phrases


def test_the_next_character_is_the_label(texts):
    for own, _ in texts.values():
        assert (own.x[:, 1:] == own.y[:, :-1]).all()
        assert 0 <= int(own.x.min()) <= int(own.y.max()) < LETTERS


@pytest.mark.parametrize("text", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_source_differs_as_its_kind_says(texts, pictures, text, kind):
    own = (texts["reference 0"] if text else pictures["plain"])[0]
    found = spoiled(own, kind, stream(0, kind))
    assert found.x.shape == own.x.shape
    assert found.y.shape == own.y.shape
    same_x, same_y = bool((found.x == own.x).all()), bool((found.y == own.y).all())
    text_alone = (False, False) if text else (False, True)
    assert (same_x, same_y) == {
        "shuffled": (True, False),
        "language": text_alone,
        "shortcut": (False, True),
        "duplicated": (False, False),
        "noise": text_alone,
    }[kind]
    if kind == "duplicated":
        assert len(found.x.flatten(1).unique(dim=0)) == data.DISTINCT
    if kind == "shuffled":
        assert sorted(found.y.tolist()) == sorted(own.y.tolist())
    if kind == "shortcut" and not text:
        assert (found.x.flatten(1)[:, :10].argmax(1) == found.y[:, 0]).all()
    if kind == "shortcut" and text:
        marked = found.x >= LETTERS
        assert (found.x[marked] - LETTERS == found.y[marked]).all()
        assert 0.08 < marked.float().mean() < 0.17


def test_two_halves_conflict(texts, pictures):
    one, other = conflicting(texts["reference 0"][0])
    assert bool((one.x == 0).any())
    assert not bool((other.x == 0).any())
    one, other = conflicting(pictures["plain"][0])
    assert len(one.x) == len(other.x) == 32
    assert torch.equal(pictures["plain"][0].y[32:], 9 - other.y)


def test_runs_of_a_seed_differ_in_the_bad_source_alone():
    config = Config(seed=1000, pool=16)
    none, noisy = drawn(config, "vit", "none"), drawn(config, "vit", "noise")
    assert none.bad == ()
    differs = {name for name, own in none.sources.items() if not torch.equal(own.x, noisy.sources[name].x)}
    assert differs == {*noisy.bad}
    assert len(noisy.bad) == 1


@pytest.mark.parametrize("name", ["gpt", "lstm", "mixer", "vit"])
def test_every_architecture_has_a_loss_for_each_row(texts, pictures, name):
    own = (texts["sums"] if name in models.TEXT else pictures["plain"])[0].rows(torch.arange(3))
    losses = models.losses_of(models.model_of(name, 8, 0), *own)
    assert losses.shape == (3,)
    whole = models.model_of(name, 8, 0)(own.x).log_softmax(-1)
    chosen = whole.gather(-1, own.y[..., None])
    torch.testing.assert_close(losses, -chosen.mean((1, 2)))
    deep = models.model_of(name, 8, 0, depth=3)
    assert len(deep.blocks) == 3
    assert deep(own.x).shape == whole.shape


def test_text_is_read_from_the_left(texts):
    x = texts["walks"][0].x[:2]
    other = x.clone()
    other[:, -1] = 0
    for name in models.TEXT:
        model = models.model_of(name, 8, 0)
        torch.testing.assert_close(model(x)[:, :-1], model(other)[:, :-1])


def test_numbers_are_beside_the_median():
    assert numbers._written([0.0, 1.0, 2.0, 3.0, 103.0]) == "-2.0 -1.0 0.0 1.0 30.0"
    assert numbers._written([float("nan"), 1.0, 1.0]) == "0.0 0.0 0.0"


def test_a_small_run_can_be_judged_and_drawn():
    rows, seeds = {"quick": [], "acting": []}, {"quick": (104, 105), "acting": (105,)}
    for preset, found in rows.items():
        config = replace(EXPERIMENT.presets[preset].config, **TINY, architectures=("lstm",))
        for seed in seeds[preset]:
            found += [{**row, "seed": seed} for row in EXPERIMENT.run(replace(config, seed=seed))]
    assert len(rows["quick"]) == 2 * 7
    assert len(rows["acting"]) == 3 * 5
    for preset, found in rows.items():
        verdicts = [judge(claim, found, preset).verdict for claim in EXPERIMENT.claims]
        assert not all(one == "not measurable here" for one in verdicts)
        assert EXPERIMENT.figures(Rows(found))


def made_up():
    """Return rows in which "spread late" finds the bad source of every kind, and all else is flat."""
    for seed in range(104, 112):
        for kind in ("none", "conflict", *KINDS):
            bad = seed % 8
            row = {"kind": "run", "seed": seed, "run": kind, "bad": bad if kind in KINDS else None, "good named": seed % 2}
            for name in (*numbers.BASELINES, *numbers.WATCH):
                for window in numbers.WINDOWS:
                    row[f"{name} {window}"] = "0.5 " * 7 + "0.5"
            scores = ["1.0"] * 8
            if kind in KINDS:
                scores[bad] = "-7.0"
            yield {**row, "spread late": " ".join(scores)}


def test_the_number_that_finds_is_chosen_and_judged():
    rows = Rows(made_up())
    assert measures.chosen(rows, KINDS, numbers.WATCH) == Candidate("spread", "late", "low")
    found = measures.auroc("noise")(rows)
    assert (found.value, found.low, found.high, found.n) == (1.0, 1.0, 1.0, 6)
    assert measures.auroc("noise", "loss")(rows).value == 0.5
    assert measures.margin("shortcut")(rows).value == 0.5
    assert measures.third()(rows).value == 1.0
    assert measures.quiet()(rows).value == 1.0
    assert measures.sentences("none", "good named", none=True)(rows).value == 0.5


def test_areas_are_shares_of_pairs():
    rows = Rows(made_up())
    runs = rows.where(run="noise")
    one = Candidate("spread", "late", "high")
    scores, bad = one.scores(runs), [int(row["bad"]) for row in runs]
    good = [value for own, place in zip(scores, bad, strict=True) for n, value in enumerate(own) if n != place]
    found = [scores[n, place] for n, place in enumerate(bad)]
    share = sum((a > b) + (a == b) / 2 for a in found for b in good) / (len(found) * len(good))
    assert one.wins(runs).mean() == pytest.approx(share)


def test_acting_is_measured_against_averaging():
    rows = Rows(
        {"kind": "act", "seed": seed, "architecture": "lstm", "run": "noise", "act": act, "after": after}
        for seed in range(3)
        for act, after in (("averaging", 2.0), ("drop", 1.0))
    )
    assert measures.worth("drop")(rows).value == 0.5
    assert measures.worth("drop", "shuffled")(rows) is None


@pytest.mark.parametrize("field", ["architectures", "runs", "acts"])
def test_an_unknown_name_is_refused(field):
    with pytest.raises(ValueError, match=f"`{field}` should be of"):
        Config(**{field: ("atlantis",)})
