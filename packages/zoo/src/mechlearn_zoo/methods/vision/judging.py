"""AttnGAN's losses: what the discriminator of a stage and the generator pay, and the divergence of a sentence's condition.

Xu et al. 2018, https://arxiv.org/abs/1711.10485, equations 5 and 6, and F_ca's term. The stages themselves are in `generating`.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from mechlearn.arguments import check_floats, check_kind, check_result


class Augmented(NamedTuple):
    """A sentence's condition: a sample, and the normal distribution (b, c) it is drawn from."""

    condition: Float[Tensor, "b c"]
    mean: Float[Tensor, "b c"]
    log_var: Float[Tensor, "b c"]


def augmentation_divergence(augmented: Augmented) -> Float[Tensor, ""]:
    """Return the mean over the batch of KL(N(mean, var) || N(0, 1)), F_ca's term.

    Raises:
        TypeError: no `Augmented`, or none of floating numbers.
        ValueError: other shapes, a divergence that is not finite.
    """
    check_kind("augmented", augmented, Augmented, "an Augmented(condition, mean, log_var)")
    _, mean, log_var = augmented
    check_floats("mean", mean, "b", "c")
    check_floats("log_var", log_var, *mean.shape, like=mean)
    divergence = 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum(1).mean()
    check_result(divergence, {"mean": mean, "log_var": log_var}, way_out="Lower the learning rate.")
    return divergence


class Judged(NamedTuple):
    """A discriminator's logits (b,): of the picture alone, and of the picture with a caption."""

    alone: Float[Tensor, " b"]
    captioned: Float[Tensor, " b"]


def stage_discriminator_loss(real: Judged, made: Judged, wrong: Float[Tensor, " b"] | None = None) -> Float[Tensor, ""]:
    """Return a stage's loss for D: -1/2 E [log D(x) + log(1 - D(x^)) + log D(x, e) + log(1 - D(x^, e))] (equation 6).

    Args:
        real: logits of real pictures, with their captions.
        made: logits of made pictures, detached, with theirs.
        wrong: logits of real pictures with captions of others; the published code has this further term.

    Raises:
        TypeError: no `Judged`, or logits that are no floating numbers.
        ValueError: other shapes, a loss that is not finite.
    """
    logits = _logits("real", real) | _logits("made", made, len(real.alone))
    if wrong is not None:
        check_floats("wrong", wrong, "b")
        logits["wrong"] = wrong
    loss = (
        -0.5
        * (logsigmoid(real.alone) + logsigmoid(-made.alone) + logsigmoid(real.captioned) + logsigmoid(-made.captioned)).mean()
    )
    loss = loss if wrong is None else loss - 0.5 * logsigmoid(-wrong).mean()
    check_result(loss, logits, way_out="Lower the learning rate.")
    return loss


def stage_generator_loss(made: Judged) -> Float[Tensor, ""]:
    """Return a stage's loss for G: -1/2 E [log D(x^) + log D(x^, e)] (equation 5); raises as `stage_discriminator_loss`."""
    logits = _logits("made", made)
    loss = -0.5 * (logsigmoid(made.alone) + logsigmoid(made.captioned)).mean()
    check_result(loss, logits, way_out="Lower the learning rate.")
    return loss


def _logits(name: str, judged: Judged, count: int | str = "b") -> dict[str, Tensor]:
    """Return a discriminator's logits by name, when they have been found to be some."""
    check_kind(name, judged, Judged, "a Judged(alone, captioned)")
    check_floats(f"{name}.alone", judged.alone, count)
    check_floats(f"{name}.captioned", judged.captioned, len(judged.alone), like=judged.alone)
    return {f"{name}.{part}": logits for part, logits in judged._asdict().items()}
