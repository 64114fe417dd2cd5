"""SeqGAN's synthetic data: a random LSTM as the true distribution, so that samples can be judged exactly (Yu et al. 2017, 5.1).

The paper draws all weights from N(0, 1). Sequences begin after the id 0, which is an ordinary word, too, as in the released
code.
"""

from typing import NamedTuple

from jaxtyping import Int
from torch import Generator, Tensor

from mechlearn_zoo.methods.language.sampling import sample
from mechlearn_zoo.methods.language.step_model import RecurrentModel


class OracleText(NamedTuple):
    """Data with the distribution they come from.

    Attributes:
        oracle: the LSTM; `mechlearn_zoo.methods.language.step_model.log_probabilities` gives any sequence's.
        train: (n, t) ids.
        test: (m, t) ids.
    """

    oracle: RecurrentModel
    train: Int[Tensor, "n t"]
    test: Int[Tensor, "m t"]


def recurrent_oracle(
    seed: int, vocabulary: int = 30, length: int = 8, train: int = 2000, test: int = 2000, units: int = 32
) -> OracleText:
    """Draw an oracle and its text.

    Args:
        seed: of weights and text.
        vocabulary: words; the paper has 5000.
        length: tokens of a sequence; the paper has 20.
        train: sequences to learn from; the paper has 10 000.
        test: sequences held out.
        units: of the LSTM and its embedding; the paper has 32.
    """
    generator = Generator().manual_seed(seed)
    oracle = RecurrentModel(vocabulary, units, units, generator, spread=1.0).requires_grad_(False)
    return OracleText(oracle, sample(oracle, train, length, generator), sample(oracle, test, length, generator))
