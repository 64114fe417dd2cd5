"""The documentation is run: its Python, its commands, its links and the names it mentions."""

import re
import shlex
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple

import pytest
import torch

from claimlab.experiment import listing, load
from claimlab.fields import RESERVED, settings_of
from mechlearn.cli import COMMANDS as OWN
from mechlearn_zoo.commands import PROGRAM

ROOT = Path(__file__).parents[2]
COMMANDS = OWN | PROGRAM.commands
READMES = "packages/zoo/src/mechlearn_zoo/experiments/*/*/README.md"
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(READMES)])

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>```+|~~~+) *(?P<language>\w*)[^\n]*\n(?P<code>.*?)^ *(?P=fence) *$", re.M | re.S)
INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.S)
# [text](target), ![text](target "title"), [name]: target, <img src="target">, <a href="target">
LINK = re.compile(r"""\]\(\s*<?([^\s<>)]+)|^\[[^\]\n]+\]:\s*<?([^\s<>]+)|\b(?:src|href)=["']([^"']+)["']""", re.M)
NAME = re.compile(r"(?:mechlearn|mechlearn_zoo|claimlab)(?:\.[A-Za-z_]\w*)+")
MOVED = re.compile(r"^\| *old *\| *new *\|\n(?:\|.*(?:\n|\Z))*", re.M)  # the changelog's table: only its new names still exist


NEEDS = re.compile(r"<!-- needs the extra (?P<extra>\w+): (?P<modules>[\w, ]+) -->")


class Block(NamedTuple):
    """A fenced block: its language, its code, and the line of the page that its code starts on."""

    language: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(text):
        code = re.sub(f"^ {{1,{len(match['indent'])}}}", "", match["code"], flags=re.M) if match["indent"] else match["code"]
        found.append(Block(match["language"].lower(), code, text.count("\n", 0, match.start("code")) + 1))
    return found


def prose(text: str) -> str:
    return FENCE.sub("", text)


def execute(page: Path, text: str, namespace: dict[str, object]) -> None:
    """Runs a page's Python in order; what fails is reported with the page's own line."""
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)  # torch warns of itself when it first compiles
        for block in blocks(text):
            if block.language == "python":
                exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), namespace)


def commands(text: str) -> Iterator[list[str]]:
    """The words after `mechlearn` of every line of a shell block that starts with it, prompt or not."""
    for block in blocks(text):
        if block.language in ("console", "sh", "bash", "shell"):
            for line in block.code.replace("\\\n", " ").splitlines():
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words and Path(words[0]).name == "mechlearn":
                    ends = [words.index(end) for end in ("|", "&&", ";", ">") if end in words]
                    yield words[1 : min(ends, default=None)]


def command_faults(text: str) -> list[str]:
    return [f"mechlearn {shlex.join(words)}: {fault}" for words in commands(text) if (fault := command_fault(words))]


def command_fault(words: list[str]) -> str:
    command = next(iter(words), "")
    if command in ("--help", "--version"):
        return ""
    if command not in COMMANDS:
        return f"no command {command!r}"
    if command != "run":
        return ""
    experiment = next((word for word in words[1:] if not word.startswith("-")), "")
    if experiment not in [one.name for one in listing("mechlearn_zoo.experiments")]:
        return f"no experiment {experiment!r}"
    preset = words[words.index("--preset") + 1] if "--preset" in words[:-1] else "quick"
    part = load(experiment, "mechlearn_zoo.experiments").part_of(preset)
    known = {"--" + option.replace("_", "-") for option in RESERVED} | {setting.flag for setting in settings_of(part.config)}
    flags = [word.partition("=")[0] for word in words if word.startswith("--")]
    return ", ".join(f"no field {flag!r}" for flag in flags if flag not in known)


def dead_links(page: Path, text: str) -> list[str]:
    targets = [next(filter(None, groups)) for groups in LINK.findall(INLINE_CODE.sub("", prose(text)))]
    files = [target.partition("#")[0] for target in targets if not re.match(r"[a-z][a-z0-9+.-]*:|//", target)]
    return [file for file in files if file and not (page.parent / file).exists()]


def unknown_names(text: str) -> list[str]:
    """Names of mechlearn in backticks, with or without a call's parentheses, that cannot be imported."""
    mentioned = {match[1].split("(")[0].strip() for match in INLINE_CODE.findall(prose(without_old(text)))}
    return sorted(name for name in mentioned if NAME.fullmatch(name) and not resolves(name))


def without_old(text: str) -> str:
    """A text whose tables of old and new names have lost their first column."""
    return MOVED.sub(lambda table: re.sub(r"^\|[^|]*", "", table[0], flags=re.M), text)


def resolves(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def with_python() -> list[Path]:
    """Pages whose snippets run with what `make` installs; the others are in test_recipes.py."""
    texts = {page: page.read_text(encoding="utf-8") for page in PAGES}
    return [page for page, text in texts.items() if "```python" in text and not NEEDS.search(text)]


def faults(check: Callable[[Path, str], list[str]]) -> dict[str, list[str]]:
    """What is wrong on each page that has something wrong."""
    found = {str(page.relative_to(ROOT)): check(page, page.read_text(encoding="utf-8")) for page in PAGES}
    return {page: some for page, some in found.items() if some}


@pytest.mark.parametrize("page", with_python(), ids=lambda page: str(page.relative_to(ROOT)))
def test_python_runs(page, tmp_path, monkeypatch):
    module = types.ModuleType(
        f"docs_{page.parent.stem}_{page.stem}"
    )  # in sys.modules, where dataclasses and pickle look for it
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)  # whatever a snippet writes
    execute(page, page.read_text(encoding="utf-8"), vars(module))


def test_commands_exist():
    assert faults(lambda page, text: command_faults(text)) == {}


def test_links_lead_somewhere():
    assert faults(dead_links) == {}


def test_names_can_be_imported():
    assert faults(lambda page, text: unknown_names(text)) == {}


def test_blocks_are_found_with_their_lines():
    text = "# Page\n\n```python\nx = 1\n```\n\n- item\n\n  ```console\n  $ mechlearn list\n  ```\n"
    assert blocks(text) == [Block("python", "x = 1\n", 4), Block("console", "$ mechlearn list\n", 10)]
    assert blocks("") == []


def test_blocks_share_a_namespace_and_fail_at_the_page_s_line(tmp_path):
    page = tmp_path / "page.md"
    text = "```python\nx = 1\n```\n\ntext\n\n```python\nassert x == 1\nassert x == 2\n```\n"
    with pytest.raises(AssertionError) as failure:
        execute(page, text, {})
    assert (str(failure.traceback[-1].path), failure.traceback[-1].lineno + 1) == (str(page), 9)


def test_a_warning_is_a_failure(tmp_path):
    with pytest.raises(UserWarning, match="careful"):
        execute(tmp_path / "page.md", "```python\nimport warnings\nwarnings.warn('careful')\n```\n", {})


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("$ mechlearn lisst", "no command"),
        ("mechlearn run spirale", "no experiment"),
        ("mechlearn run random-gradients --sharre 0.9", "no field"),
        (".venv/bin/mechlearn run spirale && make test", "no experiment"),
    ],
)
def test_wrong_commands_are_found(line, fault):
    (found,) = command_faults(f"```console\n{line}\noutput\n```\n")
    assert fault in found


def test_right_commands_pass():
    lines = "$ mechlearn list --json | head\nmechlearn run random-gradients --seeds 2 --share=0.9  # a field\npip install x\n"
    assert command_faults(f"```sh\n{lines}```\n\n```python\nmechlearn = 'nonsense'\n```\n") == []


def test_dead_links_are_found(tmp_path):
    (tmp_path / "here.md").touch()
    text = (
        "[a](here.md#part) [b](gone.md) ![c](gone.svg 'title') [d](https://example.org/x) [e](#part)\n"
        '[f]: gone.txt\n<img src="gone.png">\n`[code](not-a-link.md)`\n```python\nlosses[rows](more)\n```\n'
    )
    assert dead_links(tmp_path / "page.md", text) == ["gone.md", "gone.svg", "gone.txt", "gone.png"]


def test_unknown_names_are_found():
    right = (
        "`mechlearn.agreement.Agreement.backward(losses, ids)` `mechlearn.agreement.rules` `mechlearn run` mechlearn.nothing"
    )
    assert unknown_names(f"{right} ``mechlearn.agreement.Agremeent``") == ["mechlearn.agreement.Agremeent"]


def test_old_names_may_be_gone_in_the_changelog_s_table_alone():
    table = (
        "| old | new |\n|---|---|\n| `mechlearn.gone` | `mechlearn.agreement` |\n| `mechlearn.past`: `x` | `mechlearn.bad` |\n"
    )
    assert unknown_names(f"`mechlearn.text`\n\n{table}\n`mechlearn.after`") == [
        "mechlearn.after",
        "mechlearn.bad",
        "mechlearn.text",
    ]
    assert unknown_names(table.replace("old", "method")) == ["mechlearn.bad", "mechlearn.gone", "mechlearn.past"]
