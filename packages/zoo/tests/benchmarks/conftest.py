import pytest
import torch

from claimlab.cli.bench import load_package
from mechlearn import cli

load_package("mechlearn_zoo")  # before the test modules beside this file import mechlearn_zoo_benchmarks


@pytest.fixture(autouse=True)
def one_thread():
    """Two threads on tiny tensors wait for each other more than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def mechlearn(tmp_path, monkeypatch, capsys):
    """The command line in a folder of its own: status, stdout and stderr of some words."""
    monkeypatch.chdir(tmp_path)

    def _mechlearn(*words: str):
        status = cli.main(words)
        return status, *capsys.readouterr()

    return _mechlearn
