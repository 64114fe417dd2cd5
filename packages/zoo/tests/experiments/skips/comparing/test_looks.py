import pytest
from torch import nn

from claimlab import EarlyStopping
from mechlearn_zoo.experiments.skips.comparing import looks
from mechlearn_zoo.experiments.skips.comparing.looks import Looks, train_and_stop
from mechlearn_zoo.experiments.skips.comparing.outcomes import QUICK, Accuracy, Worlds
from mechlearn_zoo.experiments.skips.comparing.training import Settings, make_world


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    settings = Settings(cache=str(tmp_path_factory.mktemp("cache")))
    return make_world(settings, "validation", 1), make_world(settings, "test", 2)


@pytest.fixture
def rolled(monkeypatch):
    """What was rolled out, world by world; the next accuracies on validation episodes can be set."""
    found, coming = [], []

    def label_accuracy(model, world, max_steps):
        found.append("validation" if len(world) == 1 else "test")
        return Accuracy(coming.pop(0) if found[-1] == "validation" else len(found) / 100, 0.25, 7.0)

    monkeypatch.setattr(looks, "label_accuracy", label_accuracy)
    return found, coming


@pytest.fixture
def made(worlds):
    return lambda: Looks(*worlds, 5, 40, EarlyStopping(4))


def test_test_episodes_are_rolled_out_where_validation_is_better(rolled, made):
    (found, coming), watch = rolled, made()
    coming += [0.0, 0.5, 0.5, 0.4]
    for spent in (3, 12, 15, 22, 33, 45):
        watch(nn.Identity(), spent)
    assert found == ["validation", "test", "validation", "test", "validation", "validation"]
    assert watch.stopping.row == {
        "stopped_at": 22 / 40, "stopped_validation_accuracy": 0.5, "stopped_test_accuracy": 0.04,
        "stopped_test_undecided": 0.25, "stopped_test_rollout": 7.0,
    }  # fmt: skip


def test_looks_go_on_where_they_were(rolled, made):
    (_, coming), watch, again = rolled, made(), made()
    coming += [0.5, 0.4, 0.6]
    watch(nn.Identity(), 10)
    again.load_state_dict(watch.state_dict())
    kept = dict(again.stopping.row)
    again(nn.Identity(), 11)
    again(nn.Identity(), 20)
    assert again.stopping.row == kept
    again(nn.Identity(), 50)
    assert (again.stopping.row["stopped_at"], again.stopping.validation) == (1.0, 0.6)
    assert watch.stopping.row == kept  # what is kept is no view


@pytest.mark.parametrize(("end", "stopped_at", "tested"), [(0.7, 1.0, 0.3), (0.6, 0.5, 0.5), (0.4, 0.5, 0.5)])
def test_the_end_is_a_look_beside_those_that_are_spread_over_the_budget(monkeypatch, worlds, end, stopped_at, tested):
    """Training may go on to a check beyond its budget; of equals the first stays."""

    def train_and_read(settings, method, worlds, budget, checks, watch):
        yield {"kind": "curve", "validation_accuracy": 0.1}
        watch.stopping.look(0.5, 0.6, {"validation_accuracy": 0.6, "test_accuracy": 0.5})
        yield {"kind": "final", "validation_accuracy": end, "test_accuracy": 0.3}

    monkeypatch.setattr(looks, "train_and_read", train_and_read)
    curve, final = train_and_stop(QUICK, "asi", Worlds(worlds[0], *worlds), 4)
    assert curve == {"kind": "curve", "validation_accuracy": 0.1}
    assert (final["stopped_at"], final["stopped_test_accuracy"], final["test_accuracy"]) == (stopped_at, tested, 0.3)
    assert final["stopped_validation_accuracy"] == max(end, 0.6)
