"""Cards and weights that a stranger wrote, digests and all: each is named, and none is believed."""

import json
import os

import numpy as np
import pytest
from safetensors.numpy import load as read
from safetensors.numpy import save as write

from mechlearn.nn.saving import sha256
from mechlearn.tables.candidates import Fold
from mechlearn.tables.fitting import Training
from mechlearn.tables.reading_in import columns_of, encoding_of, prepare
from mechlearn.tables.saving import Stepping, load, model_of, save
from mechlearn.tables.saving.cards import sealed
from site_tables import shortcut


def card(**values):
    """Entries of the card with other values; ... removes one."""

    def _change(found, arrays):
        found |= values
        for name in [name for name, value in values.items() if value is ...]:
            del found[name]

    return _change


def column(**values):
    return lambda found, arrays: found["columns"][0].update(values)


def array(name, change):
    def _change(found, arrays):
        arrays[name] = change(arrays[name])

    return _change


def number(name, value):
    def _change(found, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name].flat[0] = value

    return _change


ALTERED = {
    "classes: three": card(classes=[0.0, 1.0, 2.0], shares=[0.2, 0.3, 0.5]),
    "classes: one": card(classes=[0.0], shares=[1.0]),
    "classes: one twice": card(classes=[0.0, 0.0]),
    "classes: a number": card(classes=2),
    "classes: lists": card(classes=[[0], [1]]),
    "classes: none": card(classes=None),
    "classes: gone": card(classes=...),
    "classes: escapes": card(classes=["\x1b]0;owned\x07", "b"]),
    "classes: C1": card(classes=["a\x9b31m", "b"]),
    "classes: long": card(classes=["a" * 200_000, "b"]),
    "scores: a word": card(scores="odds"),
    "scores: a list": card(scores=[]),
    "shares: negative": card(shares=[-0.5, 1.5]),
    "shares: NaN": card(shares=[float("nan"), 1.0]),
    "shares: texts": card(shares=["a", "b"]),
    "shares: too many": card(shares=[0.2, 0.3, 0.5]),
    "shares: more than 1": card(shares=[1.0, 1.0]),
    "shares: a number": card(shares=1),
    "columns: none": card(columns=[]),
    "columns: a text": card(columns="abc"),
    "columns: of numbers": card(columns=[1, 2]),
    "columns: an object": card(columns={}),
    "columns: one twice": lambda found, arrays: found.update(columns=[found["columns"][0]] * 2),
    "columns: one more": lambda found, arrays: found["columns"].append({"name": "z", "categories": None, "missing": False}),
    "columns: a missing one more": column(missing=True),
    "columns: missing as a number": column(missing=1),
    "columns: categories": column(categories=["a", "b"]),
    "columns: categories of numbers": column(categories=[1, 2]),
    "columns: a million categories": column(categories=[str(one) for one in range(200_000)]),
    "columns: a name that is a number": column(name=3),
    "columns: another key": column(extra=1),
    "columns: escapes": column(name="\x1b[2J"),
    "unused: a text": card(unused="abc"),
    "unused: numbers": card(unused=[1]),
    "target: escapes": card(target="\x1b[2J"),
    "facts: infinite": card(rows=float("inf")),
    "facts: large": card(rows=10**400),
    "states: too": card(states=["a", "b"], steps=3, skip=1),
    "estimator: a path": card(estimator="../../x"),
    "weights: a number": card(weights=3),
    "format: another": card(format=99),
    "format: true": card(format=True),
    "weight: NaN": number("0.weight", np.nan),
    "weight: infinite": number("0.weight", np.inf),
    "bias: NaN": number("0.bias", np.nan),
    "mean: NaN": number("mean", np.nan),
    "spread: zero": number("spread", 0.0),
    "spread: negative": number("spread", -1.0),
    "weight: flat": array("0.weight", np.ravel),
    "weight: a column less": array("0.weight", lambda one: np.ascontiguousarray(one[..., 1:])),
    "weight: no member": array("0.weight", lambda one: one[:0]),
    "bias: a unit more": array("0.bias", lambda one: np.concatenate([one, one], 1)),
    "weight: texts' codes": array("0.weight", lambda one: one.astype(bool)),
    "weight: gone": lambda found, arrays: arrays.pop("0.weight") is None,
    "mean: gone": lambda found, arrays: arrays.pop("mean") is None,
    "a further array": lambda found, arrays: arrays.update(more=np.zeros(3)),
    "a further layer": lambda found, arrays: arrays.update({"2.weight": np.ones((1, 2, 2)), "2.bias": np.ones((1, 1))}),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    table = shortcut(sites=4, rows=30)
    columns = columns_of(table.x)
    fold = Fold(prepare(columns, table.y, table.site), -1, Training(hidden=4, steps=15, rows_per_site=20))
    return save(
        model_of("pooled linear", fold, encoding_of(columns), {"target": "y"}), tmp_path_factory.mktemp("kept") / "model"
    )


def altered(model, folder, change):
    """A copy of a model that a change was made to, with digests as they should be."""
    folder.mkdir()
    found, arrays = json.loads((model / "card.json").read_text()), read((model / "weights.safetensors").read_bytes())
    own = found["weights"]
    change(found, arrays)
    content = write(arrays)
    (folder / "weights.safetensors").write_bytes(content)
    found |= {"weights": sha256(content)} if found.get("weights") == own else {}
    (folder / "card.json").write_text(json.dumps(sealed(found)))
    return folder


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_card_or_weight_is_named(model, tmp_path, name):
    folder = altered(model, tmp_path / "model", ALTERED[name])
    with pytest.raises((ValueError, FileNotFoundError), match=r"should|No such file") as caught:
        load(folder)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


def test_what_is_not_altered_is_read(model, tmp_path):
    assert load(altered(model, tmp_path / "model", lambda found, arrays: None)).classes == load(model).classes


STEPS = {
    "states: one more": ({"states": ["a", "b", "c"]}, {}),
    "states: one twice": ({"states": ["a", "a"]}, {}),
    "steps: negative": ({"steps": -1}, {}),
    "steps: a billion": ({"steps": 10**9}, {}),
    "steps: a text": ({"steps": "3"}, {}),
    "skip: NaN": ({"skip": float("nan")}, {}),
    "weight: NaN": ({}, {"0.weight": np.full((4, 2), np.nan)}),
    "weight: a state more": ({}, {"2.weight": np.ones((3, 4))}),
}


@pytest.mark.parametrize("name", STEPS)
def test_an_altered_model_of_trajectories_is_named(tmp_path, name):
    values, changed = STEPS[name]
    arrays = {"mean": np.zeros(2), "spread": np.ones(2), "0.weight": np.ones((4, 2)), "0.bias": np.ones(4)}
    arrays |= {"2.weight": np.ones((2, 4)), "2.bias": np.ones(2)}
    whole = save(Stepping(("a", "b"), arrays, {"steps": 3, "skip": 1.5}), tmp_path / "whole")
    assert load(whole).names == ("a", "b")
    folder = altered(whole, tmp_path / "model", lambda found, arrays: (found.update(values), arrays.update(changed)))
    with pytest.raises(ValueError, match="should"):
        load(folder)


@pytest.mark.skipif(os.name == "nt", reason="links and pipes of Unix")
@pytest.mark.parametrize("file", ["card.json", "weights.safetensors"])
@pytest.mark.parametrize("how", ["link", "pipe", "large"])
def test_a_file_that_is_none_of_the_folders_own_is_not_read(model, tmp_path, file, how):
    folder = altered(model, tmp_path / "model", lambda found, arrays: None)
    path = folder / file
    elsewhere = path.rename(tmp_path / file)
    if how == "link":
        path.symlink_to(elsewhere)
    elif how == "pipe":
        os.mkfifo(path)
    else:
        with path.open("wb") as opened:
            opened.truncate(2**31 + 1)  # takes no room on the disk
    with pytest.raises((OSError, ValueError), match=r"levels of symbolic links|at most"):
        load(folder)


def test_a_card_that_is_nested_without_end_is_named(model, tmp_path):
    folder = altered(model, tmp_path / "model", lambda found, arrays: None)
    (folder / "card.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(ValueError, match="nested too deeply"):
        load(folder)
