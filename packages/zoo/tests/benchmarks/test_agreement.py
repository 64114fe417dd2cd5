import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from mechlearn_zoo_benchmarks.entrants.masks.methods import Method, methods
from mechlearn_zoo_benchmarks.entrants.masks.workloads import WORKLOADS

from claimlab.cli.bench import KEYS, load

SMALL = ("--quick", "--workloads", "mlp-34", "--repeats", "2", "--methods", "mechlearn,running_sums,backpack")


def test_json_is_one_object_with_the_agreed_keys(mechlearn, monkeypatch):
    monkeypatch.setitem(sys.modules, "backpack", None)  # as where the extra is not installed
    status, out, said = mechlearn("bench", "agreement", *SMALL, "--json", "--out", "results/agreement.jsonl")
    found = json.loads(out)
    assert (status, list(found), found["bench"]) == (0, ["bench", "hardware", "rows"], "agreement")
    assert "core" in found["hardware"]
    plain, ours, backpack, sums = found["rows"]
    assert all(tuple(row)[:2] == KEYS[:2] and set(KEYS) <= set(row) for row in found["rows"])
    assert (plain["ratio"], plain["low"], plain["high"], plain["memory_ratio"]) == (1.0, 1.0, 1.0, 1.0)
    assert ours["method"].startswith("mechlearn")
    for row in (ours, sums):
        assert 0 < row["low"] <= row["ratio"] <= row["high"]
        assert row["memory_ratio"] > 0
        assert row["exact"] is True
        assert row["rounds"] == 2
    assert (backpack["ratio"], backpack["note"]) == (None, "not installed: pip install 'mechlearn-zoo[bench]'")
    assert "mlp-34: 2 rounds" in said
    recorded = [json.loads(line) for line in Path("results/agreement.jsonl").read_text().splitlines()]
    assert [{key: row[key] for key in found["rows"][i]} for i, row in enumerate(recorded)] == found["rows"]


def test_the_table_has_the_fastest_first_and_what_was_not_run_last(mechlearn, monkeypatch):
    monkeypatch.setitem(sys.modules, "backpack", None)
    status, out, _ = mechlearn("bench", "agreement", *SMALL, "--memory", "false")
    lines = [line for line in out.splitlines() if line.strip()]
    assert status == 0
    assert lines[0].strip() == "mlp-34"
    assert lines[-1].split()[0] == "BackPACK"
    assert "not installed" in out


def test_threads_are_given_back(mechlearn):
    before = torch.get_num_threads()
    mechlearn("bench", "agreement", *SMALL, "--memory", "false", "--methods", "running_sums", "--threads", "3")
    assert torch.get_num_threads() == before


def test_help_lists_the_settings(mechlearn):
    status, out, _ = mechlearn("bench", "agreement", "--help")
    assert status == 0
    assert "--budget" in out
    assert "Threads of torch's operators." in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "should be given the name of a benchmark. Found none. Choose one of agreement, "),
        (("agrement",), "Found 'agrement'. Did you mean agreement?"),
        (("agreement", "--workloads", "mlp-43"), "Found 'mlp-43'. Did you mean mlp-34?"),
        (("agreement", "--methods", "opakus"), "Found 'opakus'. Did you mean opacus?"),
        (("agreement", "--workloads", ""), "at least one"),
        (("agreement", "--threads", "0"), "threads should be at least 1. Found 0"),
        (("agreement", "--thread", "1"), "Did you mean --threads?"),
        (("agreement", "--out", "file/rows.jsonl"), "should be writable"),
        (("agreement", "--device", "gpu"), "device should be cpu, cuda, or cuda:1 for example. Found 'gpu'"),
    ],
)
def test_bad_usage_is_one_sentence_and_status_2(mechlearn, tmp_path, words, sentence):
    tmp_path.joinpath("file").write_text("")
    status, out, said = mechlearn("bench", *words)
    assert (status, out) == (2, "")
    assert sentence in said
    assert said.count("\n") == 1


def test_the_full_preset_has_the_four_workloads_on_one_thread():
    full = load("agreement", "mechlearn_zoo").presets["full"]
    assert full.workloads == tuple(WORKLOADS)
    assert (full.threads, full.small, full.memory) == (1, False, True)


def test_a_peer_that_breaks_is_a_row_and_ours_is_an_error(monkeypatch):
    module = load("agreement", "mechlearn_zoo").module

    def broken(problem, chunk):
        raise RuntimeError("no kernel\nand much more")

    def rows(key):
        changed = {**methods(), key: Method("Broken", broken)}
        monkeypatch.setattr(module, "methods", lambda: changed)
        quick = module.PRESETS["quick"]
        return list(module.run(replace(quick, workloads=("mlp-34",), methods=(key,), memory=False), lambda _: None))

    assert rows("torchjd")[-1]["note"] == "failed: RuntimeError: no kernel"
    with pytest.raises(RuntimeError, match="no kernel"):
        rows("mechlearn")
