"""A stag hunt of scripted agents: what one does next depends on where the others are.

Ours, after the one of Tacchetti et al. 2019 (https://arxiv.org/abs/1809.11044, section 3), whose agents are trained.
Agents walk on a board towards what is worth most to them. A hare is worth 1 / (1 + d), d the agent's distance; a stag takes
two and is worth 2.5 / (1 + d'), d' the farther of the agent and of the nearest other one. So a stag is only worth as much as
the second hunter is near. What is caught comes up elsewhere. Each team may have a habit that gives the next move away: numbers
on each agent that are a code of what it is about to do, another code in every team.

Index conventions: b episodes, t steps, n agents then targets; actions 0 stay, 1 up, 2 down, 3 left, 4 right in (row, column).
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_not_negative, check_share, check_whole

MOVES = torch.tensor([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])
"""What each action adds to (row, column)."""


@dataclass(frozen=True)
class Hunt:
    """How a hunt is.

    Args:
        agents: hunters.
        targets: hares and stags, every other one a stag.
        side: of the board.
        steps: of an episode.
        slip: probability of a random move.
        habits: numbers of a team's habit, 0 for none.
        habit_scale: their standard deviation.
    """

    agents: int = 4
    targets: int = 6
    side: int = 12
    steps: int = 30
    slip: float = 0.05
    habits: int = 0
    habit_scale: float = 1.0

    def __post_init__(self) -> None:
        check_whole("agents", self.agents, least=2, why="a stag takes two")
        check_whole("targets", self.targets, least=2)
        check_whole("side", self.side, least=2)
        check_whole("steps", self.steps, least=1)
        check_whole("habits", self.habits)
        check_share("slip", self.slip)
        check_not_negative("habit_scale", self.habit_scale)


class Play(NamedTuple):
    """Recorded hunts.

    Attributes:
        places: (b, t, n, 2) row and column of agents, then targets, before the actions.
        actions: (b, t, agents) what each did.
        stags: (targets,) which are stags.
        habits: (b, t, agents, h) what gives the move away, in each team's own code.
        teams: (b,) ids.
    """

    places: Int[Tensor, "b t n 2"]
    actions: Int[Tensor, "b t agents"]
    stags: Bool[Tensor, " targets"]
    habits: Float[Tensor, "b t agents h"]
    teams: Int[Tensor, " b"]


def hunts(seed: int, episodes: int, hunt: Hunt, teams: int = 1) -> Play:
    """Play hunts, an equal number for each team.

    Args:
        seed: of everything that is drawn: teams of another seed have other habits.
        episodes: of each team.
        hunt: how.
        teams: how many.
    """
    check_whole("episodes", episodes, least=1)
    check_whole("teams", teams, least=1)
    generator = Generator().manual_seed(seed)
    count = episodes * teams
    codes = hunt.habit_scale * torch.randn(teams, len(MOVES), hunt.habits, generator=generator)
    places = spread(hunt, count, generator)
    stags = torch.arange(hunt.targets) % 2 == 1
    seen: list[Tensor] = []
    done: list[Tensor] = []
    for _ in range(hunt.steps):
        agents, targets = places[:, : hunt.agents], places[:, hunt.agents :]
        actions = slipped(chosen(agents, targets, stags), hunt.slip, generator)
        seen.append(places)
        done.append(actions)
        places, _ = moved(places, actions, hunt, stags, generator)
    ids = torch.arange(teams).repeat_interleave(episodes)
    actions = torch.stack(done, 1)
    return Play(torch.stack(seen, 1), actions, stags, codes[ids[:, None, None], actions], ids)


def spread(hunt: Hunt, count: int, generator: Generator) -> Int[Tensor, "b n 2"]:
    """Return agents and targets at random on boards."""
    check_generator("generator", generator)
    return torch.randint(0, hunt.side, (count, hunt.agents + hunt.targets, 2), generator=generator)


def slipped(actions: Int[Tensor, "b a"], slip: float, generator: Generator) -> Int[Tensor, "b a"]:
    """Return actions of which some, with probability `slip`, are random ones."""
    check_generator("generator", generator)
    slips = torch.rand(actions.shape, generator=generator) < slip
    return torch.where(slips, torch.randint(0, len(MOVES), actions.shape, generator=generator), actions)


def moved(
    places: Int[Tensor, "b n 2"], actions: Int[Tensor, "b a"], hunt: Hunt, stags: Bool[Tensor, " m"], generator: Generator
) -> tuple[Int[Tensor, "b n 2"], Bool[Tensor, "b a m"]]:
    """Return where all are a step on, what is caught elsewhere on the board, and who has caught what."""
    check_generator("generator", generator)
    agents, targets = (places[:, : hunt.agents] + MOVES[actions]).clamp(0, hunt.side - 1), places[:, hunt.agents :]
    standing = (agents[:, :, None] == targets[:, None]).all(-1)
    caught = standing.sum(1) >= torch.where(stags, 2, 1)
    fresh = torch.randint(0, hunt.side, targets.shape, generator=generator)
    return torch.cat([agents, torch.where(caught[..., None], fresh, targets)], 1), standing & caught[:, None]


def chosen(agents: Int[Tensor, "b a 2"], targets: Int[Tensor, "b m 2"], stags: Bool[Tensor, " m"]) -> Int[Tensor, "b a"]:
    """Return what scripted agents do: a step towards what is worth most, along the longer way first."""
    way = targets[:, None] - agents[:, :, None]
    best = aims(agents, targets, stags).targets
    d = way.gather(2, best[..., None, None].expand(-1, -1, 1, 2)).squeeze(2)
    rows = d[..., 0].abs() >= d[..., 1].abs()
    along = torch.where(rows, torch.where(d[..., 0] < 0, 1, 2), torch.where(d[..., 1] < 0, 3, 4))
    return torch.where((d == 0).all(-1), 0, along)


class Aims(NamedTuple):
    """What scripted agents go for.

    Attributes:
        targets: (b, a) indices of what is worth most to each.
        partners: (b, a) indices of the other agent that is nearest to that; it is looked at for stags only.
    """

    targets: Int[Tensor, "b a"]
    partners: Int[Tensor, "b a"]


def aims(agents: Int[Tensor, "b a 2"], targets: Int[Tensor, "b m 2"], stags: Bool[Tensor, " m"]) -> Aims:
    """Return what is worth most to each scripted agent, and who is counted on there."""
    far = (targets[:, None] - agents[:, :, None]).abs().sum(-1).double()
    own = torch.eye(far.shape[1], dtype=torch.bool)[..., None]
    others = torch.where(own, torch.inf, far[:, None])  # (b, agent, other, target)
    worth = torch.where(stags, 2.5 / (1 + torch.maximum(far, others.amin(2))), 1 / (1 + far))
    best = worth.argmax(-1)
    nearest = others.argmin(2)
    return Aims(best, nearest.gather(2, best[..., None]).squeeze(2))
