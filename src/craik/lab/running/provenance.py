"""Where rows were made: hardware, versions and commit. Nothing here names a host, a user or a folder of the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


@dataclass(frozen=True)
class Provenance:
    """What must stand beside a number so that it can be made again.

    Args:
        commit: the git commit of craik's checkout, None where it is an installed package.
        dirty: whether files of the package differ from that commit.
        hardware: processor, cores, memory and GPU in one line.
        versions: of python and of the packages that compute.
        time: UTC, to the second.
    """

    commit: str | None
    dirty: bool
    hardware: str
    versions: dict[str, str]
    time: str


def provenance() -> Provenance:
    """The provenance of whatever is computed now."""
    commit, dirty = _commit(Path(__file__).parents[1])
    time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Provenance(commit, dirty, hardware(), versions(), time)


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hardware() -> str:
    """The machine in one line, such as "AMD EPYC 7B13, 2 cores, 24 GB, no GPU"."""
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    number = cores()
    parts = [_processor(), f"{number} core{'s' * (number != 1)}", f"{gigabytes:.0f} GB", _gpu()]
    return ", ".join(part for part in parts if part)


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _gpu() -> str:
    torch = sys.modules.get("torch")  # an experiment that does not import torch uses no GPU
    if torch is None or not torch.cuda.is_available():
        return "no GPU"
    return str(torch.cuda.get_device_name(0))


def versions() -> dict[str, str]:
    """The versions of python and of the packages that compute."""
    found = {"python": platform.python_version()}
    for package in ("craik", "torch", "numpy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a source tree that was never installed
            found[package] = "not installed"
    return found


def _commit(package: Path) -> tuple[str | None, bool]:
    # A package inside some other project's virtual environment must not be taken for a file of that project.
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None, False
    return _git(package, "rev-parse", "HEAD"), bool(_git(package, "status", "--porcelain", "--", "."))


def _git(folder: Path, *arguments: str) -> str | None:
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}  # asking must not write into the user's checkout
    command = ["git", "-C", str(folder), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
