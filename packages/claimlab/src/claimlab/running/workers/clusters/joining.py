"""Seeds and trials on a Ray cluster: each is a task with its wish for cores and GPUs, begun again where its worker died.

A run's folder, and whatever reads it, knows nothing of clusters: the command writes what comes in as if its own processes
had written it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from claimlab.errors import LabError, UsageError
from claimlab.running.workers.clusters.messages import PostOffice
from claimlab.running.workers.clusters.tasks import Tasks
from claimlab.running.workers.engine import Engine
from claimlab.running.workers.stopping import STOPS

THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""The environment of every worker: numbers must not depend on how many share a machine."""


@dataclass(frozen=True)
class Wish:
    """What a seed or trial is to have of a cluster.

    Args:
        address: HOST:PORT of the cluster's head; the environment's RAY_ADDRESS, or this machine's cluster, if empty.
        cpus: cores of each.
        gpus: of each; a fraction shares one.
    """

    address: str = ""
    cpus: float | int = 1.0
    gpus: float | int = 0.0

    def __post_init__(self) -> None:
        if not (self.cpus >= 0 and self.gpus >= 0 and self.cpus + self.gpus > 0):
            found = f"Found --cpus {self.cpus:g} --gpus {self.gpus:g}"
            raise UsageError(f"A seed should have a share of a core or of a GPU. {found}. Leave them out for one core.")


@contextlib.contextmanager
def cluster(wish: Wish) -> Generator[Engine, None, None]:
    """Compute seeds and trials on a Ray cluster, as many at once as it has room for.

    Args:
        wish: what each is to have; where the cluster is.
    """
    import ray  # noqa: PLC0415  # pyright: ignore[reportMissingImports] # of the extra `cluster`
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415  # pyright: ignore[reportMissingImports]

    with contextlib.redirect_stdout(sys.stderr):  # Ray prints what happens to workers; stdout is for verdicts or JSON
        _connect(ray, wish.address)
        try:
            width = _room(ray, wish)
            beside = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            office = ray.remote(PostOffice).options(num_cpus=0, scheduling_strategy=beside).remote()
            with contextlib.closing(Tasks(ray, office, {"num_cpus": wish.cpus, "num_gpus": wish.gpus})) as tasks:
                yield Engine(tasks.start, width)
        finally:
            ray.shutdown()


def _connect(ray: Any, address: str) -> None:  # noqa: ANN401  # the module
    """Join the cluster and keep the signals' handlers, which Ray replaces."""
    wanted = address or os.environ.get("RAY_ADDRESS", "auto")
    way_out = "Start one with `ray start --head`, or name it: --on ray:HOST:PORT"
    host, _, port = wanted.rpartition(":")
    if wanted != "auto":
        try:
            socket.create_connection((host, int(port)), timeout=5).close()
        except (OSError, ValueError, OverflowError) as error:
            raise LabError(f"--on ray should find a cluster. Found none at {wanted} ({error}). {way_out}.") from error
    ours = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in STOPS} if ours else {}
    try:
        ray.init(address=wanted, runtime_env={"env_vars": THREADS}, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError) as error:
        found = str(error).strip().partition("\n")[0]
        raise LabError(f"--on ray should find a cluster. Found none on this machine ({found}). {way_out}.") from error
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _room(ray: Any, wish: Wish) -> int:  # noqa: ANN401
    """Return how many tasks the cluster has room for at once."""
    nodes = [one["Resources"] for one in ray.nodes() if one["Alive"]]
    wanted = {name: float(value) for name, value in (("CPU", wish.cpus), ("GPU", wish.gpus)) if value}
    for name, option, words in (("GPU", "gpus", "GPUs"), ("CPU", "cpus", "cores")):
        most = max((one.get(name, 0.0) for one in nodes), default=0.0)
        if wanted.get(name, 0.0) > most:
            has = f"at most {most:g} {words} on a machine of the cluster" if most else f"no {words} in the cluster"
            raise UsageError(f"A seed should fit on one machine. Found --{option} {wanted[name]:g}, and {has}. Lower it.")
    room = sum(min(int(one.get(name, 0.0) / value + 1e-9) for name, value in wanted.items()) for one in nodes)
    if not room:
        found = f"--cpus {wish.cpus:g} --gpus {wish.gpus:g}"
        raise UsageError(f"A seed should fit on one machine. Found none in the cluster that has both of {found}. Lower one.")
    return room
