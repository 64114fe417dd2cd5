"""One step of a hunt as a row: where all stand, what a model's edges weigh, and what the script looks at."""

from torch import Tensor

from claimlab import Row
from mechlearn_zoo.experiments.worlds.forward_models.stag_hunt import Play, aims
from mechlearn_zoo.nn.graphs import edge_norms

AT = 3
"""The step that is drawn, the fourth: later on most agents stand on one place, and lines between them have no length."""


def board(edges: Tensor, play: Play) -> Row:
    """Return the first hunt at one step, numbers as words so that a row stays flat and small.

    Args:
        edges: (b, t, m, width) of a relational model, in the order of `mechlearn_zoo.nn.graphs.edges_to`: receiver by receiver.
        play: (b, t, ...) the hunts that it read.

    Returns:
        ``places`` row and column of agents, then of targets; ``stags`` 0 or 1 a target; ``norms`` one an edge; ``aims`` and
        ``partners`` one an agent: the target it goes for, and the agent it counts on there.
    """
    agents, at = play.actions.shape[2], min(AT, play.actions.shape[1] - 1)
    places = play.places[:1, at]
    found = aims(places[:, :agents], places[:, agents:], play.stags)
    return {
        "kind": "board",
        "agents": agents,
        "places": words(places),
        "stags": words(play.stags.long()),
        "norms": " ".join(f"{norm:.3f}" for norm in edge_norms(edges[0, at]).tolist()),
        "aims": words(found.targets),
        "partners": words(found.partners),
    }


def words(numbers: Tensor) -> str:
    """Return whole numbers in one row of text."""
    return " ".join(str(number) for number in numbers.flatten().tolist())
