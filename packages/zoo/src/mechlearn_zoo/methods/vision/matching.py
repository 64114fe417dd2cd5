"""DAMSM: how well a caption fits a picture, word by region.

Xu et al. 2018, https://arxiv.org/abs/1711.10485, equations 7 to 13. Index convention: i a picture, j a caption, d a
dimension, t a word, r a region. Words are (b, d, t) with a mask (b, t), True
for a caption's own words; regions (b, d, r). The encoders are yours.

Use it to train an image and a text encoder together, to find pictures by captions, and to see which region a word is about.
Not where captions have one word: there the sentence alone does.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from mechlearn.arguments import check_flag, check_floats, check_ids, check_kind, check_mask, check_positive, check_result
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "DAMSM",
    2018,
    "Xu et al., equations 7 to 13",
    "https://arxiv.org/abs/1711.10485",
    "a score for each word, region and pair of a batch",
)


class Captions(NamedTuple):
    """Encoded captions: words (b, d, t), their mask (b, t), and sentences (b, d)."""

    words: Float[Tensor, "b d t"]
    mask: Bool[Tensor, "b t"]
    sentences: Float[Tensor, "b d"]


class Pictures(NamedTuple):
    """Encoded pictures: regions (b, d, r) and the whole (b, d)."""

    regions: Float[Tensor, "b d r"]
    whole: Float[Tensor, "b d"]


class Attended(NamedTuple):
    """What words find in pictures.

    Attributes:
        scores: (i, j) R(Q_i, D_j), how well each caption fits each picture.
        attention: (i, j, t, r) alpha, over regions, of each word; 0 for padding.
    """

    scores: Float[Tensor, "i j"]
    attention: Float[Tensor, "i j t r"]


class MatchingLosses(NamedTuple):
    """Four scalars: by words and by sentences, of captions given pictures and of pictures given captions."""

    words: Float[Tensor, ""]
    words_back: Float[Tensor, ""]
    sentences: Float[Tensor, ""]
    sentences_back: Float[Tensor, ""]

    def total(self) -> Float[Tensor, ""]:
        """Return their sum, equation 13."""
        return self.words + self.words_back + self.sentences + self.sentences_back


def attend(captions: Captions, pictures: Pictures, gamma1: float = 5.0, gamma2: float = 5.0, outer: bool = True) -> Attended:
    """Return how well each caption fits each picture, and where its words look.

    s = e^T v, softmax over the WORDS (equation 8), then over the regions at gamma1 (equation 9): alpha; c = sum_r alpha v;
    R(Q, D) = log (sum_t exp(gamma2 cos(c_t, e_t)))^(1 / gamma2) (equation 10).

    Args:
        captions: encoded, at least one word each.
        pictures: encoded.
        gamma1: how sharply a word chooses among regions.
        gamma2: how much the best word counts beside the others.
        outer: whether 1 / gamma2 is applied, as printed; the published code leaves it out, which rescales gamma3.

    Raises:
        TypeError: numbers of another type, a mask that is not of booleans.
        ValueError: shapes that do not fit, a caption without words, scores that are not finite.
    """
    _check(captions, pictures)
    check_positive("gamma1", gamma1)
    check_positive("gamma2", gamma2)
    check_flag("outer", outer)
    words, mask, regions = captions.words, captions.mask, pictures.regions
    similar = torch.einsum("jdt,idr->ijtr", words, regions)
    padding = ~mask[None, :, :, None]
    over_words = similar.masked_fill(padding, -torch.inf).softmax(2)
    attention = (gamma1 * over_words).softmax(3).masked_fill(padding, 0.0)
    context = torch.einsum("ijtr,idr->ijdt", attention, regions)
    cosine = torch.einsum("ijdt,jdt->ijt", normalize(context, dim=2, eps=1e-8), normalize(words, dim=1, eps=1e-8))
    scores = (gamma2 * cosine).masked_fill(~mask[None], -torch.inf).logsumexp(2)
    check_result(scores, {"words": words, "regions": regions}, way_out="Lower the learning rate of the encoders.")
    return Attended(scores / gamma2 if outer else scores, attention)


def matching_losses(
    captions: Captions,
    pictures: Pictures,
    classes: Int[Tensor, "..."] | None = None,
    gammas: tuple[float, float, float] = (5.0, 5.0, 10.0),
    outer: bool = True,
) -> MatchingLosses:
    """Return the losses of a batch in which caption i belongs to picture i.

    P(D_i|Q_i) is a softmax over the batch's captions of gamma3 R(Q_i, D_j) (equation 11), and the other way round; sentences
    the same with R = cos(whole, sentence).

    Args:
        captions: encoded.
        pictures: encoded, as many.
        classes: (b,) captions of other pictures of the same class are left out of the softmax; None where each fits one
            picture.
        gammas: gamma1, gamma2 and gamma3.
        outer: see `attend`.

    Raises:
        TypeError: numbers of another type, a mask that is not of booleans, classes that are no ids.
        ValueError: shapes or numbers that do not fit, losses that are not finite.
    """
    _check(captions, pictures)
    check_kind("gammas", gammas, (tuple, list), "three numbers")
    if len(gammas) != 3:
        raise ValueError(f"`gammas` should be three: of regions, of words, of the batch. Found {len(gammas)}.")
    count = len(captions.words)
    if len(pictures.regions) != count:
        raise ValueError(f"There should be one caption a picture. Found {count} captions and {len(pictures.regions)} pictures.")
    for name, gamma in zip(("gamma1", "gamma2", "gamma3"), gammas, strict=True):
        check_positive(name, gamma)
    by_words = gammas[2] * attend(captions, pictures, gammas[0], gammas[1], outer).scores
    whole, sentences = (normalize(one, dim=1, eps=1e-8) for one in (pictures.whole, captions.sentences))
    by_sentences = gammas[2] * whole @ sentences.T
    if classes is not None:
        check_ids("classes", classes, count)
        same = (classes.unsqueeze(0) == classes.unsqueeze(1)) & ~torch.eye(count, dtype=torch.bool, device=classes.device)
        by_words, by_sentences = (scores.masked_fill(same, -torch.inf) for scores in (by_words, by_sentences))
    own = torch.arange(count, device=by_words.device)
    losses = MatchingLosses(*(cross_entropy(one, own) for one in (by_words, by_words.T, by_sentences, by_sentences.T)))
    inputs = {"sentences": captions.sentences, "whole": pictures.whole}
    check_result(torch.stack(losses), inputs, way_out="Lower the learning rate of the encoders.")
    return losses


def _check(captions: Captions, pictures: Pictures) -> None:
    check_kind("captions", captions, Captions, "Captions(words, mask, sentences)")
    check_kind("pictures", pictures, Pictures, "Pictures(regions, whole)")
    words = captions.words
    check_floats("words", words, "b", "d", "t")
    check_mask("mask", captions.mask, len(words), words.shape[2], way_out="True for a caption's own words.")
    check_floats("sentences", captions.sentences, *words.shape[:2], like=words)
    check_floats("regions", pictures.regions, "i", words.shape[1], "r", like=words, way_out="Words and regions share d.")
    check_floats("whole", pictures.whole, len(pictures.regions), words.shape[1], like=words)
    if not bool(captions.mask.any(1).all()):
        empty = int((~captions.mask.any(1)).nonzero()[0])
        raise ValueError(f"Every caption should have a word. Found none in caption {empty}. Leave it out.")
