"""The divergence of a student from a teacher that sees a privileged context, token by token."""

import math
import warnings

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import log_softmax

from mechlearn.arguments import check_all_finite, check_data, check_floats, check_mask, check_one_of, check_whole
from mechlearn.scaling import widened

KINDS = ("reverse", "forward", "jensen-shannon")


def privileged_divergence(
    student_logits: Float[Tensor, "..."],
    teacher_logits: Float[Tensor, "..."],
    mask: Bool[Tensor, "..."],
    kind: str = "reverse",
    *,
    top: int | None = None,
) -> Float[Tensor, "b t"]:
    """Return each token's divergence between student p and teacher q in nats, 0 where the mask is False.

    Add it up over tokens for one loss per completion: ``privileged_divergence(...).sum(-1)``. No gradient reaches the teacher.
    On-policy self-distillation takes the teacher's logits for the student's own samples.

    Args:
        student_logits: (B, T, V) before the softmax.
        teacher_logits: (B, T, V) for the same tokens, from the model that sees the context.
        mask: (B, T) True for tokens of the completion.
        kind: "reverse" is KL(p || q), "forward" is KL(q || p), "jensen-shannon" compares both with their mean.
        top: compare the teacher's most likely tokens, and all others as one; None compares the whole vocabulary.

    Raises:
        TypeError: if logits are not floats, or the mask is not boolean.
        ValueError: if shapes differ, the mask has no token, a teacher's logit within it is not finite, or `top` is not between
            1 and V - 1.
    """
    check_floats("student_logits", student_logits, "B", "T", "V")
    batch, tokens, words = student_logits.shape
    check_floats("teacher_logits", teacher_logits, batch, tokens, words, way_out="Use one vocabulary and the same tokens.")
    for name, logits in (("student_logits", student_logits), ("teacher_logits", teacher_logits)):
        check_data(name, logits)
    check_mask("mask", mask, batch, tokens)
    check_one_of("kind", kind, KINDS)
    if not bool(mask.any()):
        raise ValueError("`mask` should be True for at least one token. Found none. Leave out batches without a completion.")
    p, q = student_logits[mask], teacher_logits.detach()[mask]
    check_all_finite("teacher_logits", q, way_out="Pass the model's own logits, without a filter of samples.")
    log_p, log_q = log_softmax(widened(p), -1), log_softmax(widened(q), -1)
    if top is not None:
        check_whole("top", top, least=1)
        if top >= words:
            raise ValueError(f"`top` should be below the vocabulary's size {words}. Found {top}. Pass None to compare all.")
        best = q.topk(top, -1).indices
        log_p, log_q = _with_rest(log_p, best), _with_rest(log_q, best)
    found = _divergence(log_p, log_q, kind)
    if not bool(found.detach().any()):
        warnings.warn(
            "Teacher and student should differ. Found equal distributions for all tokens. Give the teacher its context.",
            stacklevel=2,
        )
    return found.new_zeros(batch, tokens).masked_scatter(mask, found)


def _divergence(log_p: Tensor, log_q: Tensor, kind: str) -> Tensor:
    if kind == "jensen-shannon":
        middle = torch.logaddexp(log_p, log_q) - math.log(2)
        return (_divergence(middle, log_p, "forward") + _divergence(middle, log_q, "forward")) / 2
    first, second = (log_p, log_q) if kind == "reverse" else (log_q, log_p)
    return (first.exp() * (first - second)).sum(-1)


def _with_rest(logs: Tensor, best: Tensor) -> Tensor:
    """Return log probabilities of some words, and behind them that of all others together."""
    others = logs.scatter(-1, best, -torch.inf).logsumexp(-1, keepdim=True)
    return torch.cat([logs.gather(-1, best), others], -1)
