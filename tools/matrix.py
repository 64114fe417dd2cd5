"""Try installations in empty environments: `python tools/matrix.py FOLDER [--quick] [--python PYTHON ...]`.

Builds a wheel and an sdist of each package, installs the library alone, each extra and each package into environments that hold
nothing else, and runs every command once: it works, or ends in one sentence. Prints a table with one row per environment.
All have the versions of constraints.txt, and the library alone also the lowest that it promises and the newest there are.
`--quick` is what CI has: the library from wheel and sdist, one extra, the three wheels. Without it, a few hours.
"""

import argparse
import os
import re
import runpy
import shutil
import subprocess
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

PACKAGES = {"mechlearn": "mechlearn", "claimlab": "claimlab", "zoo": "mechlearn_zoo"}
"""Folders, and the names of their modules."""

MOST = 2 * 2**20
"""Bytes of an sdist."""

QUICK = ("mechlearn wheel", "mechlearn sdist", "mechlearn[tables] wheel", "mechlearn-zoo wheel")
"""What CI has."""

ELSEWHERE = ("list", "run", "sweep", "report", "status", "clean", "verify", "bench", "coinrun")
"""Commands that come with the experiments' package."""

TRAIN: str = runpy.run_path(str(ROOT / "packages/zoo/tests/wheels.py"))["TRAIN"]
"""The README's loop, on numbers that are drawn."""


@dataclass(frozen=True)
class Place:
    """One environment.

    Args:
        name: what is installed, such as "mechlearn[tables] wheel".
        package: of `PACKAGES`.
        extra: of the package; "" for none.
        kind: "wheel", "sdist", or a wheel with the "lowest" or the "newest" versions of what it depends on.
    """

    name: str
    package: str
    extra: str
    kind: str


def places() -> Iterator[Place]:
    """Yield all environments: each package from wheel and from sdist, each extra from its wheel."""
    for package in PACKAGES:
        project = tomllib.loads((ROOT / "packages" / package / "pyproject.toml").read_text())["project"]
        for extra in ("", *project.get("optional-dependencies", {})):
            versions = ("lowest", "newest") if package == "mechlearn" else ()
            for kind in ("wheel",) if extra else ("wheel", "sdist", *versions):
                yield Place(f"{project['name']}{f'[{extra}]' if extra else ''} {kind}", package, extra, kind)


def build(folder: Path) -> dict[tuple[str, str], Path]:
    """Build what is uploaded; return each file by package and kind."""
    found = dict[tuple[str, str], Path]()
    subprocess.run(["python3", "-m", "venv", folder / "build"], check=True)
    subprocess.run([folder / "build/bin/pip", "install", "--quiet", "build", "hatchling"], check=True)
    for package, module in PACKAGES.items():
        words = ["-m", "build", "--quiet", "--no-isolation", "--outdir", folder / "dist", ROOT / "packages" / package]
        subprocess.run([folder / "build/bin/python", *words], check=True, stdout=subprocess.DEVNULL)
        found[package, "wheel"] = next((folder / "dist").glob(f"{module}-*.whl"))
        found[package, "sdist"] = next((folder / "dist").glob(f"{module}-*.tar.gz"))
    return found


def faults_of(files: dict[tuple[str, str], Path]) -> list[str]:
    """Return what is wrong with the files: records or tests in them, an sdist too large, metadata without links."""
    found = list[str]()
    for (package, kind), path in files.items():
        names = zipfile.ZipFile(path).namelist() if kind == "wheel" else _names(path)
        if bad := [name for name in names if "/results/" in name or "/test_" in name]:
            found.append(f"{path.name} holds {bad[0]}")
        if path.stat().st_size > MOST:
            found.append(f"{path.name} has {path.stat().st_size:,} bytes of at most {MOST:,}")
        if kind == "wheel":
            meta = next(name for name in names if name.endswith(".dist-info/METADATA"))
            text = zipfile.ZipFile(path).read(meta).decode()
            found += [f"{path.name} has no {word}" for word in ("Classifier", "Project-URL") if f"\n{word}: " not in text]
            found += [] if f"{PACKAGES[package]}/py.typed" in names else [f"{path.name} has no py.typed"]
    return found


def _names(path: Path) -> list[str]:
    with tarfile.open(path) as archive:
        return archive.getnames()


def tried(place: Place, files: dict[tuple[str, str], Path], folder: Path, python: str) -> list[str]:
    """Install into an empty environment and run every command; return what is wrong."""
    venv = folder / "venvs" / re.sub(r"\W+", "-", f"{place.name}-{Path(python).name}")
    shutil.rmtree(venv, ignore_errors=True)
    subprocess.run([python, "-m", "venv", venv], check=True)
    others = [str(files[name, "wheel"]) for name in PACKAGES if place.package == "zoo" and name != "zoo"]
    own = f"{files[place.package, 'sdist' if place.kind == 'sdist' else 'wheel']}{f'[{place.extra}]' if place.extra else ''}"
    pip = [venv / "bin/pip", "install", "--quiet", "--no-compile", own, *others, *_versions(place)]
    installed = subprocess.run(pip, capture_output=True, text=True, check=False)
    if installed.returncode:
        return [f"pip install: {installed.stderr.strip().splitlines()[-1]}"]
    try:
        return [*checked(venv, place, folder)]
    finally:
        shutil.rmtree(venv, ignore_errors=True)


def _versions(place: Place) -> list[str]:
    """Return pip's words for the versions of what a package depends on."""
    if place.kind == "newest":
        return ["--upgrade"]
    if place.kind != "lowest":
        return ["--constraint", str(ROOT / "constraints.txt")]
    project = tomllib.loads((ROOT / "packages" / place.package / "pyproject.toml").read_text())["project"]
    bounds = (re.match(r"([\w-]+)>=([\d.]+)", word) for word in project["dependencies"])
    return [f"{name}=={low if '.' in low else f'{low}.0'}.*" for name, low in (bound.groups() for bound in bounds if bound)]


def checked(venv: Path, place: Place, folder: Path) -> Iterator[str]:
    """Yield what is wrong with an environment."""
    work = folder / "work" / venv.name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def told(*words: str) -> tuple[int, str]:
        command = [venv / "bin" / words[0], *words[1:]]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False, env=bare)
        return done.returncode, done.stdout + done.stderr

    def works(*words: str) -> Iterator[str]:
        status, said = told(*words)
        if status:
            yield f"{' '.join(words)[:60]}: {said.strip().splitlines()[-1] if said.strip() else status}"

    yield from works("pip", "check")
    programs = ("mechlearn", "claimlab") if place.package == "zoo" else (place.package,)
    for program in programs:
        yield from works(program, "--help")
        yield from works(program, "--version")
    yield from works("python", "-c", f"import {PACKAGES[place.package]}")
    yield from _commands(place, told, works)
    if place.package == "mechlearn":
        yield from works("python", "-c", TRAIN)
        said = "" if place.extra else told("python", "-c", "import mechlearn.tables")[1]
        yield from () if place.extra or "pip install 'mechlearn[tables]'" in said else (f"import mechlearn.tables: {said}",)
    if "tables" in (place.extra, *(("tables",) if place.package == "zoo" else ())):
        _table(work / "data.csv")
        asked = ("--target", "y", "--environment", "site", "--budget", "0.1", "--out", "fit")
        yield from works("mechlearn", "fit", "agreement", "data.csv", *asked)
        yield from works("mechlearn", "predict", "fit/model", "data.csv", "--out", "predicted.csv")
    if place.package == "zoo" and not place.extra:
        small = ("--seeds", "1", "--epochs", "2", "--examples", "128", "--environments", "4", "--out", "runs")
        yield from works("mechlearn", "run", "spirals", *small)
        yield from works("mechlearn", "report", "runs")
        yield from works("mechlearn", "list")


def _commands(place: Place, told, works) -> Iterator[str]:  # noqa: ANN001  # functions of `checked`
    """Run each command once: without its package one sentence says what to install."""
    if place.package == "mechlearn":
        for words in (("fit", "--help"), ("predict", "--help")):
            yield from works("mechlearn", *words)
        for name in ELSEWHERE:
            status, said = told("mechlearn", name)
            if (status, said.count("\n"), "pip install mechlearn-zoo" in said) != (1, 1, True):
                yield f"mechlearn {name}: {said.strip()[-200:]}"
        asked = ("--target", "y", "--environment", "site")
        for words in (("fit", "sites", "x.csv", *asked), ("predict", "x", "x.csv")):  # without the extra, or without the file
            status, said = told("mechlearn", *words)
            named = place.extra or words[0] == "predict" or "pip install 'mechlearn[tables]'" in said
            if not (status and named) or said.count("\n") != 1 or "Traceback" in said or "-e " in said:
                yield f"mechlearn {' '.join(words)}: {said.strip()[-200:]}"
        return
    program = "mechlearn" if place.package == "zoo" else "claimlab"
    for name in ELSEWHERE[:-1] if place.package == "claimlab" else ELSEWHERE:
        yield from works(program, name, "--help")
        status, said = told(program, name, "nothing-of-this-name")
        if "Traceback" in said or "command should end like this" in said:
            yield f"{program} {name}: {said.strip()[-200:]}"


def runs(python: str) -> bool:
    """Return whether an interpreter is there and starts: a shim may stand for one that is not installed."""
    return bool(shutil.which(python)) and subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def _table(path: Path) -> None:
    """Write a table of three sites."""
    lines = [f"{number % 3},{number % 7},{(number * 5) % 11},{int(number % 7 > 3)}" for number in range(120)]
    path.write_text("\n".join(["site,a,b,y", *lines]) + "\n")


def main(words: Sequence[str] | None = None) -> int:
    """Try everything, print the table, and return how many rows have a fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--python", nargs="+", default=["python3.11"])
    parser.add_argument("--only", nargs="+", help="parts of the environments' names")
    options = parser.parse_args(words)
    shutil.rmtree(options.folder, ignore_errors=True)
    (options.folder / "dist").mkdir(parents=True)
    folder = options.folder.resolve()
    files = build(folder)
    faults = faults_of(files)
    sizes = ", ".join(f"{path.name} {path.stat().st_size / 1000:,.0f} kB" for path in files.values())
    print(f"{sizes}\n" + "".join(f"FAULT {fault}\n" for fault in faults), flush=True)
    bad = bool(faults)
    for python in options.python:
        if not runs(python):
            print(f"| {python} | not installed, not tried | | |", flush=True)
            continue
        for place in places():
            if (options.quick and place.name not in QUICK) or (
                options.only and not any(one in place.name for one in options.only)
            ):
                continue
            start = time.monotonic()
            found = tried(place, files, folder, python)
            bad = bad or bool(found)
            row = "; ".join(found) or "works"
            print(f"| {Path(python).name} | {place.name} | {row} | {time.monotonic() - start:.0f} s |", flush=True)
    return int(bad)


if __name__ == "__main__":
    raise SystemExit(main())
