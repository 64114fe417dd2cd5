"""The compiled CPU kernels (`signs.c`, `temporal.c`): built on first use where there is a C compiler, kept in the user's cache.

Plain C through ctypes: no build system, no headers of Python's or torch's. The file's name in the cache is a hash of the
source, the compiler, its options and the processor's features, so that no other machine's code is ever run.
"""

import contextlib
import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from jaxtyping import Float, Int8, Shaped
from torch import Tensor

SOURCES = tuple(Path(__file__).with_name(name) for name in ("signs.c", "temporal.c"))
OPTIONS = ("-O3", "-march=native", "-std=c11", "-fno-math-errno", "-fno-trapping-math", "-fPIC", "-shared")
"""No -ffast-math: sums keep their order and a NaN stays one. What is left out are errno and floating-point exceptions, which
nobody reads and which would keep a loop with a root scalar."""

SECONDS = 120
"""How long a compiler may take; it needs a fraction of a second."""


class BuildError(Exception):
    """The kernels cannot be built here; the message says why."""


class Compiled:
    """The functions of `signs.c` for contiguous float32 tensors on the CPU.

    Args:
        path: the shared library they were built into.

    Attributes:
        library: its functions, those of `temporal.c` too, which `craik.agreement.kernels.steps` calls.
    """

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        at, size = ctypes.c_void_p, ctypes.c_int64
        self.library.craik_add_signs.argtypes = self.library.craik_add_signs_in_bytes.argtypes = [at, size, size, at, at]
        self.library.craik_sign_products.argtypes = [at, at, size, size, size, at, at]
        self.library.craik_and_mask.argtypes, self.library.craik_and_mask.restype = [at, at, size, size, size], size

    @staticmethod
    def takes(*tensors: Tensor) -> bool:
        """Tell whether all tensors are of the kind that the functions read."""
        return all(t.dtype == torch.float32 and t.device.type == "cpu" and t.is_contiguous() for t in tensors)

    def add_signs(self, gradients: Float[Tensor, "c *p"], total: Float[Tensor, "*p"], sign: Shaped[Tensor, "*p"]) -> None:
        """Add the sum of environment gradients to ``total`` and the sum of their signs to ``sign``, in one pass.

        Args:
            gradients: of c environments.
            total: where their sum is added.
            sign: where the sum of their signs is added: float32, or bytes that have room for it.
        """
        add = self.library.craik_add_signs_in_bytes if sign.dtype == torch.int8 else self.library.craik_add_signs
        add(gradients.data_ptr(), len(gradients), total.numel(), total.data_ptr(), sign.data_ptr())

    def sign_products(self, deltas: Float[Tensor, "e o"], inputs: Float[Tensor, "e i"]) -> Int8[Tensor, "o i"]:
        """Return sum_e sign(delta_e) sign(a_e)^T of at most 127 environments, by counting bits."""
        environments, rows, columns = (*deltas.shape, inputs.shape[1])
        work = torch.empty(2 * -(-environments // 64) * (rows + columns), dtype=torch.int64)
        result = torch.empty(rows, columns, dtype=torch.int8)
        tensors = deltas.data_ptr(), inputs.data_ptr()
        self.library.craik_sign_products(*tensors, environments, rows, columns, work.data_ptr(), result.data_ptr())
        return result

    def and_mask(self, gradient: Float[Tensor, "*p"], sign: Int8[Tensor, "*p"], environments: int, count: int) -> int | None:
        """Turn the sum of gradients into the masked mean and sums of signs into the mask, in place and in one pass.

        Returns:
            The number of components with at least ``count`` signs in agreement; None where a gradient is not finite.
        """
        sizes = gradient.numel(), environments, count
        survivors = self.library.craik_and_mask(gradient.data_ptr(), sign.data_ptr(), *sizes)
        return None if survivors < 0 else survivors


@functools.cache
def load() -> Compiled:
    """Return the kernels, built if they are not in the cache; once in a process.

    Raises:
        BuildError: there is no compiler, or it fails; the message is one sentence.
    """
    compiler = _compiler()
    name = f"kernels-{_fingerprint(compiler)}.so"
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    with contextlib.suppress(OSError):  # a cache that cannot be written, or from which nothing may be run
        return _built(compiler, cache / "craik" / "kernels" / name)
    try:
        with tempfile.TemporaryDirectory(prefix="craik-kernels-") as folder:
            return _built(compiler, Path(folder) / name)  # once loaded, the file is not needed
    except OSError as error:
        raise BuildError(f"no folder for a shared library: {error}") from None


def _compiler() -> str:
    names = [name for name in (os.environ.get("CC", "").strip(), "cc", "gcc", "clang") if name]
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise BuildError(f"no C compiler ({', '.join(names)}) on the path")


def _fingerprint(compiler: str) -> str:
    """Hash all that the machine code depends on."""
    try:
        version = subprocess.run([compiler, "--version"], capture_output=True, check=False, timeout=SECONDS).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{compiler} that does not run: {error}") from None
    parts = [
        *(source.read_bytes() for source in SOURCES),
        compiler.encode(),
        version,
        " ".join(OPTIONS).encode(),
        _processor().encode(),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:20]


def _processor() -> str:
    """Return what tells one kind of processor from another."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return f"{platform.machine()} {platform.processor()} {features}"


def _built(compiler: str, library: Path) -> Compiled:
    if not library.exists():
        _build(compiler, library)
    return Compiled(library)


def _build(compiler: str, library: Path) -> None:
    """Compile into a file of its own and move it into place, so that no process ever loads half a library.

    Raises:
        OSError: the folder cannot be written.
        BuildError: the compiler refuses.
    """
    library.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(suffix=".so", dir=library.parent)
    os.close(handle)
    try:
        command = [compiler, *OPTIONS, *map(str, SOURCES), "-o", name, "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise BuildError(f"{compiler} that fails: {last}")
        os.replace(name, library)
    except subprocess.SubprocessError as error:
        raise BuildError(f"{compiler} that fails: {error}") from None
    finally:
        Path(name).unlink(missing_ok=True)


def IMPLEMENTATION() -> str:  # noqa: N802  # the name by which the lab asks every module for the way that it took
    """What the record of a run says: whether this process has loaded the kernels."""
    return "compiled kernels" if load.cache_info().currsize else "torch's operators"
