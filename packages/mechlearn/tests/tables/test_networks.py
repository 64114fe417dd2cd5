"""A network of the user's: exactly the built-in perceptron where it is one, and a citizen of scikit-learn where it is not."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold
from torch import nn

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.tables import AgreementClassifier, AgreementRegressor
from mechlearn.tables.fitting import Architecture, Configuration, Sites, Training, fit
from mechlearn.tables.saving.cards import check_kept
from mechlearn.tables.training_rules.penalties import penalised, vrex
from network_checks import check_network
from site_tables import regression, shortcut

TABLE = shortcut(sites=4, rows=40, strength=3.0, turned=2)
SIZES = (12, 7, 15)


def double(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 4), nn.Tanh(), nn.Linear(4, outputs)).double()


def linear(inputs, outputs):
    layer = nn.Linear(inputs, outputs)
    for parameter in layer.parameters():
        nn.init.zeros_(parameter)
    return layer


def dropping(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.3), nn.Linear(8, outputs))


def wide(inputs, outputs):
    return nn.Sequential(nn.LazyLinear(16), nn.Tanh(), nn.Linear(16, outputs))


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_perceptron_of_the_users_trains_as_the_built_in_one(task):
    generator = torch.Generator().manual_seed(3)
    x, weights = torch.randn(34, 4, generator=generator).double(), torch.rand(34, generator=generator).double() + 0.5
    y = torch.eye(3).double()[torch.randint(3, (34,), generator=generator)]
    sites = Sites(x, y if task == "classification" else x[:, :3] * torch.randn(34, 3).double(), SIZES, weights, task)
    own = torch.tensor([[True, True, False], [False, True, True], [True, True, True]])
    configurations = [Configuration(0.03, 0.1, 1.0), Configuration(0.01, 0.3, 0.8), Configuration(0.03, 0.0)]
    network = Architecture(relu_mlp((4, 6, 3), torch.Generator().manual_seed(5)).double())
    training = Training(hidden=6, steps=14, every=3, patience=2)
    built_in = fit(sites, configurations, own, training, torch.Generator().manual_seed(5))
    theirs = Training(steps=14, every=3, patience=2, network=network)
    found = fit(sites, configurations, own, theirs, torch.Generator().manual_seed(5))
    for name, wanted in built_in.params.items():
        torch.testing.assert_close(found.params[name], wanted, rtol=0, atol=1e-12)
    assert torch.equal(found.steps, built_in.steps)
    with pytest.raises(ValueError, match="averaging and the AND-mask"):
        fit(sites, configurations, own, theirs, torch.Generator(), way=penalised(vrex))


@pytest.mark.filterwarnings("ignore:fit() was given no groups")
@pytest.mark.parametrize("kind", [AgreementClassifier, AgreementRegressor])
def test_scikit_learns_checks(kind):
    check_network(kind(network=double, steps=25, learning_rate=0.1))


def test_groups_decide_what_it_learns():
    table = shortcut(sites=2, rows=150, strength=0)
    x = table.x.copy()
    x[:, 10] += (table.y - 0.5) * np.where(table.site == 0, 4.0, -1.0)
    settings = {"random_state": 0, "audit_features": False, "early_stopping": False}
    ours = AgreementClassifier(**settings).fit(x, table.y, groups=table.site)
    theirs = AgreementClassifier(network=linear, **settings).fit(x, table.y, groups=table.site)
    np.testing.assert_allclose(theirs.decision_function(x), ours.decision_function(x), atol=1e-3)
    assert not hasattr(theirs, "coef_")


def test_the_seed_decides_and_torchs_own_generator_is_left_alone():
    settings = {"network": dropping, "steps": 10, "audit_features": False}
    model = AgreementClassifier(**settings, random_state=0)
    before = torch.get_rng_state()
    said = model.fit(TABLE.x, TABLE.y, groups=TABLE.site).predict_proba(TABLE.x)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(7)
    assert np.array_equal(clone(model).fit(TABLE.x, TABLE.y, groups=TABLE.site).predict_proba(TABLE.x), said)
    other = AgreementClassifier(**settings, random_state=1).fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert not np.allclose(other.predict_proba(TABLE.x), said)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(TABLE.x), said)


def test_what_a_fit_leaves(capsys):
    model = AgreementClassifier(network=wide, steps=30, random_state=0, batch_size=16, verbose=1)
    model.fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert "loss at held-out sites" in capsys.readouterr().out
    assert len(model.networks_) == 3
    assert not any(network.training for network in model.networks_)
    assert model.weights_["0.weight"].shape == (3, 16, 11)
    assert set(model.agreement_) == {"parameters"}
    assert set(model.score_by_group_) == {"0", "1", "2", "3"}
    assert [feature.column for feature in model.disagreeing_features_] == ["x10"]
    rows = torch.tensor(model._scaling.applied(TABLE.x), dtype=torch.float32)
    with torch.no_grad():
        literal = torch.stack([network(rows) for network in model.networks_]).mean(0)
    np.testing.assert_allclose(model.decision_function(TABLE.x), (literal[:, 1] - literal[:, 0]).numpy(), atol=1e-5)
    model.set_params(network=None).fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert model.networks_ == []


def test_numbers_and_searches_among_networks():
    table = regression(sites=3, rows=60, turned=0)
    model = AgreementRegressor(network=linear, steps=30, learning_rate=0.2, random_state=0, audit_features=False)
    with pytest.warns(UserWarning, match="no groups"):
        search = GridSearchCV(model, {"network": [linear, wide]}, cv=GroupKFold(3)).fit(table.x, table.y, groups=table.site)
    assert search.best_score_ > 0.3


def with_batch_norm(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 4), nn.BatchNorm1d(4), nn.Linear(4, outputs))


def with_batches_own_norm(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 4), nn.BatchNorm1d(4, track_running_stats=False), nn.Linear(4, outputs))


def frozen(inputs, outputs):
    return nn.Linear(inputs, outputs).requires_grad_(False)


@pytest.mark.parametrize(
    ("network", "error", "sentence"),
    [
        (nn.Linear(11, 2), TypeError, "Found Linear. Give a class or a function"),
        ("mlp", TypeError, "Found str"),
        (lambda inputs, outputs: inputs + outputs, TypeError, "make a torch module. Found int"),
        (lambda inputs, outputs: nn.Linear(inputs, 1), ValueError, r"shape \(4, 2\). Found \(4, 1\)"),
        (nn.LSTM, ValueError, "Found tuple"),
        (with_batch_norm, ValueError, "'1.running_mean'"),
        (with_batches_own_norm, ValueError, "without the other rows"),
        (frozen, ValueError, "parameters to train"),
    ],
)
def test_networks_that_cannot_be(network, error, sentence):
    with pytest.raises(error, match=sentence):
        AgreementClassifier(network=network).fit(TABLE.x, TABLE.y, groups=TABLE.site)


def test_an_estimator_is_not_saved_as_a_model_is():
    with pytest.raises(TypeError, match="state_dict"):
        check_kept(AgreementClassifier(network=linear))
