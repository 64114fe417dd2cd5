import json

import numpy as np
import pytest

from craik.estimators.candidates import NETWORKS, Fold, linear_model
from craik.estimators.fitting import Training
from craik.estimators.forecasts.forecaster import SkipForecaster
from craik.estimators.saving import SAVED, Stepping, load, model_of, save
from craik.estimators.tables import Scaling, columns_of, encoding_of, prepare
from site_tables import regression, shortcut

QUICK = Training(hidden=4, steps=15, rows_per_site=20)


def kept(method, table):
    columns = columns_of(table.x)
    fold = Fold(prepare(columns, table.y, table.site), -1, QUICK)
    return fold, columns, model_of(method, fold, encoding_of(columns), {"target": "y"})


@pytest.mark.parametrize("method", SAVED)
@pytest.mark.parametrize("made", [shortcut, regression])
def test_what_is_saved_predicts_the_same(tmp_path, method, made):
    table = made(sites=4, rows=30)
    _, columns, model = kept(method, table)
    again = load(save(model, tmp_path / "model"))
    np.testing.assert_array_equal(model.outputs(columns), again.outputs(columns))
    assert again.facts == {"target": "y"}
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
    from scipy.special import softmax

    from craik.estimators.fitting import outputs

    np.testing.assert_allclose(model.outputs(columns), softmax(outputs(params, x).numpy(), -1).mean(0), atol=1e-5)


def test_tampered_and_foreign_models_are_refused(tmp_path):
    _, _, model = kept("pooled linear", shortcut(sites=3, rows=30))
    folder = save(model, tmp_path)
    weights = (folder / "weights.safetensors").read_bytes()
    (folder / "weights.safetensors").write_bytes(weights[:-1] + b"x")
    with pytest.raises(ValueError, match="those that the card names"):
        load(folder)
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps({**card, "format": 99}))
    with pytest.raises(ValueError, match="Found 99"):
        load(folder)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")


def test_what_steps_is_saved(tmp_path):
    data = np.cumsum(np.random.default_rng(0).normal(size=(6, 8, 2)), 1)
    model = SkipForecaster(steps=3, hidden=4, window=4, random_state=0).fit(data)
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
