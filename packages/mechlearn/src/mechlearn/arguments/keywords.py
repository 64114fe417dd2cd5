"""Keywords that a call does not have: the papers' letters, other libraries' words and mistyped ones, refused in a sentence."""

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import ParamSpec, Self, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MEANT = {
    "threshold": ("tau", "agreement_threshold", "t"),
    "environments": (
        "env",
        "envs",
        "env_ids",
        "environment",
        "environment_ids",
        "ids",
        "domain",
        "domains",
        "group",
        "groups",
        "site",
        "sites",
        "source",
        "sources",
    ),
    "horizon": ("H", "window", "max_skip", "h"),
    "exploration": ("mu", "epsilon_greedy"),
    "teacher_forcing": ("epsilon", "eps"),
    "temperature": ("tau", "gamma"),
    "lr": ("learning_rate", "eta", "alpha"),
    "weight_decay": ("wd", "decay", "l2"),
    "steps": ("n", "num_steps", "n_steps"),
    "batch_size": ("B", "bs"),
    "model": ("net", "network", "module"),
    "optimizer": ("optimiser", "optim", "opt"),
    "generator": ("seed", "rng", "random_state"),
    "inner": ("optimizer", "inner_optimizer"),
    "statistics": ("batch_norm", "bn"),
    "normalise": ("normalize", "norm"),
}
"""An argument of ours, and words for it elsewhere; where a call has two of these arguments, the first here is meant."""

REASONS = {
    "retain_graph": "The graph is freed: run the model again for a second call, or add losses before one call.",
    "create_graph": "The result is not differentiable: a penalty on gradients goes into the losses, before the call.",
}
"""What to do about a word of torch's that has no counterpart."""


class Choice:
    """A choice, such as `mechlearn.agreement.AndMask`: keywords that it does not have are refused in a sentence."""

    def __new__(cls, *_: object, **words: object) -> Self:
        """Make one, for its own `__init__` to fill."""
        if words:
            check_words(cls.__name__, cls.__init__, words)
        return super().__new__(cls)


def worded(function: Callable[P, R]) -> Callable[P, R]:
    """Reject keywords that a function does not have in a sentence, in the place of Python's words."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TypeError:
            check_words(function.__qualname__.removesuffix(".__init__"), function, kwargs)
            raise

    return call


def check_words(name: str, function: Callable[..., object], words: Iterable[str]) -> None:
    """Reject keywords that are no arguments of a function, which is called so and so.

    Raises:
        TypeError: the first of them, and which argument may be meant.
    """
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return
    known = [one.name for one in parameters if one.kind is not one.VAR_POSITIONAL and one.name != "self"]
    unknown = next((word for word in words if word not in known), None)
    if unknown is not None:
        takes = f"{', '.join(known)}" if known else "nothing"
        raise TypeError(
            f"`{name}` should be called with arguments that it has: {takes}. Found `{unknown}`. {_way_out(unknown, known)}"
        ) from None


def _way_out(unknown: str, known: list[str]) -> str:
    if unknown in REASONS:
        return REASONS[unknown]
    meant = [ours for ours, theirs in MEANT.items() if ours in known and unknown in theirs]
    meant = meant or get_close_matches(unknown, known, n=1) or get_close_matches(unknown.lower(), known, n=1)
    return f"Write {meant[0]}=..." if meant else "Leave it out."
