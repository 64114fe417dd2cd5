"""Some steps of all worlds of all arms, as they are needed to learn from; and what influence there was in them.

Index conventions, beside those of `agents`: t steps, w worlds of an arm; worlds come arm by arm, r * w of them.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn_zoo.experiments.worlds.social_dilemmas.agents import Answers, Speakers, others, slots
from mechlearn_zoo.experiments.worlds.social_dilemmas.dilemmas import State, World, begin, step, views
from mechlearn_zoo.methods.worlds import causal_influence, influence_rewards
from mechlearn_zoo.nn.categorical import sample_categorical


class Talk(NamedTuple):
    """Worlds, and what was said in them last.

    Attributes:
        state: of r * w worlds.
        said: (m, w) what each agent said in the step before; the number of symbols where nothing yet.
    """

    state: State
    said: Int[Tensor, "m w"]


class Play(NamedTuple):
    """Some steps that were played.

    Attributes:
        seen: (m, t + 1, w, i) views before each step, and after the last one.
        heard: (m, t + 1, w, o) symbols of the others, alike.
        acts: (m, t, w) what each did.
        said: (m, t, w) what each said.
        rewards: (m, t, w) apples.
    """

    seen: Float[Tensor, "m t1 w i"]
    heard: Int[Tensor, "m t1 w o"]
    acts: Int[Tensor, "m t w"]
    said: Int[Tensor, "m t w"]
    rewards: Float[Tensor, "m t w"]


def quiet(world: World, speakers: Speakers, count: int, generator: Generator) -> Talk:
    """Return `count` fresh worlds for each arm, in which nothing has been said."""
    said = torch.full((speakers.arms * speakers.agents, count), speakers.symbols)
    return Talk(begin(world, speakers.arms * count, generator), said)


def anew(world: World, speakers: Speakers, talk: Talk, over: Bool[Tensor, " w"], generator: Generator) -> Talk:
    """Return the same, but fresh worlds where they are over, in every arm alike."""
    fresh, where = quiet(world, speakers, len(over), generator), over.repeat(speakers.arms)[:, None]
    state = State(*(torch.where(where, new, old) for new, old in zip(fresh.state, talk.state, strict=True)))
    return Talk(state, torch.where(over, fresh.said, talk.said))


@torch.no_grad()
def roll(world: World, speakers: Speakers, talk: Talk, steps: int, generator: Generator) -> tuple[Play, Talk]:
    """Play some steps; return them, and the worlds after them."""
    n, arms = speakers.agents, speakers.arms
    everybody = others(n)
    state, said = talk
    found: list[list[Tensor]] = [[], [], [], [], []]
    for now in range(steps + 1):
        seen = views(world, state).flatten(2).unflatten(0, (arms, -1)).transpose(1, 2).flatten(0, 1)
        heard = said.unflatten(0, (arms, n))[:, everybody].transpose(2, 3).flatten(0, 1)
        found[0].append(seen)
        found[1].append(heard)
        if now == steps:
            break
        answers = speakers(seen, heard)
        acts, said = sample_categorical(answers.acts, generator), sample_categorical(answers.says, generator)
        after = step(world, state, acts.unflatten(0, (arms, n)).transpose(1, 2).flatten(0, 1), generator)
        state, paid = after.state, after.rewards.unflatten(0, (arms, -1)).transpose(1, 2).flatten(0, 1)
        for those, one in zip(found[2:], (acts, said, paid), strict=True):
            those.append(one)
    return Play(*(torch.stack(one, 1) for one in found)), Talk(state, said)


def answered(speakers: Speakers, play: Play) -> Answers:
    """Return what members make of all that they saw and heard, (m, t + 1, w, ...) each."""
    found = speakers(play.seen.flatten(1, 2), play.heard.flatten(1, 2))
    return Answers(*(one.unflatten(1, play.seen.shape[1:3]) for one in found))


@torch.no_grad()
def influence(
    speakers: Speakers, answers: Answers, play: Play, ends: Bool[Tensor, " w"], arms: slice = slice(None)
) -> Float[Tensor, "p t w"]:
    """Return the influence of each symbol said on what all others do in the next step, in nats, (p, t, w).

    Equation 2, with each listener's own policy: its view and what the third said stay as they were.

    Args:
        speakers: the members.
        answers: of `answered`.
        play: what was played.
        ends: whose episode is over after the last step: what is said there is not heard.
        arms: of which arms; p are their members.
    """
    n = speakers.agents
    first, last, _ = arms.indices(speakers.arms)
    some, everybody = slice(first * n, last * n), others(n)
    inner, heard = answers.inner[some, 1:], play.heard[some, 1:]
    supposed = speakers.supposing(inner.flatten(1, 2), heard.flatten(1, 2), first * n).unflatten(1, inner.shape[1:3])
    says = answers.says[some, :-1].unflatten(0, (-1, n))[:, everybody]  # (r, n, o, t, w, k), of who is heard
    policy = says.permute(0, 1, 3, 4, 2, 5).flatten(0, 1)
    each = causal_influence(supposed, policy, heard).unflatten(0, (-1, n))  # (r, listener, t, w, slot)
    turned = each.permute(1, 4, 0, 3, 2)[everybody, slots(n)].permute(2, 0, 3, 4, 1)  # (r, speaker, w, t, listener)
    # The function pays nothing for the last step, as nobody answers; here somebody does, in the step after the last.
    padded = torch.cat([turned, torch.zeros_like(turned[..., :1, :])], -2)
    answer = torch.ones_like(padded, dtype=torch.bool)
    answer[..., -2, :] = ~ends[:, None]
    return influence_rewards(padded, answer)[..., :-1].transpose(2, 3).flatten(0, 1)
