"""Wrong calls drawn at random: `python packages/zoo/tests/soak/calls.py [calls] [first]` prints what they ended in.

A public door, an argument of it, and a value of another kind, type, shape, layout, device or size; of a function, its result.
A call that is refused should say so in one sentence: rule, value found, way out. One that is taken counts apart: a value may be
fine after all.
"""

import contextlib
import json
import random
import re
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import doors_of_agreement
import wrong_kinds
import wrong_tensors
from wrong_kinds import Door, tried

SENTENCE = r"(?s)[A-Z`'].*\bshould\b.*\bFound\b.*[.?]"
"""A rule and what was found."""

OTHERS: tuple[object, ...] = (
    None, "nonsense", [1, 2], {}, Door, np.ones(3), 1.5, -1, 0, 10**30, float("nan"), float("inf"), b"", (),
)  # fmt: skip
"""What most arguments are not."""


def drawn(draw: random.Random, good: object) -> tuple[str, object]:
    """Return a wrong value in the place of a good one, and what it is called."""
    own: list[tuple[str, Callable[[], object]]] = []
    if isinstance(good, Tensor):
        own = _tensors(good)
    elif isinstance(good, nn.Module):
        own = [(f"a model that gives {name}", lambda change=change: Changed(good, change)) for name, change in RESULTS]
    elif callable(good) and not isinstance(good, type):
        own = [(f"a function that gives {name}", lambda change=change: _changed(good, change)) for name, change in RESULTS]
    elif isinstance(good, bool | int | float):
        own = [
            (str(one), lambda one=one: one)
            for one in (-3, 10**30, -(10**30), 1e300, 2**63, True, np.float64(0.5), torch.ones(2))
        ]
    if own and draw.random() < 0.7:
        name, make = draw.choice(own)
        try:
            return name, make()
        except (RuntimeError, TypeError, IndexError, NotImplementedError):  # torch itself makes no such tensor
            pass
    other = draw.choice(OTHERS)
    return f"{other!r}"[:30], other


RESULTS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("None", lambda result: None),
    ("a word", lambda result: "nonsense"),
    ("a number", lambda result: 1.5),
    ("a list", lambda result: [result]),
    ("a pair", lambda result: (result, result)),
    ("an array", lambda result: result.detach().numpy()),
    ("a row more", lambda result: torch.cat([result, result[-1:]])),
    ("a column more", lambda result: torch.cat([result, result[..., -1:]], -1)),
    ("a scalar", lambda result: result.sum()),
    ("an axis more", lambda result: result[..., None]),
    ("integers", lambda result: result.long()),
    ("complex numbers", lambda result: result.to(torch.complex64)),
    ("NaN", lambda result: result * float("nan")),
    ("nothing", lambda result: result[:0]),
    ("a sparse one", lambda result: result.to_sparse()),
    ("one on meta", lambda result: result.to("meta")),
)
"""What a user's own function may give in place of what it should."""


class Changed(nn.Module):
    """A model whose results are changed."""

    def __init__(self, model: nn.Module, change: Callable[[Any], Any]) -> None:
        super().__init__()
        self.model, self.change = model, change

    def forward(self, *given: Any, **named: Any) -> Any:
        """Give what the model gives, changed."""
        return _result(self.change, self.model(*given, **named))


def _changed(function: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *given, **named: _result(change, function(*given, **named))


def _result(change: Callable[[Any], Any], result: object) -> object:
    """What a function gives, changed; None of what is no tensor, or cannot be changed so."""
    try:
        return change(result) if isinstance(result, Tensor) else None
    except (RuntimeError, IndexError):
        return None


def _tensors(good: Tensor) -> list[tuple[str, Callable[[], object]]]:
    kinds = (torch.int8, torch.uint8, torch.int16, torch.float16, torch.bool, torch.complex64, torch.float8_e4m3fn)
    return [
        *((f"{kind}", lambda kind=kind: good.detach().to(kind)) for kind in kinds),
        ("sparse", lambda: good.detach().to_sparse()),
        ("sparse rows", lambda: good.detach().to_sparse_csr()),
        ("meta", lambda: good.detach().to("meta")),
        ("nested", lambda: torch.nested.nested_tensor([good.detach(), good.detach()])),
        ("NaN", lambda: torch.full_like(good.detach().float(), torch.nan)),
        ("10^30", lambda: torch.full_like(good.detach().float(), 1e30)),
        ("nothing", lambda: good.detach()[:0]),
        ("a row more", lambda: torch.cat([good.detach(), good.detach()[-1:]])),
        ("an axis more", lambda: good.detach()[None]),
        ("a scalar", lambda: good.detach().sum()),
        ("an array", lambda: good.detach().numpy()),
        ("negative", lambda: -good.detach().abs() - 1),
    ]


LONGEST = 5.0
"""Seconds that a call may take."""


def _late(number: int, frame: object) -> None:
    raise TimeoutError(f"the call goes on for more than {LONGEST:g} s")


def main(calls: int = 10_000, first: int = 0) -> dict[str, Any]:
    """Draw calls and return how many were refused, in sentences, taken, and which said something else."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _late)
    doors = [door for room in (*wrong_kinds.ROOMS, *wrong_tensors.ROOMS, *doors_of_agreement.ROOMS) for door in room()]
    found, odd = Counter[str](), list[str]()
    for place in range(first, first + calls):
        draw = random.Random(place)
        door = draw.choice(doors)
        name = draw.choice(sorted(door.good))
        torch.manual_seed(0)
        what, value = drawn(draw, door.good[name])
        if any(what == one or what in one for one in door.legal.get(name, ())):
            continue
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        one = tried(f"{place} {door.name}: {name} {what}", lambda: door.call(**{**door.good, name: value}))  # noqa: B023  # at once
        signal.setitimer(signal.ITIMER_REAL, 0)
        how = "taken" if one["error"] is None else "sentence" if re.fullmatch(SENTENCE, one["message"]) else "odd"
        found[how] += 1
        odd += [f"{one['name']}: {one['error']}: {one['message'][:160]}"] if how == "odd" else []
    return {**found, "share": found["sentence"] / max(found["sentence"] + found["odd"], 1), "which": odd}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # where a word is a path
        report = main(*map(int, sys.argv[1:3]))
    json.dump(report, sys.stdout, indent=1)
    sys.exit(report["share"] < 0.97)
