import pytest
import torch

from craik import cli
from craik.lab.cli.bench import load_package

load_package("craik")  # before the test modules beside this file import craik_benchmarks


@pytest.fixture(autouse=True)
def one_thread():
    """Two threads on tiny tensors wait for each other more than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def craik(tmp_path, monkeypatch, capsys):
    """The command line in a folder of its own: status, stdout and stderr of some words."""
    monkeypatch.chdir(tmp_path)

    def _craik(*words: str):
        status = cli.main(words)
        return status, *capsys.readouterr()

    return _craik
