"""A model of others: what each of the other agents does next, for the counterfactuals of `influence`.

Jaques et al. 2019 (https://arxiv.org/abs/1810.08647, section 4). Index conventions: B episodes, T steps, N agents of which the
first looks, K actions of each.
"""

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from mechlearn.arguments import check_all_finite, check_floats, check_generator, check_ids, check_result, check_whole
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.nn.graphs import gated


class ModelOfOthers(nn.Module):
    """An LSTM that predicts what each other agent does next, from what one agent sees and what all did (section 4).

    Args:
        features: numbers of what the agent sees in a step.
        agents: of all; the first one is the agent itself.
        actions: that each can take.
        hidden: units of the LSTM.
        generator: of the initial weights.

    Raises:
        TypeError: no whole numbers, no generator.
        ValueError: fewer than two agents or actions.
    """

    def __init__(self, features: int, agents: int, actions: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        check_whole("features", features)
        check_whole("agents", agents, least=2, why="there is somebody to influence")
        check_whole("actions", actions, least=2)
        check_whole("hidden", hidden, least=1)
        check_generator("generator", generator)
        self.agents, self.actions, self.hidden = agents, actions, hidden
        self.seen = gated(features + agents * actions, 4 * hidden, hidden, generator)
        self.again = gated(hidden, 4 * hidden, hidden, generator)
        self.head = linear(hidden, (agents - 1) * actions, "default", generator)

    def forward(self, features: Float[Tensor, "b t f"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, "b t n1 k"]:
        """Return log-probabilities of the others' actions at the next step, (B, T, N - 1, K).

        Raises:
            TypeError: features of another type than the weights, actions that are no whole numbers.
            ValueError: shapes that do not fit, actions out of range, features that are not finite: the LSTM would keep them.
        """
        states = self._states(features, actions)
        return self._answers(torch.stack([h for h, _ in states[1:]], 1))

    def counterfactuals(self, features: Float[Tensor, "b t f"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, "b t n1 k k2"]:
        """Return the same for every action that the first agent might have taken, (B, T, N - 1, K, K), its own second to last.

        Only the step itself is imagined; what went before is as it was. Raises as `forward` does.
        """
        states = self._states(features, actions)
        h, c = (torch.stack([state[part] for state in states[:-1]], 1).unsqueeze(2) for part in (0, 1))
        k = self.actions
        imagined = actions[:, :, None].expand(-1, -1, k, -1).clone()
        imagined[..., 0] = torch.arange(k, device=actions.device)
        x = self._inputs(features[:, :, None].expand(-1, -1, k, -1), imagined)
        after, _ = self._cell(x, h.expand(-1, -1, k, -1), c.expand(-1, -1, k, -1))
        return self._answers(after).transpose(2, 3)

    def _states(self, features: Tensor, actions: Tensor) -> list[tuple[Tensor, Tensor]]:
        width = self.seen.in_features - self.agents * self.actions
        check_floats("features", features, "B", "T", width, like=self.seen.weight)
        way_out = "An action for each agent. The first agent is the one that looks."
        check_ids("actions", actions, *features.shape[:2], self.agents, count=self.actions, way_out=way_out)
        check_all_finite("features", features, way_out="Leave such episodes out.")
        x = self._inputs(features, actions)
        zero = x.new_zeros(len(x), self.hidden)
        states = [(zero, zero)]
        for t in range(x.shape[1]):
            states.append(self._cell(x[:, t], *states[-1]))
        return states

    def _inputs(self, features: Tensor, actions: Tensor) -> Tensor:
        return torch.cat([features, one_hot(actions.long(), self.actions).flatten(-2).to(features)], -1)

    def _cell(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        # torch.nn.LSTMCell's equations and order of gates.
        i, f, g, o = (self.seen(x) + self.again(h)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def _answers(self, h: Tensor) -> Tensor:
        return self.head(h).unflatten(-1, (self.agents - 1, self.actions)).log_softmax(-1)


def others_losses(predicted: Float[Tensor, "b t n1 k"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, " b"]:
    """Return each episode's mean cross-entropy of what the others did next; the last prediction has no answer.

    Args:
        predicted: of `ModelOfOthers`.
        actions: (B, T, N) what all did, the agent itself first.

    Raises:
        TypeError: no floating numbers, actions that are no whole ones.
        ValueError: shapes that do not fit, a single step, actions out of range, a loss that is not finite.
    """
    check_floats("predicted", predicted, "B", "T", "others", "K")
    check_ids("actions", actions, "B", "T", "N", count=predicted.shape[-1])
    if predicted.shape[:3] != (*actions.shape[:2], actions.shape[2] - 1) or actions.shape[1] < 2:
        raise ValueError(
            "`predicted` should be (B, T, N - 1, K) for actions (B, T, N) with two steps or more. Found "
            f"{tuple(predicted.shape)} and {tuple(actions.shape)}."
        )
    found = predicted[:, :-1].gather(-1, actions.long()[:, 1:, 1:, None]).squeeze(-1)
    check_result(found.mean((1, 2)), {"predicted": predicted}, way_out="Allow every action that was taken.")
    return -found.mean((1, 2))
