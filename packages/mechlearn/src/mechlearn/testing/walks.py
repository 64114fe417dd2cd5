"""A small world to try a matching in: random walks, a model that counts what it sees, and comparisons of results."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cached_property

import torch
from torch import Tensor, nn

from mechlearn.losses import Loss
from mechlearn.skips import Dynamics, Matched, Matching, match
from mechlearn.trajectories import Trajectories

_FRAME = 3
"""Numbers of a frame."""

Result = dict[int, tuple[list[int], Tensor]]
"""Each trajectory's matched frames and loss."""


class Trial:
    """A matching in a world; `run` matches some of its trajectories, trajectory b with a generator of its own seed.

    Args:
        matching: what is tried.
        loss: what frames are compared by.
        teacher_forcing: epsilon.
        lengths: of the trajectories.
    """

    def __init__(self, matching: Matching, loss: Loss, teacher_forcing: float, lengths: Sequence[int]) -> None:
        self.matching, self.loss, self.teacher_forcing = matching, loss, teacher_forcing
        self.model = CountingModel()
        self.frames = random_walks(lengths)
        self.where = f"with teacher_forcing={teacher_forcing:g} and {getattr(loss, '__name__', type(loss).__name__)}"

    def run(self, rows: Sequence[int], padding: float = 0.0, generator: torch.Generator | None = None) -> Matched:
        """Match trajectories `rows`, behind which so much padding lies, whole batches by one generator where there is one."""
        batch = padded([self.frames[b] for b in rows], padding)
        draws = generator or [torch.Generator().manual_seed(b) for b in rows]
        with self.attempt(batch):
            dynamics = Dynamics(self.model, self.loss)
            return match(dynamics, batch, self.matching, teacher_forcing=self.teacher_forcing, generator=draws)

    @contextmanager
    def attempt(self, batch: Trajectories) -> Generator[None, None, None]:
        """Say what was to be matched where that is refused."""
        try:
            yield
        except (ValueError, IndexError) as error:
            raise AssertionError(
                f"A matching should match trajectories of lengths {batch.lengths.tolist()} {self.where}. "
                f"Found {type(error).__name__}: {error}"
            ) from error

    @cached_property
    def whole(self) -> Matched:
        """All trajectories matched in one batch."""
        return self.run(self.all())

    def all(self) -> list[int]:
        """Return the positions of all trajectories."""
        return list(range(len(self.frames)))


class CountingModel(nn.Module):
    """A fixed model in float64 that counts the frames it sees."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(1)
        self.weight = nn.Parameter(torch.randn(_FRAME, _FRAME, generator=generator, dtype=torch.float64))
        self.bias = nn.Parameter(torch.randn(_FRAME, generator=generator, dtype=torch.float64) / 4)
        self.seen = 0

    def forward(self, frames: Tensor) -> Tensor:
        """Return a frame for each."""
        self.seen += len(frames)
        return torch.tanh(frames @ self.weight + self.bias)


def random_walks(lengths: Sequence[int]) -> list[Tensor]:
    """Random walks with frames of some numbers in [-1, 1]."""
    generator = torch.Generator().manual_seed(2)
    walks = [torch.randn(length, _FRAME, generator=generator, dtype=torch.float64).cumsum(0) / 2 for length in lengths]
    return [walk.tanh() for walk in walks]


def padded(frames: Sequence[Tensor], padding: float = 0.0) -> Trajectories:
    """A batch with two frames of padding behind its longest trajectory."""
    lengths = torch.tensor([len(own) for own in frames])
    stored = frames[0].new_full((len(frames), int(lengths.max()) + 2, _FRAME), padding)
    for row, own in zip(stored, frames, strict=True):
        row[: len(own)] = own
    return Trajectories(stored, lengths)


def absolute_error(prediction: Tensor, target: Tensor) -> Tensor:
    """A loss that cannot be ranked."""
    return (prediction - target).abs().flatten(1).mean(1)


def each(found: Matched, rows: Sequence[int]) -> Result:
    """Each trajectory's matched frames and loss."""
    parts = zip(rows, found.matched, found.steps.tolist(), found.trajectory_losses.detach(), strict=True)
    return {b: (frames[:count].tolist(), loss) for b, frames, count, loss in parts}


def alike(one: Result, other: Result) -> bool:
    """Say whether trajectories have the same matches and, but for rounding, the same losses."""
    return all(one[b][0] == other[b][0] and torch.allclose(one[b][1], other[b][1], rtol=1e-9, atol=1e-12) for b in one)


def same(one: Matched, other: Matched) -> bool:
    """Say whether two results agree in every bit."""
    return torch.equal(one.matched, other.matched) and torch.equal(one.step_losses, other.step_losses)
