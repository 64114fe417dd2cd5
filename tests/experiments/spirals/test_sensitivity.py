from dataclasses import fields, replace

import pytest

from craik.experiments.spirals.mechanism import run as spirals
from craik.experiments.spirals.sensitivity import run as spirals_sensitivity
from craik.lab import judge


def test_each_variant_changes_one_choice_except_the_published_codes():
    for name, variant in spirals_sensitivity.VARIANTS.items():
        changed = {f.name for f in fields(variant) if getattr(variant, f.name) != getattr(spirals_sensitivity.BASE, f.name)}
        limit = 4 if name.startswith("shortcut scale 1,") else 2 if name == "batch 32" else 1
        assert len(changed) <= limit, name


def test_rows_figures_and_claims(monkeypatch):
    tiny = replace(spirals.PRESETS["quick"], environments=3, examples=32, hidden=8, layers=1, epochs=20, batch=16)
    names = spirals_sensitivity.PRESETS["quick"].variants
    monkeypatch.setattr(spirals_sensitivity, "VARIANTS", dict.fromkeys(names, tiny))
    config = spirals_sensitivity.PRESETS["quick"]
    rows = [{"seed": 500, **row} for row in spirals_sensitivity.run(config)]
    assert [row["variant"] for row in rows] == list(names)
    assert list(spirals_sensitivity.figures(rows)) == ["variants"]
    assert spirals_sensitivity.progress(config, rows[-1])[0] == 1
    assert judge(spirals_sensitivity.CLAIMS[0], rows, "quick").n == 1


def test_unknown_variant():
    with pytest.raises(ValueError, match=r"variants should be among 'as in quick'.*Found 'bigger'"):
        spirals_sensitivity.Config(variants=("bigger",))
