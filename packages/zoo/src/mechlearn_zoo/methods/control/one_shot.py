"""One-shot imitation (Duan et al. 2017): do what a single demonstration shows, from a new start.

A network pi(a | o, d) is trained on pairs of demonstrations of one task: d is given, the expert's actions along the other, d',
are imitated (behaviour cloning, or an expert's labels as in DAgger); loss and loop are the user's. The demonstration is thinned
(temporal dropout), its frames are encoded block by block with neighbourhood attention, a context network attends over time from
the current state and then over blocks, and a head points at the next move (the paper's section 4; its last network gives an
arm's motions, ours names a block and where it goes).

Neighbourhood attention: q, c, m linear in h; w_ij ~ exp(v . tanh(q_i + c_j)); h'_i = linear(h_i, sum_j w_ij m_j, position_i).
Nothing depends on the number or order of blocks and frames but the masks. Index conventions: b of a batch, l a frame of L,
i and j blocks of n, d units.

Not for: worlds without objects that positions tell apart, or demonstrations with steps that only pixels show.
"""

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn
from torch.nn.functional import relu

from mechlearn.arguments import check_generator, check_mask, check_shape, check_share, check_tensor, check_whole
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "One-shot imitation", 2017, "Duan et al., section 4", "https://arxiv.org/abs/1703.07326",
    "L n^2 scores of d units a demonstration",
)  # fmt: skip


def temporal_dropout(present: Bool[Tensor, "B L"], keep: float, generator: Generator) -> Bool[Tensor, "B L"]:
    """Return which frames remain: each of those present with a probability, at least one of each demonstration.

    Args:
        present: (B, L) which frames there are.
        keep: probability of each; several draws at test time make an ensemble.
        generator: of the draws.

    Raises:
        TypeError: frames that are not said by booleans.
        ValueError: a demonstration without frames.
    """
    check_share("keep", keep)
    check_generator("generator", generator)
    _check_frames(present)
    drawn = torch.rand(present.shape, generator=generator, device=generator.device).to(present.device)
    drawn = drawn.masked_fill(~present, 2.0)
    least = drawn == drawn.min(1, keepdim=True).values  # the frame that would be kept first
    return present & ((drawn < keep) | least)


class NeighbourhoodAttention(nn.Module):
    """Each block reads all blocks of its frame, by additive attention.

    Args:
        units: d.
        numbers: of a block's position.
        generator: of the initial weights.
    """

    def __init__(self, units: int, numbers: int, generator: Generator) -> None:
        super().__init__()
        check_whole("units", units, 1)
        check_generator("generator", generator)
        self.queries, self.keys, self.messages = (linear(units, units, "default", generator) for _ in range(3))
        self.score = linear(units, 1, "default", generator)
        self.out = linear(2 * units + numbers, units, "default", generator)

    def forward(
        self, h: Float[Tensor, "*b n d"], positions: Float[Tensor, "*b n k"], blocks: Bool[Tensor, "*b n"]
    ) -> Float[Tensor, "*b n d"]:
        """Return h'; of blocks that there are not, numbers that nobody reads."""
        together = torch.tanh(self.queries(h).unsqueeze(-2) + self.keys(h).unsqueeze(-3))  # (*b, n, n, d)
        scores = self.score(together).squeeze(-1).masked_fill(~blocks.unsqueeze(-2), -torch.inf)
        read = scores.softmax(-1) @ self.messages(h)
        return relu(self.out(torch.cat([h, read, positions], -1)))


class DemonstrationEncoder(nn.Module):
    """Encode every block of every frame: two layers of neighbourhood attention on positions."""

    def __init__(self, units: int, numbers: int, generator: Generator) -> None:
        super().__init__()
        self.embed = linear(numbers, units, "default", generator)
        self.layers = nn.ModuleList(NeighbourhoodAttention(units, numbers, generator) for _ in range(2))

    def forward(self, positions: Float[Tensor, "*b n k"], blocks: Bool[Tensor, "*b n"]) -> Float[Tensor, "*b n d"]:
        """Return (*b, n, d); frames are encoded each by itself."""
        centre = (positions * blocks.unsqueeze(-1)).sum(-2, keepdim=True) / blocks.sum(-1)[..., None, None]
        positions = positions - centre
        h = relu(self.embed(positions))
        for layer in self.layers:
            h = layer(h, positions, blocks)
        return h


class ContextNetwork(nn.Module):
    """From the frames and the current state one vector a block: attention over time, then over blocks.

    Where in the demonstration one is, is judged by the whole state: every block scores every frame, and scores are summed, so
    that all blocks read the same moments.
    """

    def __init__(self, units: int, numbers: int, generator: Generator) -> None:
        super().__init__()
        self.queries, self.keys = (linear(units, units, "default", generator) for _ in range(2))
        self.score = linear(units, 1, "default", generator)
        self.join = linear(3 * units, units, "default", generator)
        self.over_blocks = NeighbourhoodAttention(units, numbers, generator)

    def forward(
        self,
        frames: Float[Tensor, "B L n d"],
        present: Bool[Tensor, "B L"],
        state: Float[Tensor, "B n d"],
        positions: Float[Tensor, "B n k"],
        blocks: Bool[Tensor, "B n"],
    ) -> Float[Tensor, "B n d"]:
        """Return what is to be done, block by block.

        Args:
            frames: encoded demonstration.
            present: which frames there are.
            state: encoded current state.
            positions: of the current state.
            blocks: which blocks there are.
        """
        scores = self.score(torch.tanh(self.queries(state).unsqueeze(1) + self.keys(frames))).squeeze(-1)  # (B, L, n)
        scores = (scores * blocks.unsqueeze(1)).sum(2).masked_fill(~present, -torch.inf)
        read = torch.einsum("bl,blnd->bnd", scores.softmax(1), frames)
        # The end is what all demonstrations of a task share: the last frame is read beside the moment.
        last = present.long().cumsum(1).argmax(1)
        end = frames[torch.arange(len(frames), device=frames.device), last]
        return self.over_blocks(relu(self.join(torch.cat([state, read, end], -1))), positions, blocks)


class PointerHead(nn.Module):
    """Logits of moves: which block goes onto which."""

    def __init__(self, units: int, generator: Generator) -> None:
        super().__init__()
        self.movers, self.bases = (linear(units, units, "default", generator) for _ in range(2))
        self.score = linear(units, 1, "default", generator)

    def forward(self, context: Float[Tensor, "B n d"], blocks: Bool[Tensor, "B n"]) -> Float[Tensor, "B n n"]:
        """Return (B, n, n), -inf for blocks that there are not and for a block onto itself."""
        found = self.score(torch.tanh(self.movers(context).unsqueeze(2) + self.bases(context).unsqueeze(1))).squeeze(-1)
        itself = torch.eye(blocks.shape[1], dtype=torch.bool, device=blocks.device)
        allowed = blocks.unsqueeze(2) & blocks.unsqueeze(1) & ~itself
        return found.masked_fill(~allowed, -torch.inf)


class OneShot(nn.Module):
    """All together: (B, L, n, k) demonstrations and (B, n, k) states to (B, n, n) logits of the next move.

    Args:
        generator: of the initial weights.
        units: d.
        numbers: k, of a position.
    """

    def __init__(self, generator: Generator, units: int = 48, numbers: int = 3) -> None:
        super().__init__()
        check_generator("generator", generator)
        check_whole("units", units, 1)
        check_whole("numbers", numbers, 1)
        self.numbers = numbers
        self.encoder = DemonstrationEncoder(units, numbers, generator)
        self.context = ContextNetwork(units, numbers, generator)
        self.head = PointerHead(units, generator)

    def forward(
        self,
        demonstration: Float[Tensor, "..."],
        present: Bool[Tensor, "..."],
        state: Float[Tensor, "..."],
        blocks: Bool[Tensor, "..."],
    ) -> Float[Tensor, "B n n"]:
        """Return the logits.

        Args:
            demonstration: (B, L, n, k) positions in each frame; padding may hold any finite numbers.
            present: (B, L) which frames there are, see `temporal_dropout`.
            state: (B, n, k) positions now.
            blocks: (B, n) which blocks there are, at least two.

        Raises:
            TypeError: no tensors, or frames and blocks that are not said by booleans.
            ValueError: another number of blocks in demonstration and state, positions of another number of numbers, masks of
                other shapes, a demonstration without frames, or an example with fewer than two blocks.
        """
        for name, values in (("demonstration", demonstration), ("state", state)):
            check_tensor(name, values)
        if demonstration.dim() != 4 or demonstration.shape[2:] != state.shape[1:] or len(demonstration) != len(state):
            found = f"{tuple(demonstration.shape)} and {tuple(state.shape)}"
            raise ValueError(
                "`demonstration` and `state` should have the shapes (B, L, n, k) and (B, n, k) with the same blocks. "
                f"Found {found}. Pad to the larger number of blocks and say which there are."
            )
        check_shape("state", state, "B", "n", self.numbers, way_out="Positions of as many `numbers` as the network has.")
        check_mask("present", present, *demonstration.shape[:2])
        _check_frames(present)
        check_mask("blocks", blocks, *state.shape[:2])
        if not bool((blocks.sum(1) >= 2).all()):
            raise ValueError(f"A move takes two blocks. Found {int(blocks.sum(1).min())} in one example.")
        every = blocks.unsqueeze(1).expand(-1, demonstration.shape[1], -1)
        frames = self.encoder(demonstration, every)
        return self.head(self.context(frames, present, self.encoder(state, blocks), state, blocks), blocks)


def _check_frames(present: Tensor) -> None:
    check_mask("present", present, "B", "L")
    if not bool(present.any(1).all()):
        raise ValueError(
            f"Every demonstration should have a frame at least. Found none in one of shape {tuple(present.shape)}."
        )
