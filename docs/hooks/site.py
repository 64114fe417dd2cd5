"""What `make docs` adds to this folder: README, changelog, each experiment's README, and a page for each public name.

The navigation of the hand-written pages is in mkdocs.yml. Here its sections *API* and *Zoo* are filled from listings, and pages
that it does not name join the section *More* of the guides. Links that lead out of the folder are turned to the generated
pages; a link to a source file becomes its name, as the site holds no sources.
"""

import ast
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
ZOO = ROOT / "packages" / "zoo" / "src" / "mechlearn_zoo"
SOURCES = {name: ROOT / "packages" / folder / "src" for name, folder in
           (("mechlearn", "mechlearn"), ("claimlab", "claimlab"), ("mechlearn_zoo", "zoo"))}  # fmt: skip
LINK = re.compile(r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
FIXED = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
DOORS: dict[str, tuple[str, ...]] = {
    "mechlearn.agreement": (),
    "mechlearn.agreement.rules": ("required_count",),
    "mechlearn.agreement.distributed.ddp": ("combine_across_ranks", "HookState", "agreement_hook"),
    "mechlearn.agreement.distributed.sharded": ("combine_shards", "AgreementReduceScatter"),
    "mechlearn.agreement.statistics": (),
    "mechlearn.agreement.torchjd": (),
    "mechlearn.skips": (),
    "mechlearn.trajectories": (),
    "mechlearn.losses": (
        "BinaryCrossEntropyWithLogits",
        "BinaryCrossEntropy",
        "SquaredError",
        "GaussianNLL",
        "Ranking",
        "Rankable",
    ),
    "mechlearn.schedules": (),
    "mechlearn.distill": (),
    "mechlearn.distill.closed_form": (),
    "mechlearn.surfaces": (),
    "mechlearn.penalties": (),
    "mechlearn.tables": (),
    "mechlearn.integrations": (),
    "mechlearn.integrations.transformers": ("watched",),
    "mechlearn.testing": (),
    "claimlab": (),
}
"""Modules that people import from, and the names that they have a page for: all that is public if none is given."""
BOOST = {
    "index.md": 8, "start.md": 10, "agreement": 4, "skips": 4, "distill": 4, "own-data.md": 4, "concepts": 3, "recipes": 3,
    "running": 2, "experiments": 0.5, "claims.md": 0.5, "seeds.md": 0.5,
}  # fmt: skip
"""How much the search prefers a page or a folder: guides before names, and names before experiments."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and complete the navigation."""
    experiments: dict[str, list[str]] = {}
    pages = {uri: ROOT / source for uri, source in FIXED.items()}
    for readme in sorted(ZOO.glob("experiments/*/*/README.md")):
        uri = generated(readme)
        pages[uri] = readme
        experiments.setdefault(readme.parts[-3].replace("_", " ").capitalize(), []).append(uri)
    own = {file.src_uri for file in files.documentation_pages()}
    for uri, source in pages.items():
        files.append(File.generated(config, uri, content=relinked(source.read_text(encoding="utf-8"), source, uri)))
    api = []
    for door in DOORS:
        index, *names = entries = api_of(door)
        for uri, text in entries:
            files.append(File.generated(config, uri, content=text))
        api.append({door: [index[0], *({Path(uri).stem.removesuffix("_function"): uri} for uri, _ in names)]})
    nav = config.nav or []
    section(nav, "API").extend(api)
    section(nav, "Zoo").extend({family: uris} for family, uris in experiments.items())
    section(nav, "Guides").extend({"More": rest} for rest in [sorted(own - set(named(nav)))] if rest)
    return files


def section(nav: list[object], title: str) -> list[object]:
    """Return the entries below a title of the navigation."""
    return next(one[title] for one in nav if isinstance(one, dict) and title in one)


def named(nav: object) -> Iterator[str]:
    """Yield the pages that a navigation names."""
    if isinstance(nav, str):
        yield nav
    for entry in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from named(entry)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the links of a page of this folder, and let the search show guides before names, and names before experiments."""
    del config, files
    kind = page.file.src_uri.partition("/")[0]
    page.meta["search"] = {"boost": BOOST.get(kind, 1)}
    source = page.file.abs_src_path
    return relinked(markdown, Path(source), page.file.src_uri) if source and not page.file.generated_by else markdown


def api_of(door: str) -> list[tuple[str, str]]:
    """Return the pages of a module with their places: first its list of names, then a page for each."""
    folder = "api/" + door.replace(".", "/")
    found = {name: place for name, place in public(door).items() if name in DOORS[door] or not DOORS[door]}
    uris = {name: place_of(name, [*found]) for name in found}
    lines = [f"- [`{door}.{name}`]({uris[name]}): {summary(place)}\n" for name, place in found.items()]
    own = [(f"{folder}/{uris[name]}", f"::: {door}.{name}\n    options:\n      heading_level: 1\n") for name in found]
    return [(f"{folder}/index.md", f"# {door}\n\n{docstring(door)}\n\n" + "".join(lines)), *own]


def place_of(name: str, names: list[str]) -> str:
    """Return the file of a name's page, longer if another differs in capitals alone, which some file systems do not see."""
    twins = [one for one in names if one.lower() == name.lower()]
    return f"{name}.md" if name == twins[0] else f"{name}_function.md"


def public(door: str) -> dict[str, str]:
    """Return the names that a module offers, each with the place where it is defined.

    A module offers what it imports as itself, and one that imports nothing so its own functions and classes.
    """
    own = [node.name for node in body_of(door) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return imported(door) or {name: f"{door}.{name}" for name in own if not name.startswith("_")}


def summary(place: str) -> str:
    """Return the first line of what is said about a name: its docstring, or the string below a constant."""
    module, _, name = place.rpartition(".")
    nodes = body_of(module)
    for node, below in zip(nodes, [*nodes[1:], ast.Pass()], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return (ast.get_docstring(node) or "").partition("\n")[0]
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in ast.unparse(node).partition("=")[0].split(":")[0].split():
            said = below.value if isinstance(below, ast.Expr) else None
            return str(said.value).partition("\n")[0] if isinstance(said, ast.Constant) else ""
    return ""


def docstring(module: str) -> str:
    """Return a module's own."""
    return ast.get_docstring(ast.Module(body_of(module), [])) or ""


def imported(module: str) -> dict[str, str]:
    """Return the names that a module imports as themselves, and where each is defined, through the doors on the way."""
    return {name: defined(place.rpartition(".")[0], name, ()) for name, place in sorted(imports_of(module, True).items())}


def defined(module: str, name: str, above: tuple[str, ...]) -> str:
    """Return where a name that is imported from a module is defined; modules that import each other end the search."""
    further = imports_of(module).get(name)
    return (
        defined(further.rpartition(".")[0], name, (*above, module)) if further and module not in above else f"{module}.{name}"
    )


@cache
def imports_of(module: str, offered: bool = False) -> dict[str, str]:
    """Return the names that a module imports from our packages, each with its place; `offered`: only those `as` themselves."""
    imports = [
        node
        for node in body_of(module)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in SOURCES
    ]
    return {
        alias.name: f"{node.module}.{alias.name}"
        for node in imports
        for alias in node.names
        if not offered or alias.asname == alias.name
    }


@cache
def body_of(module: str) -> list[ast.stmt]:
    """Return a module's statements."""
    file = file_of(module)
    return ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []


def file_of(module: str) -> Path:
    """Return a module's file."""
    base = SOURCES[module.partition(".")[0]].joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def generated(readme: Path) -> str:
    """Return the page of an experiment's README."""
    return f"experiments/{readme.parts[-3]}/{readme.parts[-2]}.md"


def relinked(text: str, source: Path, uri: str) -> str:
    """Return a page's text with its links turned to the site's pages; code blocks are unchanged."""

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
    """Return the site's page for a file of the repository, None if it has none."""
    for uri, name in FIXED.items():
        if path == ROOT / name:
            return uri
    if path.is_relative_to(ROOT / "docs"):
        return str(path.relative_to(ROOT / "docs"))
    readme = path / "README.md" if path.is_dir() else path
    if readme.name == "README.md" and readme.is_relative_to(ZOO / "experiments") and readme.is_file():
        return generated(readme)
    return None
