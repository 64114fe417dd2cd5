"""World Models: a memory M that predicts the next latent frame as a mixture density (Ha and Schmidhuber 2018).

V is `mechlearn_zoo.nn.autoencoders.ConvVAE`, with its loss `vae_loss`; M is here; C is in `evolving`, M's dream in `dreaming`.
V and M learn
from episodes of a random policy, without reward. Index convention: b an episode, t a step, l a dimension of the latent z, k a
component. Frame t + 1 follows action t: ``z[:, t], a[:, t] -> z[:, t + 1], ends[:, t]``.

Use it where a simulator is slow, or where there is only a log. Not where what matters is small in the picture: V is paid for
pixels, and what it does not encode neither M nor C can see. Measure the share of the frames' energy that V loses
(`energy_lost`) before you go on. And compare with an untrained M: a random recurrent network remembers, too.
"""

from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from mechlearn.arguments import (
    check_all_finite,
    check_data,
    check_flag,
    check_floats,
    check_kind,
    check_mask,
    check_not_negative,
    check_result,
    check_whole,
)
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.nn.autoencoders import ConvVAE
from mechlearn_zoo.nn.mixtures import Mixture, MixtureHead, mixture_log_prob
from mechlearn_zoo.nn.recurrent import Recurrent, at_rest, check_state, lstm, stepped

PAPER = Paper(
    "World Models",
    2018,
    "Ha and Schmidhuber, section 2",
    "https://arxiv.org/abs/1809.01999",
    "V and M are trained once, without reward",
)


class Predicted(NamedTuple):
    """What M says of the next frame.

    Attributes:
        mixture: (..., l, K), a mixture for each dimension of z.
        ends: (...,) logits that the episode is over; None where M does not predict it.
        state: the LSTM's, for the step after; ``state.shown`` is the h that C sees.
    """

    mixture: Mixture
    ends: Tensor | None
    state: Recurrent


class MixtureRNN(nn.Module):
    """M: an LSTM over [z_t, a_t], and from its h_{t+1} a mixture density of z_{t+1} and the end's logit.

    Args:
        latent: l, dimensions of z.
        action: numbers of an action; a discrete one is one-hot.
        hidden: units; 256 for CarRacing and 512 for Doom in the published code.
        mixtures: K; 5 in the published code.
        ends: whether the episode's end is predicted.
        generator: of the initial weights.

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
        ValueError: sizes below 1.
    """

    def __init__(self, latent: int, action: int, hidden: int, mixtures: int, ends: bool, generator: Generator) -> None:
        super().__init__()
        for name, size in {"latent": latent, "action": action, "hidden": hidden, "mixtures": mixtures}.items():
            check_whole(name, size, 1)  # all before a weight is drawn
        check_flag("ends", ends)
        self.latent, self.action, self.hidden = latent, action, hidden
        self.layer = lstm(latent + action, hidden, generator)
        self.head = MixtureHead(hidden, latent, mixtures, generator)
        self.ending = linear(hidden, 1, "default", generator) if ends else None

    def at_rest(self, *batch: int) -> Recurrent:
        """Return the state before an episode's first frame."""
        return at_rest(self.layer, *batch)

    def forward(self, z: Float[Tensor, "..."], a: Float[Tensor, "..."], state: Recurrent | None = None) -> Predicted:
        """Return the predictions after each frame of a batch of episodes, and the state after the last.

        Args:
            z: (b, t, l) latents.
            a: (b, t, a) actions taken at them.
            state: (b, hidden) from before; at rest if None.

        Raises:
            TypeError: what is no tensor of the weights' type, or no state.
            ValueError: another width of latents or actions, different numbers of them, or some that are not finite: the state
                would not forget them.
        """
        check_floats("z", z, "b", "t", self.latent, like=self._weight)
        rows = "One row for each frame, one-hot where actions are discrete."
        check_floats("a", a, len(z), z.shape[1], self.action, like=self._weight, way_out=rows)
        check_all_finite("z", z, way_out="Leave such episodes out.")
        check_all_finite("a", a, way_out="Leave such episodes out.")
        before = self.at_rest(len(z)) if state is None else state
        check_state(self.layer, before, len(z))
        shown, (last, kept) = self.layer(torch.cat((z, a), -1), (before.shown.unsqueeze(0), before.kept.unsqueeze(0)))
        return self._read(shown, Recurrent(last.squeeze(0), kept.squeeze(0)))

    def step(self, z: Float[Tensor, "*batch l"], a: Float[Tensor, "*batch a"], state: Recurrent) -> Predicted:
        """Return the prediction after one frame, any leading dimensions; raises as `remember`."""
        after = self.remember(z, a, state)
        return self._read(after.shown, after)

    def remember(self, z: Float[Tensor, "*batch l"], a: Float[Tensor, "*batch a"], state: Recurrent) -> Recurrent:
        """Return the state after one frame, without a prediction: what C needs in the world.

        Raises:
            TypeError: what is no tensor of the weights' type, or no state.
            ValueError: other shapes. Values are not looked at in every step: worlds look at the actions that they are given.
        """
        check_floats("z", z, "...", self.latent, like=self._weight)
        check_floats("a", a, *z.shape[:-1], self.action, like=self._weight)
        check_state(self.layer, state, *z.shape[:-1])
        return stepped(self.layer, torch.cat((z, a), -1), state)

    @property
    def _weight(self) -> Tensor:
        return cast(Tensor, self.layer.weight_hh_l0)

    def _read(self, shown: Tensor, state: Recurrent) -> Predicted:
        ends = None if self.ending is None else self.ending(shown).squeeze(-1)
        return Predicted(self.head(shown), ends, state)


def memory_loss(
    predicted: Predicted, following: Float[Tensor, "..."], ended: Bool[Tensor, "..."] | None = None, end_weight: float = 10.0
) -> Float[Tensor, "..."]:
    """Return each step's loss: minus the mean over dimensions of log p(z_{t+1}), plus the end's weighted cross-entropy.

    Mask what lies behind an episode's end before the mean is taken. Sample z and `following` afresh from V's distributions in
    every step of training, so that M does not overfit V's means.

    Args:
        predicted: by M.
        following: the latents that came.
        ended: True where the episode was over after this step; needed where M predicts ends.
        end_weight: weight of the cross-entropy where the episode ends; 10 in the published code.

    Raises:
        TypeError: a weight that is no number, no predictions, ends that are no booleans.
        ValueError: latents of another shape; ends without predictions of them, or predictions without ends; a loss that is not
            finite: behind an episode's end, too, as its gradient would be NaN whatever is masked.
    """
    check_kind("predicted", predicted, Predicted, "what MixtureRNN predicted")
    check_floats("means", predicted.mixture.means, "...", "l", "K")
    check_floats("following", following, *predicted.mixture.means.shape[:-1], way_out="z[:, 1:] follows z[:, :-1].")
    check_not_negative("end_weight", end_weight)
    likelihood = -mixture_log_prob(*predicted.mixture, following).mean(-1)
    if predicted.ends is None or ended is None:
        if predicted.ends is not None or ended is not None:
            found = "`ended` alone" if predicted.ends is None else "predictions alone"
            raise ValueError(
                f"Ends should be both predicted and given. Found {found}. Make M with ends=True and pass `ended`, or neither."
            )
        return _finite(likelihood, predicted, following)
    check_mask("ended", ended, *following.shape[:-1])
    check_floats("ends", predicted.ends, *following.shape[:-1])
    check_data("ends", predicted.ends)
    entropy = binary_cross_entropy_with_logits(predicted.ends, ended.to(following.dtype), reduction="none")
    return _finite(likelihood + entropy * torch.where(ended, end_weight, 1.0), predicted, following)


def _finite(losses: Tensor, predicted: Predicted, following: Tensor) -> Tensor:
    found = {"following": following, **predicted.mixture._asdict()}
    ends = {} if predicted.ends is None else {"ends": predicted.ends}
    check_result(losses, found | ends, way_out="Lower the learning rate, or clip gradients.")
    return losses


@torch.no_grad()
def energy_lost(vision: ConvVAE, frames: Float[Tensor, "b c h w"]) -> float:
    """Return the share of the frames' energy that V loses: sum (x - x^)^2 / sum (x - mean x)^2, with x^ of the latents' means.

    1 is what a constant picture scores. Above a fifth, small things are likely not in z: raise `reconstruction`.

    Raises:
        TypeError: no V, no frames.
        ValueError: frames that V cannot encode, or that are all the same.
    """
    check_kind("vision", vision, ConvVAE, "a ConvVAE")
    rebuilt = vision.decode(vision.encode(frames).mean)
    energy = (frames - frames.mean(0)).square().sum()
    if not float(energy) > 0:
        raise ValueError("`frames` should vary, for there to be energy. Found the same frame everywhere. Take more of them.")
    return float((frames - rebuilt).square().sum() / energy)


def check_scale(scale: object, latent: int, like: Tensor) -> None:
    """Reject what no latent like a tensor can be divided by."""
    check_floats("scale", scale, latent, like=like, way_out="One number for each dimension of z.")
    if isinstance(scale, Tensor):
        check_all_finite("scale", scale)
        if not bool((scale > 0).all()):
            raise ValueError(f"`scale` should be positive. Found {float(scale.min()):g}. Clamp standard deviations to 1e-3.")


def check_actions(actions: object, over: Bool[Tensor, "p e"], width: int | None, like: Tensor) -> None:
    """Reject actions that are not of a population's episodes, or not finite: before anything is drawn or remembered."""
    check_floats("actions", actions, *over.shape, "a" if width is None else width, like=like)
    if isinstance(actions, Tensor):
        check_all_finite("actions", actions, way_out="Clamp what the policy gives.")
