"""Every public door of the room, given what it does not take: a sentence with the rule, what was found and a way out."""

import copy
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import mechlearn
import normalise_oracles
import wrong_inputs
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, SandMask, SignalToNoiseMask, by_input

SENTENCE = re.compile(r"[A-Z`'\"].*\b(should|With|reads)\b.*\bFound\b.*[.?]", re.DOTALL)


@pytest.fixture(scope="module")
def found():
    """What all of them ended in, from a process of its own: without the type checker that these tests run under."""
    source = str(Path(mechlearn.__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, wrong_inputs.__file__], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_there_are_many(found):
    assert len(found) >= 240
    assert len({one["name"] for one in found}) == len(found)


def test_each_is_refused_in_a_sentence(found):
    known = {"TypeError", "ValueError", "RuntimeError", "FloatingPointError"}
    odd = [
        f"{one['name']}: {one['error']}: {one['message']}"
        for one in found
        if not (one["ours"] and one["error"] in known and SENTENCE.fullmatch(one["message"]) and len(one["message"]) < 700)
    ]
    assert not odd, "\n".join(odd)


def test_no_gradient_is_touched(found):
    assert [one["name"] for one in found if one["touched"]] == []


class TestWhatIsTaken:
    """Inputs that look odd and have a result."""

    def test_a_parameter_without_components(self):
        model = nn.Linear(3, 1)
        model.nothing = nn.Parameter(torch.zeros(0, 3))
        for rule in (AndMask(), Mean(), SandMask(), GeometricMean(), SignalToNoiseMask()):
            losses = model(torch.randn(4, 3))[:, 0] + model.nothing.sum()
            record = Agreement(model, rule).backward(losses, [0, 0, 1, 1])
            assert record.share_by_parameter["nothing"] == 1.0
            assert model.nothing.grad.shape == (0, 3)

    @pytest.mark.filterwarnings("ignore:.*backward pass for each environment.*:UserWarning")
    @pytest.mark.parametrize("rule", [AndMask(0.6), Mean(), SandMask(0.1)], ids=repr)
    def test_sparse_embeddings_get_what_dense_ones_get(self, rule):
        torch.manual_seed(0)
        sparse = nn.Embedding(6, 3, sparse=True, dtype=torch.float64)
        dense = nn.Embedding.from_pretrained(sparse.weight.detach().clone(), freeze=False)
        rows, y = torch.randint(0, 6, (8, 2)), torch.randn(8, dtype=torch.float64)
        for model in (sparse, dense):
            Agreement(model, rule).backward((model(rows).sum((1, 2)) - y).square(), [0, 0, 1, 1, 2, 2, 3, 3])
        torch.testing.assert_close(sparse.weight.grad, dense.weight.grad, rtol=1e-12, atol=1e-14)

    @pytest.mark.parametrize("rule", [AndMask(), Mean(), SandMask()], ids=repr)
    def test_sums_that_are_kept_give_agreement_by_input(self, rule):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 1)).double()
        x, ids = torch.randn(9, 5, dtype=torch.float64), [0, 0, 0, 1, 1, 1, 2, 2, 2]
        each = [torch.autograd.grad(model(x[k : k + 3]).square().mean(), model[0].weight)[0] for k in (0, 3, 6)]
        twin = copy.deepcopy(model)
        record = Agreement(model, rule, keep=["0.weight"]).backward(model(x)[:, 0].square(), ids)
        other = Agreement(twin, rule).backward(twin(x)[:, 0].square(), ids)
        assert other.statistics is None
        assert record.share_by_parameter == other.share_by_parameter
        for a, b in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-13, atol=1e-15)
        expected = torch.tensor(normalise_oracles.by_input(torch.stack(each)), dtype=torch.float64)
        torch.testing.assert_close(torch.stack(by_input(record)).T, expected, rtol=1e-11, atol=1e-13)
