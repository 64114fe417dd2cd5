"""Studies in a real PostgreSQL, whose server comes in a wheel."""

import gc
import json
import shutil
import signal
import tempfile
import warnings
from dataclasses import replace

import pytest

from claimlab import Choice, LabError
from claimlab.sweeping.search import Means, search
from claimlab.sweeping.studies import open_storage
from fake_hill import trials_of

pytestmark = pytest.mark.extra("postgres", "pgserver", "psycopg")


@pytest.fixture(scope="module")
def server():
    """The URL of a database in a server of our own; a socket's path must be short."""
    folder = tempfile.mkdtemp(prefix="claimlab-pg-")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a user without a folder for what runs
        import pgserver

        server = pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def url(server, tmp_path):
    """A database of the test's own."""
    import psycopg

    name = "".join(c for c in tmp_path.name if c.isalnum()).lower()[-60:]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'create database "{name}"')
    return server.replace("postgresql://postgres:@/postgres", f"postgresql+psycopg://postgres:@/{name}")


@pytest.fixture(autouse=True)
def collected():
    """A connection that is left open is found here, and not in whatever test comes next."""
    yield
    gc.collect()


def test_a_study_is_the_same_there_as_in_a_journal(hill, here, tmp_path, url):
    plan = hill(trials=6, draws=("tpe", "median"))
    there = search(plan, tmp_path / "there", Means(1, storage=url))
    journal = search(plan, tmp_path / "journal", Means(1))
    assert trials_of(there) == trials_of(journal)
    assert not (tmp_path / "there" / "journal.jsonl").exists()
    tried = len(here.tried)
    assert trials_of(search(plan, tmp_path / "there", Means(1, storage=url))) == trials_of(there)
    assert len(here.tried) == tried


def test_a_study_of_other_ranges_is_refused(hill, here, tmp_path, url):
    plan = hill(trials=1)
    search(plan, tmp_path, Means(1, storage=url))
    other = replace(plan.ranges, of={**plan.ranges.of, "shape": Choice("round", "steep")})
    other = replace(plan, experiment=replace(plan.experiment, ranges={"quick": other}))
    with pytest.raises(LabError, match="ranges: shape is 'one of round, steep' here and 'one of round, steep, broken' there"):
        search(other, tmp_path, Means(1, storage=url))


def test_a_server_that_does_not_answer_is_a_sentence(tmp_path):
    with pytest.raises(LabError, match=r"should be reachable\. Found postgresql\+psycopg://\*\*\*@127.0.0.1:1/x silent"):
        open_storage("postgresql+psycopg://me:secret@127.0.0.1:1/x", tmp_path)


@pytest.fixture
def start(command):
    """Starts a sweep in a process of its own."""

    def _start(out, url, *words):
        fixed = ("--package", "fake_sweeps", "--preset", "slow", "--trials", "2", "--seeds", "1", "--sampler", "random")
        ours = ("--pruner", "none", "--jobs", "1", "--json", "--storage", url, "--out", out)
        return command("sweep", "climb", *fixed, *ours, *words)

    return _start


def test_commands_share_one_budget_and_one_that_is_killed_loses_nothing(start, hill, here, tmp_path, url):
    dead = start(tmp_path / "dead", url)
    next(line for line in dead.stderr if "trial 0" in line)  # one has ended, one is under way
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    both = [start(tmp_path / name, url) for name in ("one", "two")]
    answers = [json.loads(process.communicate(timeout=600)[0]) for process in both]
    last, said = start(tmp_path / "one", url, "--take-over").communicate(timeout=600)
    expected = search(hill(2, "slow"), tmp_path / "here", Means(1))
    assert not [answer for answer in answers if "error" in answer]
    assert all(one["complete"] + one["failed"] + one["running"] == 2 for answer in answers for one in answer["methods"])
    assert [one["complete"] + one["failed"] for one in json.loads(last)["methods"]] == [2, 2], said
    for one in json.loads(last)["methods"]:
        best = expected.best(one["method"])
        assert (one["best"]["chosen"], one["best"]["value"]) == (best.chosen, best.value)
