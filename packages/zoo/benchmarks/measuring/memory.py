"""Peak resident memory of one step, in a fresh process.

A level is the process's resident memory above what it held after the same method had run once on a tiny problem: the
interpreter, torch, the method's package and whatever they load on first use are in nobody's level; model, data, activations
and gradients are in everybody's. The peak level of a step is the kernel's own high-water mark (VmHWM, reset before the step).
"""

import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mechlearn_zoo_benchmarks.measuring.timing import Step

from claimlab import LabError

CHILD = """\
import json, sys
from claimlab.cli.bench import load
arguments = json.loads(sys.argv[1])
bench = load(arguments["bench"], arguments["top"])
print(json.dumps(bench.module.probe(**arguments["probe"])))
"""
"""What the fresh process runs; the benchmark's own `probe` does the work."""


def supported() -> bool:
    """Say whether this system keeps a high-water mark that a process may reset (Linux does)."""
    return os.access("/proc/self/clear_refs", os.W_OK) and _status("VmHWM") > 0


def peak_level(rehearse: Step, prepare: Callable[[], tuple[Step, Step]], warm_ups: int) -> int:
    """Return the peak level of one step in bytes; to be called once in the life of a process.

    Args:
        rehearse: the same method on a tiny problem, to load what is loaded on first use.
        prepare: builds model and data, and returns the step and what cleans up after it.
        warm_ups: how many steps to take before the one that counts.
    """
    rehearse()
    _settle()
    bare = _status("VmRSS")
    step, clean = prepare()
    for _ in range(warm_ups):
        step()
        clean()
    _settle()
    Path("/proc/self/clear_refs").write_text("5")  # 5 resets the high-water mark: proc(5)
    step()
    return _status("VmHWM") - bare


def added_peak(prepare: Callable[[], Step], warm_ups: int) -> int:
    """Return how many bytes one step adds at its peak to what the process holds before it: model, data, compiled code.

    Args:
        prepare: builds all that the step needs, and returns the step.
        warm_ups: how many steps to take before the one that counts.
    """
    step = prepare()
    for _ in range(warm_ups):
        step()
    _settle()
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # 5 resets the high-water mark: proc(5)
    step()
    return _status("VmHWM") - before


def in_fresh_process(bench: str, probe: Mapping[str, Any], variables: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
    """Call a benchmark's `probe` in a fresh interpreter and return what it returned.

    Args:
        bench: its name.
        probe: arguments.
        variables: of the environment, beside those of this process.

    Raises:
        LabError: the process failed, for example for want of memory.
    """
    arguments = json.dumps({"bench": bench, "top": __name__.partition("_benchmarks")[0], "probe": dict(probe)})
    command = [sys.executable, "-c", CHILD, arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **(variables or {})})
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise LabError(f"The probe should end well. Found {last}", done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def available() -> int:
    """Return how many bytes of memory a process may still take."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2


def _settle() -> None:
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # glibc alone has it: give back what was freed
        ctypes.CDLL(None).malloc_trim(0)


def _status(key: str) -> int:
    """Return a line of /proc/self/status in bytes, 0 where there is none."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return 1024 * int(line.split()[1])
    return 0
