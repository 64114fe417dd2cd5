"""`SkipForecaster`: a dynamics model that predicts the frames that are easy to predict (thesis chapter 2)."""
# scikit-learn and scipy have no stubs
# pyright: reportMissingTypeStubs=false

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from craik.arguments import check_positive, check_whole
from craik.estimators.tables import Numbers, Scaling
from craik.losses import SquaredError
from craik.nn.perceptrons import relu_mlp
from craik.schedules import Linear
from craik.skips import Dynamics, Greedy, match
from craik.trajectories import Trajectories


class SkipForecaster(BaseEstimator):
    """Learn from trajectories; predict frames to come, each step as far ahead as is easy.

    Args:
        hidden: units of the one hidden layer; the network predicts the change of a standardised frame.
        horizon: how many frames ahead a step may be matched; 1 is one-step prediction.
        exploration: share of the training steps in which random matches give way to the best ones.
        steps: training steps.
        batch_size: pieces of trajectories in a step.
        window: frames of a piece.
        learning_rate: of Adam.
        random_state: of initial weights, batches and matches.

    Attributes:
        mean_skip_: how many frames a step of the model skips, on the training pieces, at the end.
        history_: loss of each training step.
    """

    def __init__(  # scikit-learn: a constructor takes anything, fit refuses it
        self,
        *,
        hidden: Any = 32,  # noqa: ANN401
        horizon: Any = 5,  # noqa: ANN401
        exploration: Any = 0.3,  # noqa: ANN401
        steps: Any = 200,  # noqa: ANN401
        batch_size: Any = 16,  # noqa: ANN401
        window: Any = 16,  # noqa: ANN401
        learning_rate: Any = 0.01,  # noqa: ANN401
        random_state: Any = None,  # noqa: ANN401
    ) -> None:
        self.hidden = hidden
        self.horizon = horizon
        self.exploration = exploration
        self.steps = steps
        self.batch_size = batch_size
        self.window = window
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> "SkipForecaster":  # noqa: ANN401, N803
        """Train on trajectories: a list of (T, D) arrays, an array (n, T, D), `Trajectories`, or one (T, D) array.

        Raises:
            TypeError, ValueError: trajectories or settings that cannot be.
        """
        del y  # scikit-learn's signature
        self._check_settings()
        listed = self._listed(X)
        generator = torch.Generator().manual_seed(int(check_random_state(self.random_state).randint(2**31 - 1)))
        self._scaling = Scaling.of(np.concatenate(listed))
        pieces = [torch.tensor(self._scaling.applied(one), dtype=torch.float32) for one in listed]
        network = relu_mlp((pieces[0].shape[1], self.hidden, pieces[0].shape[1]), generator)
        with torch.no_grad():  # starts as standing still
            for parameter in network[-1].parameters():
                parameter.zero_()
        self.history_, self.mean_skip_ = self._train(network, pieces, generator)
        self.weights_ = [parameter.detach().double().numpy() for parameter in network.parameters()]
        return self

    def _check_settings(self) -> None:
        for name, least in (("hidden", 1), ("horizon", 1), ("steps", 1), ("batch_size", 1), ("window", 2)):
            check_whole(name, getattr(self, name), least)
        check_positive("learning_rate", self.learning_rate)

    def _train(self, network: nn.Sequential, pieces: Sequence[Tensor], generator: torch.Generator) -> tuple[list[float], float]:
        optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)
        explored = max(1, round(self.exploration * self.steps))
        falls = Linear(explored)
        history, skips = [], 1.0

        def changed(frames: Tensor) -> Tensor:
            return frames + network(frames)

        for step in range(self.steps):
            batch = self._drawn(pieces, generator)
            matching = Greedy(self.horizon, exploration=falls(step) if self.horizon > 1 else 0.0)
            # True frames are fed throughout: predictions of an untrained model would leave the data.
            matched = match(Dynamics(changed, SquaredError()), batch, matching, generator=generator)
            optimizer.zero_grad()
            matched.loss.backward()
            optimizer.step()
            history.append(float(matched.loss.detach()))
            skips = float(matched.skips.sum() / matched.steps.sum())
        return history, skips

    def _drawn(self, pieces: Sequence[Tensor], generator: torch.Generator) -> Trajectories:
        longest = torch.tensor([float(len(piece)) for piece in pieces])
        chosen = torch.multinomial(longest, self.batch_size, replacement=True, generator=generator).tolist()
        drawn: list[Tensor] = []
        for index in chosen:
            piece = pieces[index]
            last = max(1, len(piece) - self.window + 1)
            start = int(torch.randint(last, (), generator=generator))
            drawn.append(piece[start : start + self.window])
        return Trajectories.from_list(drawn)

    def _listed(self, X: Any) -> list[Numbers]:  # noqa: ANN401, N803
        listed: Any = [one.double().numpy() * X.scale for one in X.to_list()] if isinstance(X, Trajectories) else X
        # A matrix, or a list of frames, is one trajectory.
        one = np.ndim(listed[0]) == 1 if isinstance(listed, list | tuple) and len(listed) else np.ndim(listed) != 3
        found = [self._checked(listed)] if one else [self._checked(piece, reset=i == 0) for i, piece in enumerate(listed)]
        if not found:
            raise ValueError("There should be a trajectory to learn from. Found none.")
        return found

    def _checked(self, rows: Any, reset: bool = True) -> Numbers:  # noqa: ANN401
        return cast(Numbers, validate_data(self, rows, dtype=np.float64, ensure_min_samples=2, reset=reset))

    def predict(self, X: Any, n_steps: int = 1) -> NDArray[np.float64]:  # noqa: ANN401, N803
        """Return (n, n_steps, D): where the model's own steps lead from first frames (n, D); each skips as it has learned to.

        Raises:
            TypeError, ValueError: frames of another size, or steps that are no whole number.
        """
        check_is_fitted(self)
        check_whole("n_steps", n_steps, 1)
        frames = self._scaling.applied(cast(Numbers, validate_data(self, X, reset=False, dtype=np.float64)))
        first, bias, second, offset = self.weights_
        found: list[Numbers] = []
        for _ in range(n_steps):
            frames = frames + np.maximum(frames @ first.T + bias, 0) @ second.T + offset
            found.append(frames * self._scaling.spread + self._scaling.mean)
        return np.stack(found, 1)
