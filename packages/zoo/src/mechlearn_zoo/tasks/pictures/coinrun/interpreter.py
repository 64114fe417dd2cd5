"""An interpreter that can run Procgen: Python 3.10 with the simulator installed, in a virtual environment of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError

REQUIREMENTS = (
    "procgen==0.10.7",  # the newest release; its wheels stop at Python 3.10
    "numpy>=1.21,<2",  # what that release was compiled against
)
_NEEDED = "3.10"


def interpreter(cache: Path, python: str | None = None) -> Path:
    """The Python of a virtual environment that holds Procgen, made on the first call.

    Args:
        cache: folder for what is made once.
        python: the Python 3.10 to make it from; found by itself (PATH, pyenv, uv) if None.

    Raises:
        CollectorError: there is no Python 3.10, the one named is another, or the installation fails.
    """
    home = cache / "procgen-0.10.7"
    made = home / "bin" / "python"
    if (home / "installed").exists():
        return made
    base = _checked(python) if python else _found()
    shutil.rmtree(home, ignore_errors=True)  # an earlier installation that did not come to its end
    _run([base, "-m", "venv", str(home)])
    _run([str(made), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS])
    (home / "installed").touch()
    return made


def _found() -> str:
    for candidate in _candidates():
        if _version(candidate) == _NEEDED:
            return candidate
    raise CollectorError(
        f"Procgen should be run by Python {_NEEDED}, as it has wheels for no other. Found none on PATH, in pyenv or in uv. "
        f"Install one (pyenv install {_NEEDED}, or uv python install {_NEEDED}), or name one with --python."
    )


def _checked(python: str) -> str:
    version = _version(python)
    if version != _NEEDED:
        found = f"is Python {version}" if version else "cannot be run"
        raise CollectorError(f"Procgen should be run by Python {_NEEDED}. Found that {python} {found}. Pass another --python.")
    return python


def _candidates() -> Iterator[str]:
    on_path = shutil.which(f"python{_NEEDED}")
    if on_path:
        yield on_path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for home in sorted(pyenv.glob(f"{_NEEDED}*"), reverse=True):
        yield str(home / "bin" / "python")
    if shutil.which("uv"):
        with contextlib.suppress(subprocess.SubprocessError):
            yield subprocess.run(["uv", "python", "find", _NEEDED], capture_output=True, text=True, check=True).stdout.strip()


def _version(python: str) -> str:
    """Major and minor version, empty where it cannot be run: pyenv's shims exist for versions that are not chosen."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _run(command: list[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no word of explanation"])[-1]
        print(done.stderr, file=sys.stderr)
        raise CollectorError(f"Installing Procgen should succeed. Found: {last}. Fix that and run the command again.")
