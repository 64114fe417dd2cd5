"""Empowerment: how many bits an agent can send through its actions into what it will sense (Klyubin, Polani and Nehaniv 2005).

E_n(s) = max over p(a_1 .. a_n) of I(A^n; S_{t+n}), the capacity of the channel from sequences of actions to the state n steps
later (to what is sensed of it, where sensors are noisy). A map of where an agent has influence, without any reward. Index
conventions: a channel is p(t | a), rows a are messages, columns t what is received; q is a distribution of messages;
D_a = KL(p(. | a) || sum_a q_a p(. | a)).

Not for: large or continuous worlds (A^n messages are written out), or a bonus in a learning loop where a sample must do.

>>> flip = torch.tensor([[0.9, 0.1], [0.1, 0.9]])
>>> round(float(capacity(flip).bits), 4)  # 1 - h(0.1)
0.531
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.special import entr

from mechlearn.arguments import check_ids, check_one_of, check_positive, check_shape, check_tensor, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Empowerment", 2005, "Klyubin, Polani and Nehaniv", "https://uhra.herts.ac.uk/bitstream/handle/2299/1114/901241.pdf",
    "A^n messages a state; about 15 linear systems of that size",
)  # fmt: skip

ROUNDING = 1e-13
"""How far a row's sum may be from 1 in float64 and still count as 1: what this does to a bound is below any tolerance."""

LIMIT = 4096
"""How many sequences of actions `n_step_channel` writes out unless told otherwise."""

Solver = Literal["newton", "blahut-arimoto"]
"""Newton steps on the barrier problem, about 15 whatever the channel; or the classical multiplicative update, thousands where
messages resemble each other. Both stop at the same certificate."""


class Capacity(NamedTuple):
    """How much a channel can carry, with a certificate.

    Attributes:
        bits: (*b,) I(q; channel), what the input reaches.
        lower: (*b,) log2 sum_a q_a 2^D_a, at least `bits`: no more than the capacity.
        upper: (*b,) max_a D_a: no less than the capacity. Both bounds hold for any q, whichever way it was found (Blahut 1972).
        input: (*b, A) q.
    """

    bits: Float[Tensor, "*b"]
    lower: Float[Tensor, "*b"]
    upper: Float[Tensor, "*b"]
    input: Float[Tensor, "*b A"]


class Merged(NamedTuple):
    """A channel without rows that stand twice.

    Attributes:
        channel: (*b, M, S) distinct rows first, M the largest number of them in the batch; zeros where one has fewer.
        present: (*b, M) which rows are some.
        first: (*b, M) where each stood.
    """

    channel: Float[Tensor, "*b M S"]
    present: Bool[Tensor, "*b M"]
    first: Int[Tensor, "*b M"]


def capacity(
    channel: Float[Tensor, "..."], tolerance: float = 1e-9, *, solver: Solver = "newton", limit: int = 100_000
) -> Capacity:
    """Return a channel's capacity, and bounds on it that are no further apart than the tolerance.

    Equal rows are merged first: their messages cannot be told apart, and they make the optimum flat. Channels of a batch stop
    one by one. The bounds are computed on the whole channel at the end.

    Args:
        channel: (*b, A, S) rows of probabilities that sum to 1; those that do so only roughly, as in float32, are divided by
            their sums in float64.
        tolerance: of upper - lower, bits; below 1e-12 rounding decides.
        solver: see `Solver`.
        limit: of iterations.

    Raises:
        TypeError: no tensor, or numbers of another type.
        ValueError: rows that do not sum to 1 or hold negative numbers.
        RuntimeError: the bounds are still further apart after so many iterations.
    """
    _check_channel(channel)
    check_positive("tolerance", tolerance)
    check_whole("limit", limit, 1)
    check_one_of("solver", solver, ("newton", "blahut-arimoto"))
    rows = _whole(channel).flatten(0, -3) if channel.dim() > 2 else _whole(channel).unsqueeze(0)
    merged = merge_equal_rows(rows)
    solve = _newton if solver == "newton" else _blahut_arimoto
    found = solve(merged, tolerance * math.log(2) / 2, limit)
    whole = torch.zeros(rows.shape[:2], dtype=torch.float64, device=rows.device).scatter_add(1, merged.first, found)
    bits, lower, upper = _bounds(rows, whole)
    if not bool((upper - lower <= tolerance).all()):
        raise RuntimeError(
            f"The bounds should meet within `tolerance`. Found {float((upper - lower).max()):.3g} bits after "
            f"{limit} iterations. Raise `limit`, or take a larger tolerance."
        )
    shape = channel.shape[:-2]
    return Capacity(bits.view(shape), lower.view(shape), upper.view(shape), whole.view(*shape, -1))


def n_step_channel(transitions: Float[Tensor, "S A T"], n: int, *, limit: int = LIMIT) -> Float[Tensor, "S M T"]:
    """Return p(s_{t+n} | s, a_1 .. a_n), sequences in lexicographic order.

    Args:
        transitions: (S, A, S) P. Where episodes end, give the end a state of its own: rows of a channel sum to 1.
        n: how many steps ahead.
        limit: of A^n.

    Raises:
        TypeError: no tensor, no whole number.
        ValueError: more sequences than the limit, transitions of another shape, no step.
    """
    check_shape("transitions", transitions, "S", "A", "S", way_out="From states, by actions, to the same states.")
    check_whole("n", n, 1)
    states, actions, _ = transitions.shape
    if actions**n > limit:
        raise ValueError(
            f"{actions} actions over {n} steps should make at most {limit} sequences. Found {actions**n}. Take fewer steps, "
            "`reachable` where the world is deterministic, or a larger `limit`."
        )
    found = transitions
    for _ in range(n - 1):
        found = torch.einsum("sau,umt->samt", transitions, found).reshape(states, -1, states)
    return found


def reachable(after: Int[Tensor, "S A"], n: int) -> Float[Tensor, " S"]:
    """Return log2 of the number of states that n steps can lead to: empowerment of a deterministic world, without iteration.

    Args:
        after: (S, A) where each action leads.
        n: how many steps ahead; any number, nothing is written out.

    Raises:
        TypeError: no tensor of whole numbers.
        ValueError: another shape, states that there are not, no step.
    """
    check_whole("n", n, 1)
    check_shape("after", after, "S", "A", way_out="Where each action leads from each state.")
    check_ids("after", after, "S", "A", count=len(after))
    after = after.long()
    reached = torch.eye(len(after), dtype=torch.bool, device=after.device)
    for _ in range(n):
        reached = reached[after].any(1)  # of what the actions lead to, what is reached from there
    return reached.sum(1).double().log2()


def merge_equal_rows(channel: Float[Tensor, "*b A S"], decimals: int = 14) -> Merged:
    """Return the distinct rows of each channel; rows that differ by less than rounding count as equal.

    The capacity is the same: messages with one row cannot be told apart by whoever receives.
    """
    rows = channel.double().flatten(0, -3) if channel.dim() > 2 else channel.double().unsqueeze(0)
    batch, messages, _ = rows.shape
    member = torch.arange(batch, dtype=torch.float64, device=rows.device).view(-1, 1, 1).expand(batch, messages, 1)
    _, group = torch.unique(torch.cat([member, rows.round(decimals=decimals)], -1).flatten(0, 1), dim=0, return_inverse=True)
    places = torch.arange(batch * messages, device=rows.device)
    earliest = places.new_full((int(group.max()) + 1,), batch * messages).scatter_reduce(0, group, places, "amin")
    stands = (earliest[group] == places).view(batch, messages)
    most = int(stands.sum(1).max())
    first = stands.long().argsort(dim=1, descending=True, stable=True)[:, :most]
    present = stands.gather(1, first)
    kept = rows.gather(1, first.unsqueeze(-1).expand(-1, -1, rows.shape[-1])) * present.unsqueeze(-1)
    shape = channel.shape[:-2]
    return Merged(kept.view(*shape, most, -1), present.view(*shape, most), first.view(*shape, most))


def mutual_information(channel: Float[Tensor, "*b A S"], q: Float[Tensor, "*b A"]) -> Float[Tensor, "*b"]:
    """Return I(q; channel) = H(received) - sum_a q_a H(row a), bits: what an input that need not be the best one carries.

    Args:
        channel: (*b, A, S) rows of probabilities that sum to 1.
        q: (*b, A) how often each message is sent: probabilities that sum to 1. Axes of a batch are broadcast. What sums to 1
            only roughly is divided by its sum.

    Raises:
        TypeError: no tensor.
        ValueError: a channel or an input that is none, or of as many messages.
    """
    _check_channel(channel)
    _check_input(q, channel.shape[-2])
    q, channel = _whole(q), _whole(channel)
    received = (q.unsqueeze(-2) @ channel).squeeze(-2)
    noise = (q * entr(channel).sum(-1)).sum(-1)
    return (entr(received).sum(-1) - noise) / math.log(2)


def _bounds(channel: Tensor, q: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    divergences = _divergences(channel, q) / math.log(2)
    lower = (q * divergences.exp2()).sum(-1).log2()
    return (q * divergences).sum(-1), lower, divergences.max(-1).values


def _divergences(channel: Tensor, q: Tensor) -> Tensor:
    """D_a in nats, with 0 log 0 = 0; infinite for a message with an outcome of its own that q leaves out."""
    received = (q.unsqueeze(-2) @ channel).squeeze(-2)
    log = torch.where(received > 0, received, 1.0).log()
    unheard = (channel * (received <= 0).unsqueeze(-2)).sum(-1) > 0  # a message of its own that q leaves out
    found = -entr(channel).sum(-1) - (channel @ log.unsqueeze(-1)).squeeze(-1)
    return torch.where(unheard, torch.inf, found)


def _blahut_arimoto(merged: Merged, tolerance: float, limit: int) -> Tensor:
    """Q <- q exp(D) / Z (Blahut 1972; Arimoto 1972), on the channels that have not converged."""
    q = merged.present / merged.present.sum(-1, keepdim=True).double()
    rest = torch.arange(len(q), device=q.device)
    for _ in range(limit):
        channel, own = merged.channel[rest], q[rest]
        divergences = _divergences(channel, own)
        weights = own * divergences.exp()
        total = weights.sum(-1, keepdim=True)
        q[rest] = weights / total
        highest = torch.where(merged.present[rest], divergences, -torch.inf).max(-1).values
        rest = rest[highest - total.squeeze(-1).log() > tolerance]
        if not len(rest):
            break
    return q


def _newton(merged: Merged, tolerance: float, limit: int) -> Tensor:
    """Primal-dual interior point: D_a + z_a = lambda, z_a q_a = mu, sum_a q_a = 1, with mu going to 0.

    The mutual information is concave in q with the gradient D_a - 1 and the Hessian -sum_t p(t|a) p(t|b) / p(t). At mu the
    bounds are A mu apart, so that the tolerance says where to stop.
    """
    present = merged.present.double()
    q = present / present.sum(-1, keepdim=True)
    z, level = present.clone(), torch.zeros(len(q), dtype=torch.float64, device=q.device)
    rest = torch.arange(len(q), device=q.device)
    for _ in range(min(limit, 200)):
        channel, mask = merged.channel[rest], present[rest]
        divergences = _divergences(channel, q[rest].clamp(min=0))
        gap = torch.where(mask > 0, divergences, -torch.inf).max(-1).values - (q[rest] * divergences).sum(-1)
        open_ = gap > tolerance
        rest, channel, mask, divergences = rest[open_], channel[open_], mask[open_], divergences[open_]
        if not len(rest):
            break
        q[rest], z[rest], level[rest] = _newton_step((q[rest], z[rest], level[rest]), channel, mask, divergences)
    return q / q.sum(-1, keepdim=True)


def _newton_step(
    state: tuple[Tensor, Tensor, Tensor], channel: Tensor, mask: Tensor, divergences: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    q, z, level = state
    inside = torch.where(mask > 0, q, 1.0)  # absent messages: an equation of their own, solved by 0
    mu = 0.1 * (q * z).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True)
    received = (q.unsqueeze(-2) @ channel).clamp(min=torch.finfo(torch.float64).tiny)
    hessian = (channel / received) @ channel.mT
    system = hessian + torch.diag_embed(torch.where(mask > 0, z / inside, 1.0))
    right = mask * (divergences - level.unsqueeze(-1) + mu / inside)
    solved = torch.linalg.solve(system, torch.stack([right, mask], -1))
    # Of (system) dq + dlevel = right and sum dq = 1 - sum q: eliminate dlevel.
    change = ((solved[..., 0].sum(-1) - (1 - q.sum(-1))) / solved[..., 1].sum(-1)).unsqueeze(-1)
    dq = mask * (solved[..., 0] - change * solved[..., 1])
    dz = mask * ((mu - q * z - z * dq) / inside)
    reach = torch.minimum(_longest(q, dq), _longest(z, dz))
    return q + reach * dq, z + reach * dz, level + (reach * change).squeeze(-1)


def _longest(values: Tensor, change: Tensor) -> Tensor:
    """The largest step up to 1 that keeps values positive."""
    most = torch.where(change < 0, -values / change, torch.inf).min(-1, keepdim=True).values
    return (0.995 * most).clamp(max=1)


def _check_channel(channel: Tensor) -> None:
    check_tensor("channel", channel)
    if channel.dim() < 2 or not channel.is_floating_point() or 0 in channel.shape:
        raise ValueError(
            "`channel` should be probabilities of the shape (..., A, S), messages by what is received. "
            f"Found {tuple(channel.shape)} of {channel.dtype}."
        )
    if not bool((channel >= 0).all()) or not bool(((channel.double().sum(-1) - 1).abs() <= 1e-5).all()):
        sums = channel.double().sum(-1)
        worst = float(sums.flatten()[(sums - 1).abs().flatten().argmax()])
        raise ValueError(
            f"`channel` should have rows of probabilities that sum to 1. Found a row of {worst:.6g}, least entry "
            f"{float(channel.min()):.3g}. Where episodes end, give the end a column."
        )


def _whole(rows: Tensor) -> Tensor:
    """Return rows in float64, divided by their sums where these are off by more than float64's rounding; else to the bit."""
    rows = rows.double()
    sums = rows.sum(-1, keepdim=True)
    off = (sums - 1).abs() > ROUNDING
    return torch.where(off, rows / sums, rows) if bool(off.any()) else rows


def _check_input(q: Tensor, messages: int) -> None:
    check_tensor("q", q)
    if q.shape[-1:] != (messages,) or not q.is_floating_point():
        raise ValueError(
            f"`q` should be probabilities of the shape (..., {messages}), one for each of the channel's messages. "
            f"Found {tuple(q.shape)} of {q.dtype}."
        )
    sums = q.double().sum(-1)
    if not bool((q >= 0).all()) or not bool(((sums - 1).abs() <= 1e-5).all()):
        worst = float(sums.flatten()[(sums - 1).abs().flatten().argmax()])
        raise ValueError(
            f"`q` should be a distribution: probabilities that sum to 1. Found a sum of {worst:.6g}, least entry "
            f"{float(q.min()):.3g}. Divide by the sum, or take `capacity(channel).input`."
        )
