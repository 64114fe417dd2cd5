"""Settings of the dilemmas, and what they make of the worlds."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from claimlab import Positive, Preset, Share, check_limits
from mechlearn_zoo.experiments.worlds.social_dilemmas.dilemmas import Cleanup, Harvest, World

ARMS = ("none", "influence", "alone", "surprise")
"""What messages are paid for: the reward; the reward and influence; influence alone; the reward and their surprise."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of initial weights, worlds and actions."""
    agents: Annotated[int, Ge(2)] = 3
    """In each world; each has weights of its own."""
    view: Annotated[int, Ge(1)] = 3
    """Cells that an agent sees to each side."""
    harvest_height: Annotated[int, Ge(3)] = 12
    """Rows of Harvest, walls included."""
    harvest_width: Annotated[int, Ge(3)] = 17
    """Columns of Harvest, walls included."""
    patch: Annotated[int, Ge(1)] = 1
    """How far a patch of apples goes from its middle."""
    cleanup_height: Annotated[int, Ge(3)] = 7
    """Rows of Cleanup, walls included."""
    cleanup_width: Annotated[int, Ge(5)] = 9
    """Columns of Cleanup, walls included."""
    river: Annotated[int, Ge(1)] = 3
    """Columns of the river, and of the orchard."""
    waste: Share = 0.5
    """Probability in a step that a cell of the river gets waste."""
    apples: Share = 0.05
    """Probability in a step that an apple grows by a clean river."""
    episode: Annotated[int, Ge(1)] = 100
    """Steps of an episode, a multiple of `horizon`."""
    symbols: Annotated[int, Ge(2)] = 4
    """That an agent can say."""
    hidden: Annotated[int, Ge(1)] = 48
    """Units of each of the two hidden layers."""
    worlds: Annotated[int, Ge(1)] = 16
    """Side by side, for each arm."""
    horizon: Annotated[int, Ge(1)] = 20
    """Steps of all worlds between two steps of the optimiser."""
    updates: Annotated[int, Ge(1)] = 960
    """Steps of the optimiser."""
    learning_rate: Positive = 4e-3
    """Adam's; it falls to 0 in a straight line."""
    discount: Share = 0.97
    """Of rewards in a step."""
    trace: Share = 0.95
    """Lambda of generalised advantages."""
    entropy: Annotated[float, Ge(0)] = 0.01
    """Weight of the entropy of actions, and of messages."""
    norm: Positive = 1.0
    """Each agent's gradient is cut to this norm."""
    beta: Annotated[float, Ge(0)] = 2.0
    """Weight of influence, or surprise; it rises from 0 in a straight line over the first quarter of the updates."""
    tested: Annotated[int, Ge(1)] = 32
    """Fresh worlds that are played at the end, a whole episode each; scripted and random agents play as many."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.episode % self.horizon:
            raise ValueError(
                f"episode should be a multiple of horizon: worlds begin anew between steps of the optimiser. Found "
                f"{self.episode} and {self.horizon}."
            )
        worlds(self)  # which refuses sizes that do not fit


def worlds(config: Config) -> dict[str, World]:
    """Return both worlds."""
    n, view = config.agents, config.view
    harvest = Harvest(config.harvest_height, config.harvest_width, n, view, config.patch)
    sizes = (config.cleanup_height, config.cleanup_width, n, view, config.river)
    return {"harvest": harvest, "cleanup": Cleanup(*sizes, waste=config.waste, apples=config.apples)}


PRESETS = {
    "quick": Preset(Config(), seeds=6, tolerance=5e-2),
    "paper": Preset(
        Config(
            agents=5, view=7, harvest_height=16, harvest_width=38, cleanup_height=25, cleanup_width=18, river=5, waste=0.5,
            apples=0.05, episode=1000, hidden=128, updates=100_000, horizon=50, learning_rate=5e-4, discount=0.99, tested=10,
        ),
        seeds=5,
        tolerance=5e-2,
    ),
}  # fmt: skip
