import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "craik"

# Rooms from the ground up: a module imports from its own room and from rooms below it, never from a room above.
FLOORS = (
    {"params", "losses", "schedules", "arguments", "environments", "solvers"},
    {"trajectories", "nn"},
    {"agreement", "skips", "distill"},
    {"surfaces"},
    {"methods"},
    {"tasks", "estimators", "testing"},
    {"lab"},
    {"experiments"},
    {"cli"},
)
APART = {"agreement", "skips", "distill"}  # on one floor, but never through each other's doors


def floor(room: str) -> int:
    return next(number for number, rooms in enumerate(FLOORS) if room in rooms)


def imports(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Dotted names a source imports; every alias is tried as a submodule, as `from craik import tasks` may mean one."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = module.split(".")
            base = parts[: len(parts) - node.level + is_package] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)


def offences(source: str, module: str, is_package: bool = False) -> list[str]:
    parts = module.split(".")
    if len(parts) == 1:  # craik/__init__.py itself
        return []
    room, found = parts[1], []
    for imported in imports(source, module, is_package):
        target = imported.split(".")[1:2]
        if imported.split(".")[0] != "craik" or not target or not any(target[0] in rooms for rooms in FLOORS):
            continue
        goes_up = floor(target[0]) > floor(room)
        crosses = target[0] != room and {target[0], room} <= APART
        if goes_up or crosses:
            found.append(f"{module} imports {imported}")
    return found


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def test_every_room_has_its_floor():
    rooms = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in modules()} - {"__init__", "__main__"}
    assert rooms <= set().union(*FLOORS)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_one_way(path: Path):
    is_package = path.name == "__init__.py"
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    module = ".".join(parts[:-1] if is_package else parts)
    assert offences(path.read_text(), module, is_package) == []


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from craik.lab.claims import Claim", "craik.agreement.rules"),
        ("import craik.cli", "craik.experiments.spirals.mechanism.run"),
        ("from craik import lab", "craik.tasks.boards.spirals"),
        ("from ..distill import unroll", "craik.skips.matching"),
        ("def f():\n    from craik.experiments import spirals", "craik.lab.experiment"),
        ("from craik.methods.environments.pcgrad import pcgrad", "craik.agreement.rules"),
    ],
)
def test_the_reading_finds_offences(source: str, module: str):
    assert len(offences(source, module)) == 1


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("from craik.params import Params", "craik.agreement.rules"),
        ("from .rules import mean", "craik.agreement.step"),
        ("import torch", "craik.params"),
        ("from craik.lab.claims import Claim", "craik.experiments.spirals.mechanism.run"),
    ],
)
def test_the_reading_allows_the_way_down(source: str, module: str):
    assert offences(source, module) == []
