"""Which machine made something. Nothing here names a host, a user or a folder of it."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """What made something.

    Args:
        hardware: processor, cores, memory and GPU in one line.
        processor: its model and the instructions that torch uses on it: rows are equal bit for bit where these are equal.
        threads: of torch's operators, None where torch was not loaded.
    """

    hardware: str
    processor: str | None
    threads: int | None


def machine() -> Machine:
    """Return the machine that this process runs on."""
    torch = sys.modules.get("torch")
    if torch is None:
        return Machine(hardware(), _kind(), None)
    return Machine(hardware(), f"{_kind()}, {torch.backends.cpu.get_cpu_capability()}", torch.get_num_threads())


def cores() -> int:
    """Return how many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def hardware() -> str:
    """Return the machine in one line, such as "AMD EPYC 7B13, 2 cores, 24 GB, no GPU"."""
    number, gpu = cores(), "no GPU"
    memory = ""
    if hasattr(os, "sysconf"):  # not Windows
        memory = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 1e9:.0f} GB"
    torch = sys.modules.get("torch")  # an experiment that does not import torch uses no GPU
    if torch is not None and torch.cuda.is_available():
        gpu = str(torch.cuda.get_device_name(0))
    return ", ".join(part for part in (_processor(), f"{number} core{'s' * (number != 1)}", memory, gpu) if part)


def _processor() -> str:
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def _kind() -> str:
    told = _cpuinfo()
    numbers = [told[key] for key in ("cpu family", "model") if key in told]
    return _processor() + (f" (family {numbers[0]}, model {numbers[1]})" if len(numbers) == 2 else "")


def _cpuinfo() -> dict[str, str]:
    """Return what Linux says of the first core."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:  # not Linux
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
