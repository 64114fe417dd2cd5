"""The standard library's source as tokens, each name with its role: text with exact labels that is always there.

What a name is, an attribute, the function of a call, a keyword argument, something assigned, defined, or merely read, is told
by `ast`. The source differs between versions of Python: `CodeTokens.digest` names the stream that was read.
"""

import ast
import hashlib
import io
import keyword
import os
import re
import sysconfig
import token
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mechlearn.arguments import check_each, check_whole

ROLES = ("attribute", "call", "keyword", "store", "definition", "load")
"""What a name may be; "load" is everything that is merely read."""

NO_ROLE = -1

_KEYWORD = re.compile(rb"(?:async\s+)?(?:def|class)\s+(?=[^\s\\])")

_MODULES = (
    "abc argparse ast base64 bdb bisect calendar cmd code codecs codeop configparser contextlib copy copyreg csv "
    "dataclasses datetime decimal difflib dis doctest enum filecmp fileinput fnmatch fractions ftplib functools "
    "genericpath getopt getpass gettext glob graphlib gzip hashlib heapq hmac imaplib inspect ipaddress keyword "
    "linecache locale lzma mailbox mimetypes netrc ntpath numbers opcode operator optparse os pathlib pdb pickle "
    "pickletools pkgutil platform plistlib poplib posixpath pprint profile pstats pty py_compile pyclbr pydoc "
    "queue quopri random reprlib sched secrets selectors shelve shlex shutil site smtplib socket socketserver ssl "
    "stat statistics string stringprep struct subprocess symtable tabnanny tarfile tempfile textwrap threading "
    "timeit token tokenize trace traceback tracemalloc tty turtle types typing uuid warnings wave weakref "
    "webbrowser zipapp zipfile"
)
MODULES = tuple(_MODULES.split())
"""Modules of one file that Python 3.11 has; packages without their tests are what Linux distributions install."""


@dataclass(frozen=True)
class CodeTokens:
    """Files as tokens.

    Args:
        names: of the files.
        tokens: of each file, its words; numbers are "<number>", texts "<text>", a line's end "<line>".
        roles: of each token, a place in `ROLES`, or `NO_ROLE` for what is no name.
        missing: modules that this Python does not have.
    """

    names: tuple[str, ...]
    tokens: tuple[tuple[str, ...], ...]
    roles: tuple[tuple[int, ...], ...]
    missing: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Twelve letters that change with the stream of tokens."""
        lines = "\n".join(" ".join(file) for file in self.tokens)
        return hashlib.sha256(lines.encode()).hexdigest()[:12]


def code_tokens(paths: Sequence[str | Path] | None = None, modules: int | None = None) -> CodeTokens:
    """Read Python files.

    Args:
        paths: your own files or folders, in a list; the standard library's modules where None.
        modules: how many of the standard library's, in the order of `MODULES`; all if None.

    Raises:
        TypeError: ``paths`` is no list of paths.
        ValueError: a path without a Python file, or a file that is no Python of this version.
        FileNotFoundError: none of the standard library's modules is there, as in some containers.
    """
    if paths is not None:
        check_each("paths", paths, (str, os.PathLike), "paths", way_out="Put one path into a list, too.")
        return _read([file for path in paths for file in _files(Path(path))], ())
    if modules is not None:
        check_whole("modules", modules, 1)
    root = Path(sysconfig.get_paths()["stdlib"])
    wanted = {name: root / f"{name}.py" for name in MODULES[:modules]}
    missing = tuple(name for name, path in wanted.items() if not path.is_file())
    if len(missing) == len(wanted):
        raise FileNotFoundError(
            f"{root} should hold the standard library's source. Found none of it. Pass `paths` of your own."
        )
    return _read([path for path in wanted.values() if path.is_file()], missing)


def roles_of(source: str) -> dict[tuple[int, int], int]:
    """Return the role of each name in a source by line (from 1) and column (in bytes of UTF-8, as `ast` counts).

    Raises:
        SyntaxError: no Python.
    """
    found: dict[tuple[int, int], int] = {}
    lines = _lines(source)
    calls = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            calls.add(id(node.func))
            for word in node.keywords:
                if word.arg is not None:
                    found[word.lineno, word.col_offset] = ROLES.index("keyword")
        elif isinstance(node, ast.Name):
            stored = isinstance(node.ctx, ast.Store | ast.Del)
            role = "call" if id(node) in calls else "store" if stored else "load"
            found[node.lineno, node.col_offset] = ROLES.index(role)
        elif isinstance(node, ast.Attribute) and node.end_lineno is not None and node.end_col_offset is not None:
            found[node.end_lineno, node.end_col_offset - len(node.attr.encode())] = ROLES.index("attribute")
        elif isinstance(node, ast.arg):
            found[node.lineno, node.col_offset] = ROLES.index("definition")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            place = _defined(lines, node)
            if place is not None:
                found[place] = ROLES.index("definition")
    return found


def _defined(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[int, int] | None:
    """Return where a definition's name stands: on the line of its keyword, as a rule."""
    before = _KEYWORD.match(lines[node.lineno - 1].encode(), node.col_offset)
    return None if before is None else (node.lineno, before.end())


def _lines(source: str) -> list[str]:
    """Return lines as `ast` and `tokenize` count them; str.splitlines cuts at form feeds and other signs as well."""
    return io.StringIO(source, newline=None).readlines()


def _read(files: Iterable[Path], missing: tuple[str, ...]) -> CodeTokens:
    names, everything, all_roles = list[str](), list[tuple[str, ...]](), list[tuple[int, ...]]()
    for file in files:
        try:
            with tokenize.open(file) as opened:  # in the encoding that the file itself names, UTF-8 by default
                words, roles = _tokens(opened.read())
        except (SyntaxError, UnicodeDecodeError, tokenize.TokenError) as error:
            raise ValueError(f"{file} should be Python of this version. Found {error}. Leave the file out.") from None
        names.append(file.stem)
        everything.append(words)
        all_roles.append(roles)
    return CodeTokens(tuple(names), tuple(everything), tuple(all_roles), missing)


def _tokens(source: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    known, lines = roles_of(source), _lines(source)
    words, roles = list[str](), list[int]()
    stand_in = {
        token.NUMBER: "<number>",
        token.STRING: "<text>",
        token.NEWLINE: "<line>",
        token.INDENT: "<in>",
        token.DEDENT: "<out>",
    }
    for one in tokenize.generate_tokens(io.StringIO(source).readline):
        if one.type in (token.COMMENT, token.NL, token.ENDMARKER, token.ENCODING):
            continue
        words.append(stand_in.get(one.type, one.string))
        role = NO_ROLE
        if one.type == token.NAME and not keyword.iskeyword(one.string):
            line, column = one.start
            role = known.get((line, len(lines[line - 1][:column].encode())), NO_ROLE)
        roles.append(role)
    return tuple(words), tuple(roles)


def _files(path: Path) -> list[Path]:
    found = sorted(path.rglob("*.py")) if path.is_dir() else [path] if path.is_file() else []
    if not found:
        raise ValueError(f"{path} should be a Python file or a folder with some. Found none. Check the path.")
    return found
