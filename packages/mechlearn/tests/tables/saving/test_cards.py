import json
import sys

import numpy as np
import pytest
from scipy.special import softmax

from mechlearn.nn.saving import sha256
from mechlearn.tables.candidates import CANDIDATES, NETWORKS, Fold, linear_model
from mechlearn.tables.fitting import Training, outputs
from mechlearn.tables.forecasts.forecaster import SkipForecaster
from mechlearn.tables.reading_in import Encoding, Scaling, columns_of, encoding_of, prepare
from mechlearn.tables.saving import Stepping, load, model_of, models, save
from mechlearn.tables.saving.cards import sealed
from site_tables import regression, shortcut

QUICK = Training(hidden=4, steps=15, rows_per_site=20)


def kept(method, table):
    columns = columns_of(table.x)
    fold = Fold(prepare(columns, table.y, table.site), -1, QUICK)
    return fold, columns, model_of(method, fold, encoding_of(columns), {"target": "y"})


trees = pytest.param("pooled boosting", marks=pytest.mark.extra("integrations", "skops"))


@pytest.mark.parametrize("method", [*(name for name in CANDIDATES if name != "pooled boosting"), trees])
@pytest.mark.parametrize("made", [shortcut, regression])
def test_what_is_saved_predicts_the_same(tmp_path, method, made):
    table = made(sites=4, rows=30)
    _, columns, model = kept(method, table)
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(model.outputs(columns), again.outputs(columns))
    assert again.facts == {"target": "y"}
    assert (again.shares, again.unused) == (model.shares, model.unused)
    assert again.predicted(columns).shape == (120,)


def test_the_linear_model_is_scikit_learns():
    fold, columns, model = kept("pooled linear", shortcut(sites=4, rows=30))
    wanted = linear_model(fold).predict_proba(fold.x)
    np.testing.assert_allclose(model.outputs(columns), wanted, atol=1e-12)


def test_numbers_come_in_their_own_unit():
    fold, columns, model = kept("pooled linear", regression(sites=4, rows=30))
    wanted = linear_model(fold).predict(fold.x) * fold.target_scaling.spread + fold.target_scaling.mean
    np.testing.assert_allclose(model.predicted(columns), wanted, atol=1e-10)


def test_networks_are_the_fold_models_averaged():
    fold, columns, model = kept("pooled network", shortcut(sites=4, rows=30))
    params, x = fold.trained(NETWORKS["pooled network"])
    np.testing.assert_allclose(model.outputs(columns), softmax(outputs(params, x).numpy(), -1).mean(0), atol=1e-5)


def test_predictions_are_cut_at_the_classes_shares(tmp_path):
    """Of a rare class, and columns that tell nothing of it: what is said is its share, and half of the rows are above it."""
    rng = np.random.default_rng(0)
    columns, y = {"a": rng.normal(size=900), "b": rng.normal(size=900)}, (rng.random(900) < 0.1).astype(int)
    table = prepare(columns, y, np.arange(900) % 3)
    model = load(save(model_of("pooled linear", Fold(table, -1, QUICK), encoding_of(columns), {}), tmp_path))
    assert model.shares == pytest.approx((1 - y.mean(), y.mean()))
    outputs = model.outputs(columns)
    assert outputs[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    assert np.array_equal(model.predicted(columns), outputs[:, 1] > y.mean())
    assert model.word == "probability"


def test_columns_without_a_say_are_not_needed(tmp_path):
    table = shortcut(sites=6, rows=40, strength=5.0, turned=3)
    columns = columns_of(table.x)
    fold = Fold(prepare(columns, table.y, table.site), -1, QUICK)
    assert fold.dropped.tolist() == [False] * 10 + [True]
    model = load(save(model_of("screening", fold, encoding_of(columns), {}), tmp_path))
    assert model.unused == ("x10",)
    assert json.loads((tmp_path / "card.json").read_text())["unused"] == ["x10"]
    said = model.outputs({name: values for name, values in columns.items() if name != "x10"})
    np.testing.assert_array_equal(said, model.outputs({**columns, "x10": np.array(["?"] * 240)}))
    whole, x = fold.trained(NETWORKS["pooled network"], fold.dropped)
    np.testing.assert_allclose(said, softmax(outputs(whole, x).numpy(), -1).mean(0), atol=1e-5)


def test_where_no_column_has_a_say_all_are_kept():
    encoding, arrays = Encoding(encoding_of({"a": np.ones(3)}).columns), {"0.weight": np.zeros((1, 1, 1))}
    assert models._pruned(encoding, arrays) == (encoding, arrays, ())


@pytest.mark.extra("integrations", "skops")
def test_trees_that_are_none_of_ours_are_refused(tmp_path):
    """A file with another type, with a branch that leads back, and one that is no file of skops at all."""
    import skops.io
    from sklearn.svm import SVC

    _, columns, model = kept("pooled boosting", shortcut(sites=4, rows=30))
    folder = save(model, tmp_path / "model")

    def with_estimator(content):
        card = json.loads((folder / "card.json").read_text())
        (folder / "card.json").write_text(json.dumps(sealed({**card, "estimator": sha256(content)})))
        (folder / "estimator.skops").write_bytes(content)

    (folder / "estimator.skops").write_bytes(b"other")
    with pytest.raises(ValueError, match="those that the card names"):
        load(folder)
    with_estimator(b"other")
    with pytest.raises(ValueError, match="should be skops'"):
        load(folder)
    with_estimator(skops.io.dumps(SVC().fit(columns["x0"][:, None], np.arange(120) % 2)))
    with pytest.raises(ValueError, match="Found SVC"):
        load(folder)
    with_estimator(skops.io.dumps(Foreign()))
    with pytest.raises(ValueError, match=r"Found .*Foreign"):
        load(folder)
    tree = model.estimator._predictors[0][0].nodes
    tree["left"][0] = 0
    with_estimator(skops.io.dumps(model.estimator))
    with pytest.raises(ValueError, match="lead down"):
        load(folder)


class Foreign:
    pass


def test_without_skops_trees_are_not_kept(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    _, _, model = kept("pooled boosting", shortcut(sites=4, rows=30))
    with pytest.raises(ImportError, match="pip install '"):
        save(model, tmp_path / "model")


def test_a_card_that_is_none(tmp_path):
    (tmp_path / "card.json").write_text("{")
    with pytest.raises(ValueError, match="should be JSON"):
        load(tmp_path)
    (tmp_path / "card.json").write_text("[]")
    with pytest.raises(ValueError, match="JSON object"):
        load(tmp_path)


def test_tampered_and_foreign_models_are_refused(tmp_path):
    _, _, model = kept("pooled linear", shortcut(sites=3, rows=30))
    folder = save(model, tmp_path)
    weights = (folder / "weights.safetensors").read_bytes()
    (folder / "weights.safetensors").write_bytes(weights[:-1] + b"x")
    with pytest.raises(ValueError, match="those that the card names"):
        load(folder)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, "classes": [1, 0]}))
    with pytest.raises(ValueError, match="as it was written"):
        load(folder)
    (folder / "card.json").write_text(json.dumps({**card, "format": 99}))
    with pytest.raises(ValueError, match="Found 99"):
        load(folder)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")


def test_what_steps_is_saved(tmp_path):
    data = np.cumsum(np.random.default_rng(0).normal(size=(6, 8, 2)), 1)
    model = SkipForecaster(steps=3, hidden=4, horizon=3, window=4, random_state=0).fit(data)
    scaling = Scaling.of(data.reshape(-1, 2))
    names = ("mean", "spread", "0.weight", "0.bias", "2.weight", "2.bias")
    arrays = dict(zip(names, [scaling.mean, scaling.spread, *model.weights_], strict=True))
    save(Stepping(("x", "y"), arrays, {"skip": 2.0, "steps": 3}), tmp_path / "model")
    loaded = load(tmp_path / "model")
    found = loaded.states({"y": data[:, 0, 1], "x": data[:, 0, 0], "other": np.zeros(6)}, 3)
    np.testing.assert_allclose(found, model.predict(data[:, 0], 3), rtol=1e-12)
    assert loaded.facts["skip"] == 2.0
    with pytest.raises(ValueError, match="no 'y'"):
        loaded.states({"x": np.zeros(1)}, 1)
    with pytest.raises(ValueError, match="finite"):
        loaded.states({"x": np.zeros(1), "y": np.array([np.nan])}, 1)
