"""Batches of row numbers in shuffled passes, from an explicit generator, resumable: for one student, or for several at once."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor


class Stream(Iterator[Tensor]):
    """Row numbers in shuffled passes: no row comes again before the pass is over; the rest of a pass below B is dropped.

    Args:
        rows: what to draw from.
        size: B, the rows of a batch.
        generator: of the orders.
    """

    def __init__(self, rows: Int[Tensor, " r"], size: int, generator: Generator) -> None:
        self.rows = rows
        self.size = size
        self.generator = generator
        self.order = rows[:0]

    def __next__(self) -> Int[Tensor, " b"]:
        """Return the rows of the next batch."""
        return self.take(1)[0]

    def take(self, count: int) -> Int[Tensor, "n b"]:
        """Return the rows of the next `count` batches, shape (count, B)."""
        batches: list[Tensor] = []
        for _ in range(count):
            if len(self.order) < self.size:
                drawn = torch.randperm(len(self.rows), generator=self.generator, device=self.generator.device)
                self.order = self.rows[drawn.to(self.rows.device)]
            batches.append(self.order[: self.size])
            self.order = self.order[self.size :]
        return torch.stack(batches)

    def restart(self, rows: Int[Tensor, " r"]) -> None:
        """Begin a new pass over other rows."""
        self.rows, self.order = rows, rows[:0]

    def state_dict(self) -> dict[str, Any]:
        """Return the rows and what is left of the pass; the generator's state is its owner's."""
        return {"rows": self.rows.clone(), "order": self.order.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        device = self.rows.device
        self.rows, self.order = (state[name].to(device, copy=True) for name in ("rows", "order"))


class Streams:
    """Row numbers for P students, each in shuffled passes of its own; as `Stream` for each, without a loop over students.

    All students take as many batches at a time, so that their passes end together.

    Args:
        rows: what to draw from.
        size: B, the rows of a batch.
        members: P.
        generator: of the orders.
    """

    def __init__(self, rows: Int[Tensor, " r"], size: int, members: int, generator: Generator) -> None:
        self.rows, self.size, self.members, self.generator = rows, size, members, generator
        self.order = rows[:0].expand(members, 0)

    def take(self, count: int) -> Int[Tensor, "n p b"]:
        """Return the rows of the next `count` batches of each student, shape (count, P, B)."""
        parts, left = [self.order], count - self.order.shape[1] // self.size
        each = len(self.rows) // self.size
        while left > 0:
            drawn = torch.rand(self.members, len(self.rows), generator=self.generator, device=self.generator.device)
            parts.append(self.rows[drawn.argsort(1)[:, : each * self.size].to(self.rows.device)])
            left -= each
        order = torch.cat(parts, 1)
        self.order = order[:, count * self.size :]
        return order[:, : count * self.size].unflatten(1, (count, self.size)).transpose(0, 1)

    def restart(self, rows: Int[Tensor, " r"]) -> None:
        """Begin new passes over other rows."""
        self.rows, self.order = rows, rows[:0].expand(self.members, 0)

    def state_dict(self) -> dict[str, Any]:
        """Return the rows and what is left of the passes; the generator's state is its owner's."""
        return {"rows": self.rows.clone(), "order": self.order.clone()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        device = self.rows.device
        self.rows, self.order = (state[name].to(device, copy=True) for name in ("rows", "order"))
