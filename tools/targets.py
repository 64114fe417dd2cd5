"""Prints how large the three packages are, beside what was set out: `python tools/targets.py`."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from claimlab.experiment import listing, load

ROOT = Path(__file__).parents[1]
EXPERIMENTS = "mechlearn_zoo.experiments"


def sources(*folders: str) -> list[Path]:
    """Return the Python files below some folders of packages/."""
    return [path for folder in folders for path in sorted((ROOT / "packages" / folder).rglob("*.py"))]


def lines(paths: list[Path]) -> int:
    """Count lines, empty ones too."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def functions(paths: list[Path]) -> Iterator[ast.FunctionDef]:
    """Yield all functions and methods."""
    for path in paths:
        yield from (node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.FunctionDef))


def parameters(function: ast.FunctionDef) -> int:
    """Count a function's, without self and cls."""
    own = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return len([one for one in own if one.arg not in ("self", "cls")])


def import_milliseconds(statement: str) -> float:
    """Return the median over five fresh processes of CPU time that a statement takes beyond `import torch`."""
    code = f"import time, torch; start = time.process_time(); {statement}; print(1e3 * (time.process_time() - start))"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    found = [subprocess.run(command, capture_output=True, text=True, check=True, env=environment) for _ in range(6)]
    return sorted(float(one.stdout) for one in found[1:])[2]  # the first writes bytecode


def main() -> None:
    """Print a line for each target: what, now, at most."""
    src = sources("mechlearn/src", "claimlab/src", "zoo/src")
    found = list(functions(src))
    short = sum((one.end_lineno or 0) - one.lineno + 1 <= 30 for one in found) / len(found)
    crowded = [
        folder for folder in {path.parent for path in src} if len([p for p in folder.iterdir() if p.name[:1] != "_"]) > 20
    ]
    every = [claim for one in listing(EXPERIMENTS) for claim in load(one.name, EXPERIMENTS).every_claim]
    claims = sum(claim.cell_of is None for claim in every)  # a sentence with its cells is one
    table = [
        ("src, lines", lines(src), 96_500),
        ("  mechlearn", lines(sources("mechlearn/src")), 36_000),
        ("  claimlab", lines(sources("claimlab/src")), 8_500),
        ("  zoo", lines(sources("zoo/src")), 52_000),
        ("  zoo's experiments", lines(sources("zoo/src/mechlearn_zoo/experiments")), 36_000),
        ("    of these measures of claims", lines([path for path in src if path.name.endswith("measures.py")]), "-"),
        ("    and beside them tables of claims", lines([*(ROOT / "packages/zoo/src").rglob("*.toml")]), 4_000),
        ("tests, lines", lines(sources("mechlearn/tests", "claimlab/tests", "zoo/tests")), 60_000),
        ("experiments", len(listing(EXPERIMENTS)), 79),
        ("claims", claims, 450),
        ("functions of at most 30 lines, %", round(100 * short, 1), "at least 95"),
        ("functions of more than 8 parameters", sum(parameters(one) > 8 for one in found), 0),
        ("folders of more than 20 entries", len(crowded), 0),
        ("import of Agreement beyond torch, ms", round(import_milliseconds("from mechlearn.agreement import Agreement")), 150),
    ]
    for name, now, most in table:
        print(f"{name:<38}{now:>10,}   {most if isinstance(most, str) else f'at most {most:,}'}")


if __name__ == "__main__":
    main()
