"""What `make docs` adds to the pages of this folder: the README, the changelog, each experiment's README, the API of each room.

Links that lead out of the folder are turned to the generated pages; a link to a source file becomes its name, as the site
holds no sources. The navigation is made from the listings: a folder named as a room is its system's.
"""

import ast
import os
import re
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "packages" / "mechlearn" / "src" / "mechlearn"
LAB = ROOT / "packages" / "claimlab" / "src" / "claimlab"
ZOO = ROOT / "packages" / "zoo" / "src" / "mechlearn_zoo"
SOURCES = {"mechlearn": LIBRARY.parent, "claimlab": LAB.parent, "mechlearn_zoo": ZOO.parent}
LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
ROOMS = sorted(path for path in LIBRARY.iterdir() if path.stem not in {"__init__", "cli", "__pycache__", "py"})
ROOMS += [LAB, ZOO / "methods", ZOO / "tasks"]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the generated pages, and makes the navigation."""
    guides = sorted(file.src_uri for file in files.documentation_pages())
    systems, parts = {room.stem for room in ROOMS} - {"methods"}, dict[str, list[str]]()
    for uri in guides:
        folder, _, _ = uri.rpartition("/")
        parts.setdefault(folder, []).append(uri)
    pages = {"index.md": ROOT / "README.md", "changelog.md": ROOT / "CHANGELOG.md", "contributing.md": ROOT / "CONTRIBUTING.md"}
    experiments: dict[str, list[str]] = {}
    for readme in sorted(ZOO.glob("experiments/*/*/README.md")):
        uri = generated(readme)
        pages[uri] = readme
        experiments.setdefault(readme.parts[-3].replace("_", " "), []).append(uri)
    for uri, source in pages.items():
        files.append(File.generated(config, uri, content=relinked(source.read_text(encoding="utf-8"), source, uri)))
    rooms = []
    for room in ROOMS:
        rooms.append(f"api/{room.stem}.md")
        files.append(File.generated(config, rooms[-1], content=api_of(room)))
    chapters = {folder: {folder.capitalize(): headed(uris)} for folder, uris in parts.items() if folder}
    config.nav = [
        {"Start here": "index.md"},
        {"Systems": [pages for folder, pages in chapters.items() if folder in systems]},
        {"Guides": [*parts[""], *(pages for folder, pages in chapters.items() if folder not in systems)]},
        {"Experiments": [{family.capitalize(): uris} for family, uris in experiments.items()]},
        {"API": rooms},
        {"Project": ["changelog.md", "contributing.md"]},
    ]
    return files


def headed(uris: list[str]) -> list[str]:
    """The pages of a folder, its README first: it is the folder's own page."""
    return sorted(uris, key=lambda uri: (not uri.endswith("README.md"), uri))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turns the links of a page of this folder."""
    del config, files
    source = page.file.abs_src_path
    return relinked(markdown, Path(source), page.file.src_uri) if source and not page.file.generated_by else markdown


def api_of(room: Path) -> str:
    """A page for each room: what its door gives, the modules that hold it, then the others, as their docstrings say it."""
    paths = [room] if room.is_file() else sorted(room.rglob("*.py"))
    names = [".".join(path.relative_to(source_of(path)).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    given = imported(names[0]) if room.is_dir() else {}
    door = [f"- [`{name}`][{place}]: {summary(place)}" for name, place in given.items()]
    homes = {place.rpartition(".")[0] for place in given.values()}
    head = f"# {names[0]}\n\n{docstring(paths[0] if room.is_file() else room / '__init__.py')}\n\n"
    if door:
        head += f"`from {names[0]} import ...` gives\n\n" + "\n".join(door) + "\n\n"
    modules = [name for name in names if room.is_file() or name != names[0]]
    modules.sort(key=lambda name: name not in homes)
    return head + "\n".join(f"::: {name}\n" for name in modules)


def source_of(path: Path) -> Path:
    """The folder that the package of a file lies in."""
    return next(folder for folder in SOURCES.values() if path.is_relative_to(folder))


def summary(place: str) -> str:
    """The first line of what is said about a name: the docstring of a function or class, the string below a constant."""
    module, _, name = place.rpartition(".")
    nodes = body_of(module)
    for node, below in zip(nodes, [*nodes[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in ast.unparse(node).partition("=")[0].split(":")[0].split():
            said = below.value if isinstance(below, ast.Expr) else None
            return str(said.value).partition("\n")[0] if isinstance(said, ast.Constant) else ""
    return ""


def docstring(path: Path) -> str:
    """A module's own."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def imported(module: str) -> dict[str, str]:
    """The names that a module imports from mechlearn, and where each is defined, through the doors on the way."""
    return {name: defined(place.rpartition(".")[0], name, ()) for name, place in sorted(imports_of(module).items())}


def defined(module: str, name: str, above: tuple[str, ...]) -> str:
    """Where a name that is imported from a module is defined; modules that import each other end the search."""
    further = imports_of(module).get(name)
    return (
        defined(further.rpartition(".")[0], name, (*above, module)) if further and module not in above else f"{module}.{name}"
    )


@cache
def imports_of(module: str) -> dict[str, str]:
    """The names that a module itself imports from mechlearn, each with the place it names."""
    imports = [
        node
        for node in body_of(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in SOURCES
    ]
    return {alias.name: f"{node.module}.{alias.name}" for node in imports for alias in node.names}


@cache
def body_of(module: str) -> list[ast.stmt]:
    """A module's statements."""
    base = SOURCES[module.partition(".")[0]].joinpath(*module.split("."))
    file = next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)
    return ast.parse(file.read_text(encoding="utf-8")).body if file else []


def generated(readme: Path) -> str:
    """The page of an experiment's README."""
    return f"experiments/{readme.parts[-3]}/{readme.parts[-2]}.md"


def relinked(text: str, source: Path, uri: str) -> str:
    """A page's text with its links turned to the site's pages; code blocks stay as they are."""

    def turn(match: re.Match[str]) -> str:
        target, hash_, anchor = match["target"].partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match[0]
        page = page_of((source.parent / target).resolve())
        if page is None:
            return match["text"]
        return f"{match['image']}[{match['text']}]({os.path.relpath(page, Path(uri).parent)}{hash_}{anchor})"

    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(turn, text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, LINK.sub(turn, text[last:])])


def page_of(path: Path) -> str | None:
    """The site's page for a file of the repository, None where it has none."""
    fixed = {ROOT / "README.md": "index.md", ROOT / "CHANGELOG.md": "changelog.md", ROOT / "CONTRIBUTING.md": "contributing.md"}
    if path in fixed:
        return fixed[path]
    if path.is_relative_to(ROOT / "docs"):
        return str(path.relative_to(ROOT / "docs"))
    readme = path / "README.md" if path.is_dir() else path
    if readme.name == "README.md" and readme.is_relative_to(ZOO / "experiments") and readme.is_file():
        return generated(readme)
    return None
