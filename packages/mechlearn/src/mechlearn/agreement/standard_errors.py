"""How the standard errors are taken that rules which test for conflict divide by."""

from collections.abc import Mapping
from dataclasses import dataclass

from mechlearn.arguments import Choice, check_decay, check_kind, check_one_of, check_seed, check_whole


@dataclass(frozen=True)
class StandardErrors(Choice):
    """How the spread of an environment's examples is seen, over how many steps, and how often.

    Args:
        parts: what is compared within an environment. "examples": every example's gradient; exact, and dear where an example
            has few positions of a layer. "halves": the gradients of two random halves of its examples; cheap for every
            layer, with one degree of freedom. "auto": examples where they are cheap (linear layers on vectors or on 16
            positions and more, convolutions whose output has as many, embeddings, biases, scales, other small parameters),
            else halves.
        memory: b in [0, 1): the test is made with exponential averages over steps of each environment's gradient and variance,
            the new one with weight 1 - b. Holds two numbers a parameter and environment, as many again while a step decides,
            and wants the same environments at every step, in any order and all in one call: micro-batches of some of them are
            refused. A step that fails, or is not finite, is not remembered. 0 has no
            memory.
        every: the masks are decided at every so many steps and kept in between, where a step costs an ordinary backward pass.
            Environments that are collected, to be combined across ranks, decide theirs at every step; to collect between two
            decisions of `backward` is refused.
        rows: N_e, how many examples each environment has in all, by id. With memory the error of the environment's own sample
            does not average away; None has them drawn without end.
        seed: of the draw of halves.

    Raises:
        TypeError, ValueError: an unknown choice of parts, a memory outside [0, 1), numbers below 1, or rows that are none.
    """

    parts: str = "auto"
    memory: float = 0.0
    every: int = 1
    rows: Mapping[object, int] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_one_of("parts", self.parts, ("auto", "examples", "halves"))
        check_decay("memory", self.memory, way_out="0 has no memory, 0.75 remembers some four steps.")
        check_whole("every", self.every, least=1)
        check_seed(self.seed)
        if self.rows is not None:
            check_kind(
                "rows", self.rows, Mapping, "numbers of examples by environment", way_out="Pass {id: number, ...}, or None."
            )
            for name, count in self.rows.items():
                check_whole(f"rows[{name!r}]", count, least=1)
        if self.rows is not None and self.memory == 0:
            raise ValueError(
                "`rows` should come with memory: in a single step examples are compared as they were drawn. Found rows and "
                "memory=0. Leave `rows` out or remember steps."
            )


PLAIN = StandardErrors()
"""Each step by itself."""


def check_errors(errors: object) -> None:
    """Reject what does not say how standard errors are taken."""
    check_kind("errors", errors, StandardErrors, "StandardErrors", way_out="Pass StandardErrors(parts='halves'), for example.")
