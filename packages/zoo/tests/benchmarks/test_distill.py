import json
import sys
from dataclasses import replace

import pytest
import torch
from mechlearn_zoo_benchmarks.entrants.unrolls.methods import PLAIN, Method, methods
from mechlearn_zoo_benchmarks.entrants.unrolls.ours import prepare_with
from mechlearn_zoo_benchmarks.entrants.unrolls.problem import unrolling
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError
from torch import nn

from claimlab.cli.bench import KEYS, load
from mechlearn import cli
from mechlearn.distill import Adjoint
from mechlearn_zoo.nn.convolutions import trajectory_network

COMPILED = {"mechlearn", "mechlearn_whole", "mechlearn_bf16"}
"""What a test has no time to compile; their graphs are tested in packages/mechlearn/tests/distill."""

PEERS = {"higher": "higher", "torchopt": "torchopt"}


@pytest.mark.parametrize("alone", [False, True])
@pytest.mark.parametrize("name", [name for name in methods() if name not in COMPILED])
def test_every_method_finds_the_same_gradient(name, alone):
    if name in PEERS:
        pytest.importorskip(PEERS[name])
    problem = unrolling(4, alone=alone, small=True, seed=1).copy(torch.float64)
    expected = methods()[PLAIN].prepare(problem.copy())()
    compute = methods()[name].prepare(problem.copy())
    for _ in range(2):  # what a meta-gradient leaves behind must not reach the next
        for found, wanted in zip(compute(), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("alone", [False, True])
def test_the_first_steps_of_a_problem_are_a_shorter_problem(alone):
    problem = unrolling(5, alone=alone, small=True, seed=1)
    short = problem.first(2)
    assert short.student is problem.student
    assert len(short.x) == len(short.privileged) == len(short.y) == 2
    for i in range(2):
        assert torch.equal(short.signals(i), problem.signals(i))


def test_beyond_the_thorough_lengths_some_methods_run_without_float64(monkeypatch, capsys):
    chosen = "--methods", "mechlearn_unroll,mechlearn_adjoint", "--lengths", "2,3", "--thorough", "2"
    assert cli.main(("bench", "distill", "--quick", "--problems", "student", *chosen, "--json")) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["n"], row["method"]) for row in rows] == [
        (2, "plain autograd"),
        (2, "mechlearn, adjoint uncompiled"),
        (2, "mechlearn, unroll"),
        (3, "plain autograd"),
        (3, "mechlearn, adjoint uncompiled"),
    ]
    assert [row["exact"] for row in rows] == [None, True, True, None, None]


def test_an_approximation_is_never_exact_and_its_error_is_that_of_float32(monkeypatch):
    bench = load("distill", "mechlearn_zoo")
    rough = {
        key: Method(key, prepare_with(Adjoint(), autocast=autocast), exact=False)
        for key, autocast in (("mechlearn_plain", None), ("mechlearn_rough", torch.bfloat16))
    }
    monkeypatch.setattr(bench.module, "methods", lambda: {PLAIN: methods()[PLAIN], **rough})
    config = replace(bench.presets["quick"], problems=("mujoco",), memory=False)
    _, single, low = bench.run(config, lambda _: None)
    assert (single["exact"], low["exact"]) == (False, False)
    assert 1e-9 < single["error"] < 1e-3 < low["error"] < 1
    (unmeasured,) = list(bench.run(replace(config, exact=False), lambda _: None))[2:]
    assert unmeasured["exact"] is None


def test_the_teacher_in_low_precision_is_an_approximation():
    assert {key for key, method in methods().items() if not method.exact} == {"mechlearn_bf16"}


def test_the_teacher_normalises_where_the_experiment_s_does():
    problem = unrolling(1, alone=False, small=False, seed=0)
    kinds = [type(layer) for layer in problem.teacher if not isinstance(layer, nn.Flatten)]
    expected = trajectory_network(12, 16, (96, 96, 96, 256), 768, 2 * 5 * 128, torch.Generator())
    assert kinds == [type(layer) for layer in list(expected)[1:] if not isinstance(layer, nn.Flatten)]


@pytest.mark.parametrize("name", PEERS)
def test_a_missing_peer_says_how_to_get_it(name, monkeypatch):
    monkeypatch.setitem(sys.modules, PEERS[name], None)
    with pytest.raises(NotRunError, match=f"pip install {name}"):
        methods()[name].prepare(unrolling(1, alone=True, small=True, seed=0))


def test_json_has_the_agreed_keys(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torchopt", None)
    chosen = "--methods", "mechlearn_unroll,torchopt"
    status = cli.main(("bench", "distill", "--quick", "--problems", "mujoco", *chosen, "--memory", "false", "--json"))
    found = json.loads(capsys.readouterr().out)
    assert (status, found["bench"]) == (0, "distill")
    plain, ours, torchopt = found["rows"]
    assert all(set(KEYS) <= set(row) for row in found["rows"])
    assert (plain["workload"], plain["ratio"], plain["low"], plain["high"]) == ("mujoco, n = 3", 1.0, 1.0, 1.0)
    assert ours["exact"] is True
    assert 0 < ours["low"] <= ours["ratio"] <= ours["high"]
    assert torchopt["ratio"] is None
    assert torchopt["note"].startswith("not installed")


def test_a_population_is_measured_over_one_student(capsys):
    assert cli.main(("bench", "distill", "--quick", "--problems", "population", "--json")) == 0
    one, stacked, alone = json.loads(capsys.readouterr().out)["rows"]
    assert (one["ratio"], one["method"], stacked["method"]) == (1.0, "one student", "mechlearn, stacked")
    assert (stacked["exact"], alone["exact"]) == (True, None)
    assert stacked["error"] < 1e-10
    assert all(set(KEYS) <= set(row) for row in (one, stacked, alone))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--problems", "mujocco"), "Did you mean mujoco?"),
        (("--methods", "hihger"), "Did you mean higher?"),
        (("--lengths", "0"), "lengths should be at least 1. Found 0"),
    ],
)
def test_bad_usage_is_status_2(words, sentence, capsys):
    assert cli.main(("bench", "distill", *words)) == 2
    assert sentence in capsys.readouterr().err


def test_the_full_preset_is_the_thesis_s():
    full = load("distill", "mechlearn_zoo").presets["full"]
    assert (full.lengths, full.problems, full.threads, full.small) == (
        (16, 96, 384),
        ("mujoco", "student", "population"),
        1,
        False,
    )
    problem = unrolling(2, alone=False, small=False, seed=0)
    assert (problem.x.shape, problem.privileged.shape) == ((2, 24, 59), (2, 24, 12, 16))
    assert problem.signals(0).shape == (24, 2 * 5 * 128)
