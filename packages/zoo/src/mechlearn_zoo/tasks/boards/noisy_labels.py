"""Task B: labels are drawn at random from probabilities; the privileged data show the probabilities through a mixture.

x ~ N(0, I_D), h = A x in R^4, y ~ Categorical(softmax(c h)), x* = B (c h) in R^32. A network that fits the drawn labels is
ill-calibrated; a teacher can tell it the probabilities instead.

Source: thesis section 4.4.1 and appendix C.2.1, figure 4.4; paper appendix B.1. The texts have c = 1, the authors' released
code multiplies the logits by c = 3 before it draws and before B: ``logit_scale``.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_positive
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData, check_sizes
from mechlearn_zoo.tasks.streams import stream

CLASSES = 4


class NoisyLabelsData(NamedTuple):
    """One dataset.

    Attributes:
        data: the three splits; labels are classes.
        bayes_loss: the least cross-entropy that any predictor can have: the labels' mean conditional entropy, in nats.
        test_probabilities: (b, 4) the probabilities that the test labels were drawn from.
    """

    data: PrivilegedData
    bayes_loss: float
    test_probabilities: Float[Tensor, "b 4"]


def noisy_labels(
    seed: int,
    inputs: int = 128,
    examples: int = 1000,
    privileged: int = 32,
    logit_scale: float = 1.0,
    selection: int = 2000,
    test: int = 10_000,
) -> NoisyLabelsData:
    """Draw A, B and the examples of the three splits.

    Args:
        seed: of every draw, from a stream of the task's own: with that of `manual_seed` a student's first weights, drawn alike
            and with the same bound, would be the mixture.
        inputs: D.
        examples: training examples.
        privileged: numbers in x*, the papers' d_p.
        logit_scale: c above: 1 in the texts, 3 in the released code.
        selection: held-out examples for choosing.
        test: test examples; the Bayes loss is the mean entropy over their probabilities.

    Raises:
        TypeError: a scale that is no number.
        ValueError: a size below 1, or a scale that is not positive and finite.
    """
    check_sizes({"inputs": inputs, "examples": examples, "privileged": privileged, "selection": selection, "test": test})
    check_positive("logit_scale", logit_scale)
    generator = stream(seed, "noisy labels")
    mixing = _uniform(CLASSES, inputs, generator)
    view = _uniform(privileged, CLASSES, generator)

    def draw(count: int) -> tuple[Part, Tensor]:
        x = torch.randn(count, inputs, generator=generator)
        logits = logit_scale * x @ mixing.T
        probabilities = logits.softmax(dim=1)
        y = torch.multinomial(probabilities, 1, generator=generator)[:, 0]
        return Part(x, logits @ view.T, y), probabilities

    (train, _), (chosen, _), (tested, probabilities) = draw(examples), draw(selection), draw(test)
    surprise = (probabilities * probabilities.log()).masked_fill(probabilities == 0, 0.0)  # 0 log 0 is 0
    entropy = -surprise.sum(dim=1).mean()
    return NoisyLabelsData(PrivilegedData(train, chosen, tested), float(entropy), probabilities)


def _uniform(rows: int, columns: int, generator: torch.Generator) -> Float[Tensor, "rows columns"]:
    bound = 1 / math.sqrt(columns)
    return torch.empty(rows, columns).uniform_(-bound, bound, generator=generator)
