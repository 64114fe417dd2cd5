"""Scripted agents in both worlds, then agents that learn to act and to talk, by what their messages are paid for.

All arms of a world learn side by side, from the same initial weights, with as many steps of as many worlds: advantage
actor-critic with two heads. Actions are trained by the apples an agent eats, in every arm; messages by what the arm says.
Worlds are at different steps of their episodes, and begin anew between two steps of the optimiser.
"""

from collections.abc import Iterator

import torch
from torch import Generator, Tensor

from claimlab import EarlyStopping, Row, checkpoint, part
from mechlearn_zoo.experiments.worlds.social_dilemmas.agents import Answers, Speakers
from mechlearn_zoo.experiments.worlds.social_dilemmas.dilemmas import World, begin, step
from mechlearn_zoo.experiments.worlds.social_dilemmas.playing import Play, anew, answered, influence, quiet, roll
from mechlearn_zoo.experiments.worlds.social_dilemmas.scripts import careful, scripted
from mechlearn_zoo.experiments.worlds.social_dilemmas.settings import ARMS, Config, worlds
from mechlearn_zoo.methods.control.returns import linear_recurrence
from mechlearn_zoo.nn.categorical import chosen
from mechlearn_zoo.tasks.streams import same_stream, stream

LOOKS = 10
"""How often a training is looked at, each arm for itself."""

INFLUENCED = slice(1, 3)
"""Of the arms, those that are paid for influence."""


def run(config: Config) -> Iterator[Row]:
    """Yield what scripted agents eat in each world; then, on the way and at the end, what agents that learn do."""
    for name, world in worlds(config).items():
        yield from part(f"{name}, scripts", scripts(config, name, world))
        yield from part(name, learned(config, name, world))


def scripts(config: Config, name: str, world: World) -> Iterator[Row]:
    """Yield apples of an episode: at random, all greedy, with care, and where one gives in, or does not clean."""
    care = careful(world)
    tempted = (*care[:-1], False)
    for group, caring in {"random": None, "greedy": (False,) * world.agents, "careful": care, "tempted": tempted}.items():
        eaten = played(config, world, group, caring)
        row: Row = {"kind": "script", "world": name, "group": group, "reward": float(eaten.sum())}
        if group == "tempted":
            row |= {"careful": float(eaten[torch.tensor(tempted)].mean()), "tempted": float(eaten[-1])}
        yield row


def played(config: Config, world: World, group: str, care: tuple[bool, ...] | None) -> Tensor:
    """Return the apples that each scripted agent eats in an episode, mean over worlds, (n,); at random without `care`."""
    generator = same_stream(config.seed)
    state, eaten = begin(world, config.tested, generator), torch.zeros(config.tested, world.agents)
    saved = checkpoint(group, generator, *state, eaten)
    for done in range(saved.done + 1, config.episode + 1):
        if care is None:
            actions = torch.randint(world.actions, eaten.shape, generator=generator)
        else:
            actions = scripted(world, state, care, generator)
        after = step(world, state, actions, generator)
        eaten += after.rewards
        for old, new in zip(state, after.state, strict=True):
            old.copy_(new)
        saved.keep(done)
    saved.finish(eaten.mean(0).tolist())
    return torch.tensor(saved.values[-1])


def learned(config: Config, name: str, world: World) -> Iterator[Row]:
    """Train all arms in a world; yield collective rewards eight times on the way, and how fresh worlds go at the end."""
    generator = Generator().manual_seed(config.seed)
    inputs = world.planes * (2 * world.view + 1) ** 2
    speakers = Speakers(len(ARMS), world.agents, inputs, world.actions, config.symbols, config.hidden, generator)
    optimizer = torch.optim.Adam(speakers.parameters(), lr=config.learning_rate)
    talk, eaten = quiet(world, speakers, config.worlds, generator), torch.zeros(len(ARMS))
    held, stopping = (*talk.state, talk.said), {arm: EarlyStopping(LOOKS) for arm in ARMS}
    saved = checkpoint("learning", speakers, optimizer, generator, *held, eaten, *stopping.values())
    yield from saved.values
    rounds, every = config.episode // config.horizon, max(1, config.updates // 8)
    phases = torch.arange(config.worlds) % rounds
    for done in range(saved.done + 1, config.updates + 1):
        fresh = anew(world, speakers, talk, (done - 1 + phases) % rounds == 0, generator)
        play, after = roll(world, speakers, fresh, config.horizon, generator)
        over = (done + phases) % rounds == 0
        optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - (done - 1) / config.updates)
        optimizer.zero_grad()
        losses(config, speakers, play, over, risen(config, done)).sum().backward()
        cut(speakers, config.norm)
        optimizer.step()
        for old, new in zip(held, (*after.state, after.said), strict=True):
            old.copy_(new)
        eaten += collective(play) * rounds / every  # of an episode
        look(config, world, speakers, done / config.updates, stopping)
        if done % every == 0:
            row: Row = {"kind": "curve", "world": name, "step": done, **dict(zip(ARMS, eaten.tolist(), strict=True))}
            eaten.zero_()
            yield saved.keep(done, row)
        else:
            saved.keep(done)
    saved.stay()
    yield from tested(config, name, world, speakers, stopping)


def risen(config: Config, done: int) -> float:
    """Return the weight of influence after so many updates."""
    return config.beta * min(1.0, 4 * done / config.updates)


def losses(config: Config, speakers: Speakers, play: Play, over: Tensor, beta: float) -> Tensor:
    """Return each member's loss, (m,): of its actions and values for apples, and of its messages for what they are paid.

    Args:
        config: weights and discounts.
        speakers: the members.
        play: what was played, with their present weights.
        over: (w,) whose episode ends after it.
        beta: weight of influence, or surprise.
    """
    answers, total = answered(speakers, play), torch.zeros(len(play.acts))
    heads = ((answers.acts, play.acts, play.rewards), (answers.says, play.said, pay(speakers, answers, play, over, beta)))
    for head, (logs, taken, rewards) in enumerate(heads):
        values = answers.values[..., head]
        better = advantages(rewards, values.detach(), config.discount, config.trace)
        entropy = -(logs.exp() * logs).sum(-1)[:, :-1]
        misses = (values[:, :-1] - (better + values[:, :-1].detach())).square()
        gains = standard(better) * chosen(logs[:, :-1], taken)
        total = total + (0.5 * misses - gains - config.entropy * entropy).mean((1, 2))
    return total


def pay(speakers: Speakers, answers: Answers, play: Play, over: Tensor, beta: float) -> Tensor:
    """Return what each message is paid for, (m, t, w), by the arm its speaker belongs to; without gradients."""
    paid = play.rewards.unflatten(0, (len(ARMS), -1)).clone()
    changed = influence(speakers, answers, play, over, INFLUENCED).unflatten(0, (-1, speakers.agents))
    surprise = -chosen(answers.says.detach()[:, :-1], play.said).unflatten(0, (len(ARMS), -1))
    paid[ARMS.index("alone")] = 0.0
    paid[INFLUENCED] += beta * changed
    paid[ARMS.index("surprise")] += beta * surprise[ARMS.index("surprise")]
    return paid.flatten(0, 1)


def advantages(rewards: Tensor, values: Tensor, discount: float, trace: float) -> Tensor:
    """Return generalised advantages, (m, t, w), the last value standing for what comes, be the episode over or not.

    Args:
        rewards: (m, t, w).
        values: (m, t + 1, w).
        discount: in a step.
        trace: lambda.
    """
    missed = (rewards + discount * values[:, 1:] - values[:, :-1]).transpose(0, 1)
    found = linear_recurrence(torch.full((len(missed), missed[0].numel()), discount * trace), missed.flatten(1))
    return found.view_as(missed).transpose(0, 1)


def standard(better: Tensor) -> Tensor:
    """Return each member's advantages less their mean, over their standard deviation."""
    middle, spread = better.mean((1, 2), keepdim=True), better.std((1, 2), keepdim=True)
    return (better - middle) / (spread + 1e-3)


def cut(speakers: Speakers, norm: float) -> None:
    """Shorten each member's gradients to a norm, where they are longer: of what apples train, and of the head of symbols."""
    for group in speakers.groups():
        gradients = [one.grad for one in group if one.grad is not None]
        lengths = torch.stack([one.flatten(1).square().sum(1) for one in gradients]).sum(0).sqrt()
        for one in gradients:
            one.mul_((norm / lengths.clamp(min=norm)).view(-1, 1, 1))


def collective(play: Play) -> Tensor:
    """Return the apples that all agents of a world ate, mean over an arm's worlds, (r,)."""
    return play.rewards.unflatten(0, (len(ARMS), -1)).sum((1, 2)).mean(1)


def look(config: Config, world: World, speakers: Speakers, share: float, stopping: dict[str, EarlyStopping]) -> None:
    """Keep, if it is time, the apples of the test where an arm eats more than before in episodes of validation."""
    due = [one.due(share) for one in stopping.values()]  # all of them, as each keeps what it was looked at
    if not any(due):
        return
    # The same worlds at every look; those of the test are as at the end.
    validation = episode(config, world, speakers, stream(config.seed, "validation")).tolist()
    found = episode(config, world, speakers, same_stream(config.seed)).tolist()
    for one, before, reward in zip(stopping.values(), validation, found, strict=True):
        one.look(share, before, {"reward": reward})


def episode(config: Config, world: World, speakers: Speakers, generator: Generator) -> Tensor:
    """Return the apples that all agents of a fresh world eat in an episode, mean over an arm's worlds, (r,)."""
    talk, eaten = quiet(world, speakers, config.tested, generator), torch.zeros(len(ARMS))
    for _ in range(config.episode // config.horizon):
        play, talk = roll(world, speakers, talk, config.horizon, generator)
        eaten += collective(play)
    return eaten


@torch.no_grad()
def tested(config: Config, name: str, world: World, speakers: Speakers, stopping: dict[str, EarlyStopping]) -> Iterator[Row]:
    """Yield, for each arm, how whole episodes of fresh worlds go: apples, influence and entropies of a step.

    Beside the apples at the end are those where validation was best.
    """
    generator = same_stream(config.seed)
    talk, rounds = quiet(world, speakers, config.tested, generator), config.episode // config.horizon
    found = torch.zeros(4, len(ARMS))
    for now in range(rounds):
        play, talk = roll(world, speakers, talk, config.horizon, generator)
        answers, over = answered(speakers, play), torch.full((config.tested,), now + 1 == rounds)
        steps = [influence(speakers, answers, play, over)]
        steps += [-(logs.exp() * logs).sum(-1) for logs in (answers.says, answers.acts)]
        means = [one.unflatten(0, (len(ARMS), -1)).mean((1, 2, 3)) / rounds for one in steps]
        found += torch.stack([collective(play), *means])
    names = ("reward", "influence", "message_entropy", "action_entropy")
    for arm, numbers in zip(ARMS, found.T.tolist(), strict=True):
        row: Row = {"kind": "final", "world": name, "arm": arm, **dict(zip(names, numbers, strict=True))}
        yield row | {"budget": config.updates * config.horizon * config.worlds} | stopping[arm].row


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    name = str(row["world"])
    before = 0.5 * list(worlds(config)).index(name)
    shares = {"script": 0.0, "final": 0.5}
    share = shares.get(str(row["kind"]), 0.5 * int(str(row.get("step", 0))) / config.updates)
    return before + share, name
