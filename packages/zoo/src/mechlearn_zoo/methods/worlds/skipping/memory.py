"""`SkippingRNN`: an M that says how far it jumped."""

from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_finite, check_flag, check_whole
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN


class SkippingRNN(MixtureRNN):
    """M that says how far it jumped: an LSTM over [z, actions], a mixture of some coming z, a categorical over 1..H.

    Args:
        latent: l.
        action: numbers of all the actions that it is shown at a frame: with ``Actions(values, window=w)``, w times one's own.
        hidden: units.
        mixtures: K.
        horizon: H.
        generator: of the initial weights; those of a MixtureRNN come first, and are the same.
        rewards: whether the sum of the rewards passed over is predicted.
        least_log_scale: the log scales' floor.

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
        ValueError: sizes below 1, or a floor that is not finite.
    """

    def __init__(
        self,
        latent: int,
        action: int,
        hidden: int,
        mixtures: int,
        horizon: int,
        generator: Generator,
        rewards: bool = False,
        least_log_scale: float = -3.0,
    ) -> None:
        check_whole("horizon", horizon, 1)
        check_flag("rewards", rewards)
        check_finite("least_log_scale", least_log_scale)
        super().__init__(latent, action, hidden, mixtures, False, generator)
        self.horizon, self.mixtures = horizon, mixtures
        self.head.least_log_scale = float(least_log_scale)
        self.jump = linear(hidden, horizon, "default", generator)
        self.reward = linear(hidden, 1, "default", generator) if rewards else None

    def jumps(self, shown: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch H"]:
        """Return logits of jumps 1..H after a step, from ``state.shown``."""
        return self.jump(shown)

    def rewarded(self, shown: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch"] | None:
        """Return the predicted sum of the rewards of a jump; None where M does not predict them."""
        return None if self.reward is None else self.reward(shown).squeeze(-1)
