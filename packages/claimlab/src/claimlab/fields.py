"""Settings: the command line's fields, derived from an experiment's Config and the sentence below each of its fields."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import re
import shlex
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

from claimlab.errors import LabError, UsageError, suggestion
from claimlab.values import kind, parse, written

RESERVED = (
    "preset", "seeds", "jobs", "out", "record", "keep_older", "checkpoint_seconds", "max_minutes", "json_log", "track",
    "on", "cpus", "gpus", "package", "json", "help", "traceback",
)  # fmt: skip
"""Options of `run` itself; a Config must not have fields of these names."""


Config = Any
"""An instance of some experiment's Config: a dataclass that the lab knows only by its fields."""


@dataclass(frozen=True)
class Setting:
    """One field of a Config: its name, its type, its default and the sentence that explains it."""

    name: str
    type: Any
    default: Any
    help: str

    @property
    def flag(self) -> str:
        """The field as the command line writes it."""
        return "--" + self.name.replace("_", "-")


def settings_of(config: type[Any]) -> tuple[Setting, ...]:
    """Return the settings of a Config dataclass in the order of its fields."""
    hints, sentences = get_type_hints(config), _field_docstrings(config)
    fields = dataclasses.fields(config)
    for field in fields:
        if field.name in RESERVED:
            raise LabError(f"A Config's fields should not be options of run. Found {field.name!r}. Rename it.")
    return tuple(Setting(f.name, hints[f.name], _default(f), sentences.get(f.name, "")) for f in fields)


def _default(field: dataclasses.Field[Any]) -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return None if field.default is dataclasses.MISSING else field.default


def _field_docstrings(config: type[Any]) -> dict[str, str]:
    """Return the string below each annotated field, also of the classes that the Config inherits from."""
    found: dict[str, str] = {}
    for cls in reversed(config.__mro__):
        if not dataclasses.is_dataclass(cls):
            continue
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
        except (OSError, TypeError, SyntaxError):  # a class typed into a console has no source: no sentences, no harm
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for node, below in itertools.pairwise(body):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(below, ast.Expr):
                text = below.value.value if isinstance(below.value, ast.Constant) else ""
                found[node.target.id] = " ".join(text.split()) if isinstance(text, str) else ""
    return found


def parse_overrides(
    settings: Sequence[Setting], words: Sequence[str], experiment: str, options: Sequence[str] = RESERVED
) -> dict[str, Any]:
    """Read `--field value` and `--field=value` into a dict from field name to value; the last of a field wins."""
    overrides: dict[str, Any] = {}
    remaining = list(words)
    while remaining:
        flag, equals, value = remaining.pop(0).partition("=")
        setting = _find(settings, flag, experiment, options)
        if not equals:
            if not remaining or remaining[0].startswith("--"):
                raise UsageError(f"{flag} should have a value ({kind(setting.type)}). Found none. Add it, {_example(setting)}.")
            value = remaining.pop(0)
        overrides[setting.name] = parse_value(setting, value)
    return overrides


def _find(settings: Sequence[Setting], flag: str, experiment: str, options: Sequence[str]) -> Setting:
    if not flag.startswith("--"):
        raise UsageError(f"Settings should be written --field value. Found the stray word {flag!r}. Name its field.")
    name = flag[2:].replace("-", "_")
    for setting in settings:
        if setting.name == name:
            return setting
    flags = [setting.flag for setting in settings] + ["--" + option.replace("_", "-") for option in options]
    way_out = suggestion("--" + name.replace("_", "-"), flags)
    raise UsageError(f"A setting of {experiment} should be one of its fields. Found {flag!r}. {way_out}")


def parse_value(setting: Setting, text: str) -> object:
    """Read one value as the type of its field."""
    try:
        return parse(setting.type, text)
    except ValueError:
        rule = f"{setting.flag} must be {kind(setting.type)}"
        raise UsageError(f"{rule}. Found {text!r}. Write one, {_example(setting)}.") from None
    except NotImplementedError:
        found = f"but {setting.name} is {setting.type}"
        raise LabError(
            f"A field's type should be int, float, str, bool, Literal, X | None or tuple[X, ...], {found}. Change the field."
        ) from None


def _example(setting: Setting) -> str:
    return f"for example {setting.flag} {written(setting.default)}"


def build(config: Config, overrides: Mapping[str, Any]) -> Config:
    """Return the config with some of its fields replaced."""
    try:
        return dataclasses.replace(config, **overrides)
    except (ValueError, TypeError) as error:
        sentence = _of_one(str(error), config, overrides) or f"{error}{_given(str(error), overrides)}"
        raise UsageError(sentence) from error


def _of_one(sentence: str, config: Config, overrides: Mapping[str, Any]) -> str:
    """Return a Config's sentence about one given field, with its flag and a value that the Config takes; "" of others."""
    parts = re.fullmatch(r"(\w+) should (.+)\. Found ((?:(?!\. ).)+)\.", sentence)
    name = parts[1] if parts else ""
    if parts is None or name not in overrides:
        return ""
    value = getattr(config, name)
    try:
        dataclasses.replace(config, **{**overrides, name: value})
    except (ValueError, TypeError):  # the others that were given rule it out
        return ""
    (rule, colon, why), flag = parts[2].partition(": "), "--" + name.replace("_", "-")
    return f"{flag} must {rule}, but found {parts[3]}{colon}{why}; for example {flag} {shlex.quote(written(value))}"


def _given(sentence: str, overrides: Mapping[str, Any]) -> str:
    """Return the values given, where a sentence about several fields names none of them."""
    values = {name: written(value) for name, value in overrides.items()}
    named = any(re.search(rf"(?<![\w.-]){re.escape(value)}(?!\w)", sentence) for value in values.values() if value)
    if named or not values:
        return ""
    return f" Given: {shlex.join(word for name in values for word in ('--' + name.replace('_', '-'), values[name]))}."


def values_of(config: Config) -> dict[str, Any]:
    """Return the config as a dict from field name to value (one level: fields are scalars or tuples of them)."""
    return {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
