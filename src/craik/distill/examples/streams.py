"""Batches of row numbers in shuffled passes, from an explicit generator, resumable."""

from collections.abc import Mapping
from typing import Any

import torch
from jaxtyping import Int
from torch import Generator, Tensor


class Stream:
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

    def take(self, count: int) -> Int[Tensor, "n b"]:
        """Return the rows of the next `count` batches, shape (count, B)."""
        batches: list[Tensor] = []
        for _ in range(count):
            if len(self.order) < self.size:
                self.order = self.rows[torch.randperm(len(self.rows), generator=self.generator)]
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
