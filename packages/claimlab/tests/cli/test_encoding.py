"""Commands on a stdout that is no UTF-8: a mark that the encoding has, and the exit status of what was done."""

import io
import json
import os
import subprocess
import sys

import pytest

from claimlab import cli
from claimlab.cli.answers import print_json, printable
from fake_copies import edit

ODD = "counting \N{EM DASH} a walk ✓ von größer zu 散歩 😀"


@pytest.fixture
def odd(package, monkeypatch, tmp_path):
    """An experiment whose title has characters of everywhere."""
    edit(package, "counter/__init__.py", "Counting: a walk", f"{ODD}: a walk")
    monkeypatch.chdir(tmp_path)
    return package


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_run_report_and_list_end_well_in_any_encoding(odd, encoding, monkeypatch):
    def said(*words):
        statuses = []
        text = written(encoding, lambda: statuses.append(cli.main([*words])), monkeypatch)
        assert statuses == [0], text
        return text

    verdict = "✗ does not hold so far" if encoding == "utf-8" else "x does not hold so far"
    assert verdict in said("run", "counter-walk", "--package", odd)
    assert verdict in said("report")
    assert json.loads(said("report", "--json"))
    listed = said("list", "--package", odd)
    if encoding != "utf-8":
        assert "walk + von" in listed
        assert r"\u6563\u6b69 \U0001f600" in listed


def test_a_process_of_its_own_ends_well(odd, capsys):
    assert cli.main(["run", "counter-walk", "--package", odd]) == 0
    capsys.readouterr()
    code = "import sys; from claimlab.cli import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONIOENCODING": "cp1252"}
    found = subprocess.run([sys.executable, "-c", code, "report"], env=environment, capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (0, b"")
    assert "x does not hold so far" in found.stdout.decode("cp1252")


def written(encoding, print_it, monkeypatch):
    memory = io.BytesIO()
    stream = io.TextIOWrapper(memory, encoding=encoding, newline="\n")
    monkeypatch.setattr(sys, "stdout", stream)
    print_it()
    stream.flush()
    return memory.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8", "utf-16-le"])
def test_json_says_the_same_in_any_encoding(encoding, monkeypatch):
    assert json.loads(written(encoding, lambda: print_json({"title": ODD}), monkeypatch)) == {"title": ODD}


def test_what_an_encoding_has_stays(monkeypatch):
    def say():
        with printable():
            print("größer ± ✓ 散")

    assert written("cp1252", say, monkeypatch) == "größer ± + \\u6563\n"


def test_streams_are_given_back_and_closed_ones_harm_nothing(monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with printable():
        assert stream.errors != "strict"
    assert stream.errors == "strict"
    with printable():
        stream.close()
    with printable():
        pass
    monkeypatch.setattr(sys, "stdout", None)  # as under pythonw
    with printable():
        pass


def test_help_too(monkeypatch):
    assert "claimlab" in written("ascii", lambda: cli.main(["--help"]), monkeypatch)
