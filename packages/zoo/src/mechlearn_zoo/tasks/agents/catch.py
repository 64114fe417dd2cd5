"""Catch in eight variants: a ball falls, a paddle on the ground is to be under it. A batch of environments, one variant each.

The board has `rows` rows and `columns` columns. An episode takes rows - 1 steps, in each of which the ball falls by one row and
the paddle moves to the left, stays, or moves to the right (actions 0, 1, 2). At its end the reward is the variant's scale,
times 1 where the ball was caught and -1 where not. Variant v shows the board mirrored if v is odd, so that actions move the
paddle the other way in the picture, and its columns shifted by v // 2, round the edge. A row above the board shows v in binary,
so that a policy that is told nothing can tell the variants apart, as games differ in their looks.

In a variant with prizes two balls fall side by side in columns of their own: the usual one is worth 0.01 there and a dim one 1
(times the scale). So the size of a reward matters, which clipping hides.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_whole

VARIANTS = 8
DIM = 0.5
"""How bright the second ball is."""
LESSER = 0.01
"""What the usual ball is worth beside it."""


@dataclass(frozen=True)
class Board:
    """What the variants share, and how they differ in what they pay.

    Args:
        rows: of the board; an episode takes rows - 1 steps.
        columns: of the board.
        scales: what variant v's rewards are multiplied by.
        prizes: variants with two balls.

    Raises:
        TypeError: numbers that are not whole.
        ValueError: fewer than two rows or three columns, not eight scales, scales that are not positive, other variants.
    """

    rows: int = 10
    columns: int = 5
    scales: tuple[float, ...] = (1.0,) * VARIANTS
    prizes: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Reject boards that there are not."""
        check_whole("rows", self.rows, 2)
        check_whole("columns", self.columns, 3, why="the variant is shown in three bits")
        if len(self.scales) != VARIANTS or not all(0 < scale < math.inf for scale in self.scales):
            raise ValueError(f"`scales` should be {VARIANTS} positive numbers, one a variant. Found {self.scales}.")
        if not set(self.prizes) <= set(range(VARIANTS)):
            raise ValueError(f"`prizes` should be variants, from 0 to {VARIANTS - 1}. Found {self.prizes}.")


class Positions(NamedTuple):
    """Where things are, each (B,) of int64.

    Attributes:
        row: of the balls.
        ball: column of the usual ball.
        dim: column of the dim one; -1 where there is none.
        paddle: its column.
    """

    row: Tensor
    ball: Tensor
    dim: Tensor
    paddle: Tensor


class Catch:
    """B environments.

    Args:
        variants: (B,) integers, the variant of each.
        generator: of where balls and paddles begin; `reset` seeds it anew.
        board: what they share.

    Raises:
        TypeError: no generator, or variants that are not whole.
        ValueError: no environment, or a variant that there is not.

    Example:
        >>> import torch
        >>> envs = Catch([0, 1], torch.Generator().manual_seed(0))
        >>> observations, _ = envs.reset(seed=0)
        >>> observations.shape, envs.step(torch.tensor([1, 1]))[1].tolist()
        (torch.Size([2, 11, 5]), [0.0, 0.0])
    """

    speaks_torch = True
    actions = 3
    metadata: Mapping[str, str] = MappingProxyType({"autoreset_mode": "SameStep"})  # as gymnasium's have it

    def __init__(self, variants: Sequence[int] | Tensor, generator: Generator, board: Board = Board()) -> None:
        check_generator("generator", generator)
        self.variants = torch.as_tensor(variants)
        if self.variants.dim() != 1 or len(self.variants) == 0:
            found = tuple(self.variants.shape)
            raise ValueError(f"`variants` should be one integer for each of at least one environment. Found shape {found}.")
        if self.variants.is_floating_point() or self.variants.dtype == torch.bool:
            raise TypeError(f"`variants` should be whole numbers. Found {self.variants.dtype}. Convert them with .long().")
        self.variants = self.variants.long()
        if not 0 <= int(self.variants.min()) <= int(self.variants.max()) < VARIANTS:
            raise ValueError(
                f"`variants` should lie between 0 and {VARIANTS - 1}. Found {sorted(set(self.variants.tolist()))}."
            )
        self.board, self.generator, self.num_envs = board, generator, len(self.variants)
        self.observation_shape = (board.rows + 1, board.columns)
        self.scales = torch.tensor(board.scales)[self.variants]
        self._two = torch.isin(self.variants, torch.tensor(board.prizes, dtype=torch.int64))
        columns = torch.arange(board.columns)
        places = columns + self.variants[:, None] // 2
        seen = torch.where(self.variants[:, None] % 2 == 1, board.columns - 1 - places, places)
        self._seen = seen % board.columns  # where the picture shows each column
        self._code = (self.variants[:, None] >> torch.arange(3) & 1).float()
        self._at = self._begin()

    def reset(self, *, seed: int | None) -> tuple[Tensor, dict[str, Tensor]]:
        """Begin an episode everywhere: observations (B, rows + 1, columns) in [0, 1], and nothing else.

        Without a seed the generator goes on.
        """
        if seed is not None:
            self.generator.manual_seed(seed)
        self._at = self._begin()
        return self.pictures(), {}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Tensor]]:
        """Move the paddles and let the balls fall.

        Args:
            actions: (B,) integers: 0 to the left, 1 stay, 2 to the right.

        Returns:
            Observations, rewards (B,), terminated (B,), truncated (B,), and infos with "final_obs" where an episode ended.

        Raises:
            ValueError: actions of another shape, or that there are not.
        """
        moves = torch.as_tensor(actions)
        if moves.shape != (self.num_envs,) or moves.is_floating_point() or not 0 <= int(moves.min()) <= int(moves.max()) <= 2:
            raise ValueError(
                f"`actions` should be {self.num_envs} integers from 0 to 2. Found {moves.dtype} of shape {tuple(moves.shape)}."
            )
        at = self._at
        paddle = (at.paddle + moves - 1).clamp(0, self.board.columns - 1)
        self._at = at._replace(row=at.row + 1, paddle=paddle)
        over = self._at.row == self.board.rows - 1
        usual = torch.where(self._two, LESSER, 1.0)
        caught = torch.where(paddle == at.dim, 1.0, torch.where(paddle == at.ball, usual, -1.0))
        rewards, infos = torch.where(over, caught * self.scales, 0.0), dict[str, Tensor]()
        if over.any():
            infos["final_obs"] = self.pictures()
            fresh = self._begin()
            self._at = Positions(*(torch.where(over, new, old) for new, old in zip(fresh, self._at, strict=True)))
        return self.pictures(), rewards, over, torch.zeros_like(over), infos

    def pictures(self) -> Tensor:
        """Return what is seen, (B, rows + 1, columns): the variant's bits above the board, balls, paddle."""
        out, all_ = torch.zeros(self.num_envs, *self.observation_shape), torch.arange(self.num_envs)
        out[:, 0, :3] = self._code
        dim = self._at.dim >= 0
        out[all_[dim], 1 + self._at.row[dim], self._seen[dim, self._at.dim[dim]]] = DIM
        out[all_, 1 + self._at.row, self._seen[all_, self._at.ball]] = 1.0
        out[all_, self.board.rows, self._seen[all_, self._at.paddle]] = 1.0
        return out

    def _begin(self) -> Positions:
        def draw(most: int) -> Tensor:
            return torch.randint(most, (self.num_envs,), generator=self.generator)

        columns = self.board.columns
        ball = draw(columns)
        dim = torch.where(self._two, (ball + 1 + draw(columns - 1)) % columns, -1)
        return Positions(torch.zeros_like(ball), ball, dim, draw(columns))
