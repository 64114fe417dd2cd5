"""Task A: two hidden numbers decide the label by XOR; the privileged data show them behind a random sign.

x ~ N(0, I_D), h = A x in R^2, y = [h_1 > 0] xor [h_2 > 0], s uniform in {-1, 1}^2, x* = [s_1, s_2, s_1 h_1, s_2 h_2]. The
label is a function of x and of x*, but the best prediction of s_i h_i from x is 0: a student that predicts x* learns
nothing, and a teacher must learn to undo the signs.

Source: thesis section 4.4.1 and appendix C.2.1, figure 4.3; paper appendix B.1. A_ij ~ Uniform(-1/sqrt D, 1/sqrt D): the
printed interval lacks its minus sign.
"""

import math

import torch

from mechlearn_zoo.tasks.privileged import Part, PrivilegedData, check_sizes
from mechlearn_zoo.tasks.streams import stream

HIDDEN = 2


def xor(seed: int, inputs: int, examples: int, selection: int = 2000, test: int = 2000) -> PrivilegedData:
    """Draw one A and the examples of the three splits; labels are 0.0 or 1.0.

    Args:
        seed: of every draw, from a stream of the task's own: with that of `manual_seed` a student's first weights, drawn alike
            and with the same bound, would be A.
        inputs: D.
        examples: n, training examples.
        selection: held-out examples for choosing.
        test: test examples.

    Raises:
        ValueError: a size below 1.
    """
    check_sizes({"inputs": inputs, "examples": examples, "selection": selection, "test": test})
    generator = stream(seed, "xor")
    bound = 1 / math.sqrt(inputs)
    mixing = torch.empty(HIDDEN, inputs).uniform_(-bound, bound, generator=generator)

    def draw(count: int) -> Part:
        x = torch.randn(count, inputs, generator=generator)
        signs = 2.0 * torch.randint(0, 2, (count, HIDDEN), generator=generator) - 1
        h = x @ mixing.T
        y = (h > 0).sum(dim=1) % 2
        return Part(x, torch.cat([signs, signs * h], dim=1), y.float())

    return PrivilegedData(draw(examples), draw(selection), draw(test))
