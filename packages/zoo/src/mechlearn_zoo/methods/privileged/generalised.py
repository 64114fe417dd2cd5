"""Generalised distillation: a teacher learns y from x*, a student imitates what it predicts (Lopez-Paz et al. 2016)."""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from mechlearn.arguments import check_ids, check_positive, check_share, check_tensor
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.nn.mixtures import at_temperature

PAPER = Paper(
    "Generalised distillation",
    2016,
    "Lopez-Paz et al., section 4, steps 1 to 3",
    "https://arxiv.org/abs/1511.03643",
    "a teacher that is trained beforehand, and its predictions",
)


def generalised_distillation_loss(
    prediction: Float[Tensor, "b c"],
    y: Int[Tensor, " b"],
    teacher: Float[Tensor, "b c"],
    *,
    temperature: float,
    imitation: float,
) -> Float[Tensor, " b"]:
    """Return (1 - lambda) CE(y, f(x)) + lambda CE(softmax(t / T), f(x)) of each example.

    The teacher's logits t come from a network that was trained to predict y from x* alone; they are constants here. Not for
    labels that x* gives away: the teacher's predictions are then the labels, and the student learns nothing more from them.

    Args:
        prediction: the student's logits.
        y: labels, whole numbers below C.
        teacher: the teacher's logits for the same examples.
        temperature: T, by which they are divided.
        imitation: lambda, in [0, 1].

    Raises:
        TypeError, ValueError: what are no logits, labels or settings; labels that are none of the C classes.
    """
    check_positive("temperature", temperature)
    check_share("imitation", imitation)
    for name, tensor in (("prediction", prediction), ("teacher", teacher), ("y", y)):
        check_tensor(name, tensor)
    if prediction.dim() != 2 or prediction.shape != teacher.shape or y.shape != prediction.shape[:1]:
        raise ValueError(
            "Student and teacher should give logits (B, C) for labels (B,). Found "
            f"{tuple(prediction.shape)}, {tuple(teacher.shape)} and {tuple(y.shape)}. Give both the same classes."
        )
    way_out = "Pass the classes' numbers; one-hot labels with .argmax(1)."
    check_ids("y", y, *prediction.shape[:1], count=prediction.shape[1], way_out=way_out)
    soft = at_temperature(teacher.detach(), temperature).softmax(1)
    # What the teacher excludes costs nothing, though the student excludes it, too, and its logarithm is infinite.
    imitated = -(soft * prediction.log_softmax(1).masked_fill(soft == 0, 0)).sum(1)
    if imitation == 1:
        return imitated
    labelled = cross_entropy(prediction, y.long(), reduction="none")
    return labelled if imitation == 0 else (1 - imitation) * labelled + imitation * imitated
