import pytest

from claimlab.running.checkpoints import loops
from claimlab.running.checkpoints.loops import Keeper


@pytest.fixture
def keeper(tmp_path, monkeypatch):
    """Opens the seed's checkpoint anew, as a process that starts does; what it says is in `keeper.said`."""
    monkeypatch.setattr(loops, "_keepers", [])

    def _keeper(every=0.0, **identity):
        _keeper.said, _keeper.identity = [], {"source": "a" * 64, "threads": 1, **identity}
        path = tmp_path / "seed-0-aaaaaa.checkpoint.safetensors"
        found = Keeper(path, _keeper.identity, every, _keeper.said.append)
        loops.use(found)
        return found

    return _keeper
