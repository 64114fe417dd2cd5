import json
import sys
from dataclasses import replace

import pytest
import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.literal import agrees
from mechlearn_zoo_benchmarks.entrants.optimisers.methods import FUSED, Method, methods
from mechlearn_zoo_benchmarks.entrants.optimisers.methods.cautious_adamw import CautiousAdamW, timm_adamw
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError

from claimlab.cli.bench import KEYS, load
from mechlearn import cli
from mechlearn.agreement import TemporalAndMaskAdam


def test_json_has_the_agreed_keys_and_ours_are_exact(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = (
        "bench", "optim", "--quick", "--workloads", "fastresnet,tiny", "--methods", "mechlearn_loop,mechlearn_foreach",
        "--json",
    )  # fmt: skip
    assert cli.main(words) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert len(rows) == 6
    assert all(set(KEYS) <= set(row) for row in rows)
    assert [row["method"] for row in rows[:3]] == ["torch Adam, fused", "mechlearn, foreach", "mechlearn, loop"]
    assert (rows[0]["ratio"], rows[0]["memory_ratio"], rows[0]["exact"]) == (1.0, 1.0, None)
    for row in rows[1:3]:
        assert 0 < row["low"] <= row["ratio"] <= row["high"]
        assert row["memory_ratio"] == pytest.approx(1.5, abs=0.01)  # three averages for Adam's two
        assert row["exact"] is True


def test_exactness_is_looked_at():
    assert agrees(methods()["mechlearn_foreach"].make, "tiny", True, 0)
    assert not agrees(lambda parameters: TemporalAndMaskAdam(parameters, threshold=0.0), "tiny", True, 0)


def test_what_cannot_run_is_a_row(monkeypatch):
    module = load("optim", "mechlearn_zoo").module

    def missing(parameters):
        raise NotRunError("not here")

    known = {FUSED: methods()[FUSED], "other": Method("Other", missing)}
    monkeypatch.setattr(module, "methods", lambda: known)
    rows = list(module.run(replace(module.PRESETS["quick"], workloads=("tiny",)), lambda _: None))
    assert (rows[1]["ratio"], rows[1]["note"]) == (None, "not here")


def test_our_cautious_adamw_keeps_the_signs_that_agree():
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer = CautiousAdamW([parameter], lr=0.1, weight_decay=0.0)
    for gradient in ([1.0, 1.0], [1.0, -0.1]):  # the second component's momentum now disagrees with its gradient
        before = parameter.detach().clone()
        parameter.grad = torch.tensor(gradient)
        optimizer.step()
    moved = before - parameter.detach()
    assert moved[1] == 0
    assert moved[0].item() == pytest.approx(0.2, rel=1e-3)  # a step of Adam's, doubled as half of the components are left


def test_timms_is_found_without_its_models(tmp_path, monkeypatch):
    """timm's __init__ imports torchvision, which may not load; its optimisers only import each other."""
    folder = tmp_path / "timm" / "optim"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    (folder / "__init__.py").write_text("raise RuntimeError('the same')")
    (folder / "_types.py").write_text("ParamsT = object")
    (folder / "adamw.py").write_text("from ._types import ParamsT\nclass AdamWLegacy: params = ParamsT\n")
    with monkeypatch.context() as patch:
        patch.setattr(
            "sys.modules", {k: v for k, v in sys.modules.items() if k.split(".")[0] not in {"timm", "timm_optimisers"}}
        )
        patch.syspath_prepend(tmp_path)
        assert timm_adamw().params is object
        (folder / "adamw.py").unlink()
        for name in ("timm_optimisers.adamw", "timm_optimisers"):
            del sys.modules[name]
        patch.setattr("sys.path_importer_cache", {})
        assert timm_adamw() is None


@pytest.mark.parametrize("options", [{"workloads": ()}, {"workloads": ("large",)}, {"methods": ("adam",)}, {"repeats": 0}])
def test_settings_that_cannot_be(options):
    with pytest.raises(ValueError, match="Found"):
        load("optim", "mechlearn_zoo").module.Config(**options)
