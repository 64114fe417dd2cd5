"""`SkipForecaster`: a dynamics model that predicts the frames that are easy to predict (thesis chapter 2)."""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor, nn

from mechlearn.arguments import check_one_of, check_positive, check_share, check_whole
from mechlearn.losses import SquaredError
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.schedules import Linear
from mechlearn.skips import Dynamics, Fixed, Greedy, Matched, Matching, displacement, match
from mechlearn.tables.fitting import threads
from mechlearn.tables.reading_in import Numbers, Scaling
from mechlearn.trajectories import Trajectories


class SkipForecaster(BaseEstimator):
    """Learn from trajectories; predict frames to come, each step as far ahead as is easy.

    Args:
        hidden: units of the one hidden layer; the network predicts the change of a standardised frame.
        horizon: how many frames ahead a step may be matched, below `window`; 1 is one-step prediction.
        matching: "greedy", the frame that a prediction fits best (thesis algorithm 1); "relative", the one that it fits best
            for how far states move in that time (ours); "fixed", always `horizon` frames ahead: frames of a piece that are left
            over behind its last whole step are not matched.
        exploration: share of the training steps in which random matches give way to the best ones, where it is greedy.
        sampling: share of the training steps in which true frames give way to the model's own predictions as what it goes on
            from; 0 feeds true frames throughout.
        steps: training steps.
        batch_size: pieces of trajectories in a step.
        evaluations: of the model in a training step, on average, whatever the skips: long skips then see more pieces. None:
            `batch_size` pieces.
        window: frames of a piece.
        learning_rate: of Adam.
        random_state: of initial weights, batches and matches.
        device: where to train; prediction is numpy's.
        n_jobs: threads; None as torch has it, -1 for all cores.

    Attributes:
        mean_skip_: how many frames a step of the model skips, on the training pieces of the last twentieth of its steps.
        evaluations_: of the model in training.
        history_: loss of each training step.
        scaling_: mean and spread of each feature, by which frames are standardised.
    """

    def __init__(  # scikit-learn: a constructor takes anything, fit refuses it
        self,
        *,
        hidden: Any = 32,  # noqa: ANN401
        horizon: Any = 5,  # noqa: ANN401
        matching: Any = "greedy",  # noqa: ANN401
        exploration: Any = 0.3,  # noqa: ANN401
        sampling: Any = 0.0,  # noqa: ANN401
        steps: Any = 200,  # noqa: ANN401
        batch_size: Any = 16,  # noqa: ANN401
        evaluations: Any = None,  # noqa: ANN401
        window: Any = 16,  # noqa: ANN401
        learning_rate: Any = 0.01,  # noqa: ANN401
        random_state: Any = None,  # noqa: ANN401
        device: Any = "cpu",  # noqa: ANN401
        n_jobs: Any = None,  # noqa: ANN401
    ) -> None:
        self.hidden = hidden
        self.horizon = horizon
        self.matching = matching
        self.exploration = exploration
        self.sampling = sampling
        self.steps = steps
        self.batch_size = batch_size
        self.evaluations = evaluations
        self.window = window
        self.learning_rate = learning_rate
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> "SkipForecaster":  # noqa: ANN401, N803
        """Train on trajectories: a list of (T, D) arrays, an array (n, T, D), `Trajectories`, or one (T, D) array.

        Raises:
            TypeError, ValueError: trajectories or settings that cannot be.
        """
        del y  # scikit-learn's signature
        self._check_settings()
        listed = self._listed(X)
        longest = max(len(one) for one in listed)
        if self.matching == "fixed" and longest <= self.horizon:
            raise ValueError(
                f"Some trajectory should have more than horizon = {self.horizon} frames where steps are fixed. Found {longest} "
                "at most. Shorten the horizon, or record longer."
            )
        generator = torch.Generator().manual_seed(int(check_random_state(self.random_state).randint(2**31 - 1)))
        self.scaling_ = Scaling.of(np.concatenate(listed))
        pieces = [torch.tensor(self.scaling_.applied(one), dtype=torch.float32, device=self.device) for one in listed]
        network = relu_mlp((pieces[0].shape[1], self.hidden, pieces[0].shape[1]), generator).to(self.device)
        with torch.no_grad():  # starts as standing still
            for parameter in network[-1].parameters():
                parameter.zero_()
        with threads(self.n_jobs):
            self.history_ = self._train(network, pieces, generator)
        self._keep(network)
        return self

    def _keep(self, network: nn.Sequential) -> None:
        self.weights_ = [parameter.detach().double().cpu().numpy() for parameter in network.parameters()]

    def _passed(self, step: int, network: nn.Sequential, matched: Matched) -> None:
        """Called after each training step; a comparison of forecasters looks here."""

    def _check_settings(self) -> None:
        for name, least in (("hidden", 1), ("horizon", 1), ("steps", 1), ("batch_size", 1), ("window", 2)):
            check_whole(name, getattr(self, name), least)
        if self.evaluations is not None:
            check_whole("evaluations", self.evaluations, 1)
        check_one_of("matching", self.matching, ("greedy", "relative", "fixed"))
        check_share("exploration", self.exploration)
        check_share("sampling", self.sampling)
        check_positive("learning_rate", self.learning_rate)
        if self.horizon >= self.window:
            raise ValueError(
                f"`horizon` should be below `window`, as no frame of a piece is farther ahead. Found horizon = {self.horizon} "
                f"and window = {self.window}. Shorten the horizon, or widen the window."
            )

    def _matching(self, pieces: Sequence[Tensor]) -> Callable[[int], Matching]:
        """Return how frames are matched at a training step."""
        if self.matching == "fixed":
            # Whole steps only: a shorter one at a piece's end would be trained as if it were of this length.
            return lambda step: Fixed(self.horizon, last="drop")
        explored = round(self.exploration * self.steps) if self.horizon > 1 and self.matching == "greedy" else 0
        falls = Linear(explored) if explored else None
        scale = displacement(Trajectories.from_list(pieces), self.horizon) if self.matching == "relative" else None
        return lambda step: Greedy(self.horizon, falls(step) if falls else 0.0, scale)

    def _train(self, network: nn.Sequential, pieces: Sequence[Tensor], generator: torch.Generator) -> list[float]:
        optimizer = torch.optim.Adam(network.parameters(), self.learning_rate)
        matching, sampled = self._matching(pieces), round(self.sampling * self.steps)
        forcing = Linear(sampled) if sampled else None

        def changed(frames: Tensor) -> Tensor:
            return frames + network(frames)

        # No gradient flows from one step of a roll-out to the one before.
        dynamics = Dynamics(changed, SquaredError(), feedback=torch.detach)
        history: list[float] = []
        spent = seen = last_skips = last_steps = 0
        for step in range(self.steps):
            each = spent / seen if seen else float(self.window - 1)  # evaluations of the model for a piece
            count = self.batch_size if self.evaluations is None else max(1, round(self.evaluations / each))
            batch = self._drawn(pieces, count, generator)
            forced = 1.0 if forcing is None else forcing(step)
            matched = match(dynamics, batch, matching(step), teacher_forcing=forced, generator=generator)
            optimizer.zero_grad()
            matched.loss.backward()
            optimizer.step()
            history.append(float(matched.loss.detach()))
            spent, seen = spent + matched.evaluations, seen + count
            if step >= 0.95 * (self.steps - 1):
                last_skips, last_steps = last_skips + int(matched.skips.sum()), last_steps + int(matched.steps.sum())
            self._passed(step, network, matched)
        self.mean_skip_, self.evaluations_ = last_skips / last_steps, spent
        return history

    def _drawn(self, pieces: Sequence[Tensor], count: int, generator: torch.Generator) -> Trajectories:
        least = self.horizon if self.matching == "fixed" else 0  # where steps are fixed, others have none
        longest = torch.tensor([float(len(piece)) if len(piece) > least else 0.0 for piece in pieces])
        chosen = torch.multinomial(longest, count, replacement=True, generator=generator).tolist()
        drawn: list[Tensor] = []
        for index in chosen:
            piece = pieces[index]
            last = max(1, len(piece) - self.window + 1)
            start = int(torch.randint(last, (), generator=generator))
            drawn.append(piece[start : start + self.window])
        return Trajectories.from_list(drawn)

    def _listed(self, X: Any) -> list[Numbers]:  # noqa: ANN401, N803
        listed: Any = (
            [one.double().cpu().numpy() * X.scale for one in X.to_list()] if isinstance(X, Trajectories) else _as_list(X)
        )
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
        frames = self.scaling_.applied(cast(Numbers, validate_data(self, X, reset=False, dtype=np.float64)))
        first, bias, second, offset = self.weights_
        found: list[Numbers] = []
        for _ in range(n_steps):
            frames = frames + np.maximum(frames @ first.T + bias, 0) @ second.T + offset
            found.append(frames * self.scaling_.spread + self.scaling_.mean)
        return np.stack(found, 1)


def _as_list(given: Any) -> Any:  # noqa: ANN401
    """Return trajectories in an array of objects as a list, anything else as it is; refuse mappings, sets and generators."""
    if isinstance(given, np.ndarray) and given.dtype.kind == "O" and given.ndim == 1 and any(np.ndim(one) for one in given):
        return list(given)
    if isinstance(given, Mapping | Set | Iterator) and not issparse(given):  # a sparse dictionary's refusal is scikit-learn's
        raise TypeError(
            f"Trajectories should be a list of (T, D) arrays, an array (n, T, D) or `Trajectories`. Found "
            f"{type(given).__name__}. Put the trajectories into a list."
        )
    return given
