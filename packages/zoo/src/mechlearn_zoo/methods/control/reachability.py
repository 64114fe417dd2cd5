"""Episodic curiosity: a bonus for what is many steps away from all that was seen in this episode (Savinov et al. 2019).

A network R learns from trajectories whether two observations are within k steps of each other: label 1 is *close*, beyond
gap * k steps is 0. Its embeddings fill a memory that is emptied at every episode. The similarity F of an observation to the
memory is an aggregate of R's outputs against all entries; the bonus is alpha (beta - F), at every step and maybe negative, or
alpha where F is below a half. What was new enough enters the memory. A television that changes in one step stays one step away.

Not with trajectories from one start alone: all that is not near it then counts as far from everything, and R says nothing (take
random starts, or explore as you learn). In a small world the 90th percentile calls everything new once the memory covers it:
no place is near a tenth of it; `aggregate="max"` is right there.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from mechlearn.arguments import check_generator, check_ids, check_mask, check_one_of, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Episodic curiosity", 2019, "Savinov et al., section 2", "https://arxiv.org/abs/1810.02274",
    "a comparison with each entry of a memory",
)  # fmt: skip

Aggregate = Literal["percentile", "max"]
Replacement = Literal["random", "fifo"]


MOST = 2**24
"""Of how many places torch draws one."""


class Pairs(NamedTuple):
    """Which frames to compare, each (n,): trajectory, the two frames' times, and 1.0 where they are close."""

    trajectory: Tensor
    first: Tensor
    second: Tensor
    close: Tensor


def reachability_pairs(lengths: Tensor, k: int, gap: int, n: int, generator: Generator) -> Pairs:
    """Draw pairs of frames, close or far with equal probability, evenly over all such pairs and in either order.

    Args:
        lengths: (E,) how many frames each trajectory has.
        k: close frames are 1 to k steps apart.
        gap: far ones more than gap * k; what lies between is left out.
        n: how many pairs.
        generator: of the draws.

    Raises:
        TypeError: no tensor of integers, no whole numbers, no generator.
        ValueError: k, gap or n below 1, lengths below 0, no trajectory long enough for a far pair, or trajectories times the
            longest one's steps beyond 2^24, which torch does not draw from.
    """
    check_ids("lengths", lengths, "E", way_out="How many frames each trajectory has.")
    if int(lengths.min()) < 0:
        raise ValueError(f"`lengths` should be numbers of frames, at least 0. Found {int(lengths.min())}.")
    lengths = lengths.long()
    for name, value in (("k", k), ("gap", gap), ("n", n)):
        check_whole(name, value, 1)
    check_generator("generator", generator)
    longest = int(lengths.max())
    if longest < gap * k + 2:
        raise ValueError(
            f"a trajectory needs {gap * k + 2} frames for two that are more than gap * k = {gap * k} steps apart. "
            f"The longest has {longest}. Collect longer ones, or lower k or gap."
        )
    if (places := len(lengths) * (longest - 1)) > MOST:
        raise ValueError(
            f"`lengths` should be of at most {MOST} places, trajectories times the longest one's steps. Found {len(lengths)} x "
            f"{longest - 1} = {places}. Draw from some of the trajectories at a time, or cut long ones."
        )
    apart = torch.arange(1, longest, device=lengths.device)
    starts = (lengths[:, None] - apart).clamp(min=0).double()  # how many pairs are so far apart in each trajectory
    close = torch.rand(n, generator=generator, device=generator.device).to(lengths.device) < 0.5
    trajectory, distance = (torch.empty(n, dtype=torch.int64, device=lengths.device) for _ in range(2))
    for label, allowed in ((True, apart <= k), (False, apart > gap * k)):
        chosen = close == label
        if count := int(chosen.sum()):
            weights = (starts * allowed).flatten().to(generator.device)
            places = torch.multinomial(weights, count, replacement=True, generator=generator).to(lengths.device)
            trajectory[chosen], distance[chosen] = places // len(apart), places % len(apart) + 1
    room = lengths[trajectory] - distance
    share = torch.rand(n, generator=generator, dtype=torch.float64, device=generator.device).to(lengths.device)
    early = (share * room).long().clamp(max=room - 1)
    turned = torch.rand(n, generator=generator, device=generator.device).to(lengths.device) < 0.5
    late = early + distance
    return Pairs(trajectory, torch.where(turned, late, early), torch.where(turned, early, late), close.float())


class Reachability(nn.Module):
    """The network R: an embedding of observations and a comparator of embeddings, apart, so that a memory keeps the former.

    Args:
        embed: from observations (n, *o) to (n, d).
        compare: from two embeddings side by side (*n, 2 d) to a logit (*n, 1); large is close.
    """

    def __init__(self, embed: nn.Module, compare: nn.Module) -> None:
        super().__init__()
        self.embed, self.compare = embed, compare

    def losses(self, first: Tensor, second: Tensor, close: Tensor) -> Tensor:
        """Return the logistic losses (n,) of pairs of observations."""
        pair = torch.cat((self.embed(first), self.embed(second)), -1)
        return binary_cross_entropy_with_logits(self.compare(pair)[:, 0], close, reduction="none")

    def similarity(self, one: Tensor, other: Tensor) -> Tensor:
        """Return the probabilities (*n,) that embeddings (*n, d) belong to observations that are close."""
        return self.compare(torch.cat((one, other), -1))[..., 0].sigmoid()


class Memory(NamedTuple):
    """What B episodes have kept.

    Attributes:
        entries: (B, capacity, d) embeddings, in float32 or the wider type of those that were remembered.
        stored: (B,) how many were ever stored in this episode; the first min(stored, capacity) entries hold something.
    """

    entries: Tensor
    stored: Tensor

    def to(self, device: torch.device) -> "Memory":
        """Return the same on a device."""
        return Memory(self.entries.to(device), self.stored.to(device))


def memory(batch: int, capacity: int, width: int) -> Memory:
    """Return empty memories; on the CPU, from where they follow embeddings.

    Raises:
        TypeError, ValueError: numbers that are not whole, or below 1.
    """
    for name, value in (("batch", batch), ("capacity", capacity), ("width", width)):
        check_whole(name, value, 1)
    return Memory(torch.zeros(batch, capacity, width), torch.zeros(batch, dtype=torch.int64))


@torch.no_grad()
def similarity(
    kept: Memory, embeddings: Tensor, compare: Callable[[Tensor, Tensor], Tensor],
    aggregate: Aggregate = "percentile", percentile: float = 90.0,
) -> Tensor:  # fmt: skip
    """Return F (B,), how close each embedding is to its episode's memory; 0 where that is empty.

    Args:
        kept: the memories.
        embeddings: (B, d).
        compare: `Reachability.similarity`.
        aggregate: over entries: "percentile", interpolated as numpy does, or "max".
        percentile: which, in [0, 100].

    Raises:
        ValueError: another number or width of embeddings, an unknown aggregate, a percentile out of range.
    """
    batch, capacity, width = kept.entries.shape
    check_one_of("aggregate", aggregate, ("percentile", "max"))
    if embeddings.shape != (batch, width):
        raise ValueError(f"`embeddings` should have the shape {(batch, width)}. Found {tuple(embeddings.shape)}.")
    if not 0 <= percentile <= 100:
        raise ValueError(f"`percentile` should lie in [0, 100]. Found {percentile!r}. The paper's is 90.")
    kept = kept.to(embeddings.device)
    filled = kept.stored.clamp(max=capacity)
    most = max(1, int(filled.max()))
    empty = torch.arange(most, device=filled.device) >= filled[:, None]
    # In the embeddings' type: a comparator in bfloat16 takes no float32.
    found = compare(embeddings[:, None].expand(-1, most, -1), kept.entries[:, :most].to(embeddings.dtype))
    if aggregate == "max":
        return found.masked_fill(empty, 0.0).amax(1)
    place = percentile / 100 * (filled - 1).clamp(min=0).double()
    low = place.long()[:, None]
    # Counted from the largest, as a high percentile needs few of those.
    above_low = (filled[:, None] - 1 - low).clamp(min=0)
    ranked = found.masked_fill(empty, -torch.inf).topk(int(above_low.max()) + 1, 1).values
    below, above = ranked.gather(1, above_low)[:, 0], ranked.gather(1, (above_low - 1).clamp(min=0))[:, 0]
    share = (place - low[:, 0]).to(ranked.dtype)
    mixed = torch.where(share > 0, below + share * (above - below), below)
    return torch.where(filled > 0, mixed, torch.zeros_like(mixed))


def bonuses(
    similar: Tensor, alpha: float = 1.0, beta: float = 0.5, kind: Literal["continuous", "step"] = "continuous"
) -> Tensor:
    """Return alpha (beta - F), the paper's, or alpha where F is below beta and 0 elsewhere.

    The continuous bonus is earned best by staying where F is just above beta: nothing is stored there, and each step costs
    little. The step pays for new places alone.

    Raises:
        ValueError: an unknown kind.
    """
    check_one_of("kind", kind, ("continuous", "step"))
    return alpha * (beta - similar) if kind == "continuous" else alpha * (similar < beta).to(similar.dtype)


def remember(
    kept: Memory, embeddings: Tensor, new: Tensor, generator: Generator, replacement: Replacement = "random"
) -> Memory:
    """Return memories with the new embeddings in them; a full one forgets a random entry, or its oldest.

    Args:
        kept: is left as it is.
        embeddings: (B, d).
        new: (B,) of bool, which are to be stored: the paper stores where F is below a half.
        generator: of what is forgotten.
        replacement: "random" or "fifo".

    Raises:
        TypeError: `new` that is not of booleans, no generator.
        ValueError: shapes that do not fit, an unknown replacement.
    """
    batch, capacity, width = kept.entries.shape
    check_one_of("replacement", replacement, ("random", "fifo"))
    if embeddings.shape != (batch, width) or new.shape != (batch,):
        found = f"{tuple(embeddings.shape)} and {tuple(new.shape)}"
        raise ValueError(f"`embeddings` and `new` should have the shapes {(batch, width)} and {(batch,)}. Found {found}.")
    check_mask("new", new, batch, way_out="Compare, as in similar < 0.5; numbers would be read as places.")
    kept = kept.to(embeddings.device)
    slot = kept.stored % capacity
    check_generator("generator", generator)
    if replacement == "random":
        drawn = torch.randint(capacity, (batch,), generator=generator, device=generator.device).to(slot.device)
        slot = torch.where(kept.stored < capacity, kept.stored, drawn)
    entries = kept.entries.to(torch.promote_types(kept.entries.dtype, embeddings.dtype), copy=True)
    entries[new, slot[new]] = embeddings[new].detach().to(entries.dtype)
    return Memory(entries, kept.stored + new)


def forget(kept: Memory, ended: Tensor) -> Memory:
    """Return memories that are empty where an episode ended (B,), of bool.

    Raises:
        TypeError: `ended` that is not of booleans.
        ValueError: another number of episodes.
    """
    check_mask("ended", ended, len(kept.stored), way_out="One for each episode, as in terminated | truncated.")
    return kept._replace(stored=kept.stored.masked_fill(ended.to(kept.stored.device), 0))
