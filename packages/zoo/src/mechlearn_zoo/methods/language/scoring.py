"""Log-probabilities of sentences and of parts of them, all in padded batches, by any causal or masked model.

Causal models give log P(token | tokens before). Masked models give a pseudo-log-likelihood (Salazar et al. 2020,
https://arxiv.org/abs/1910.14659): each counted token is masked in a copy of its own and predicted from all others. What counts:

- "full": every token; a causal model without a begin token says nothing of the first, which is left out.
- "partial": the tokens behind the candidate (Trinh and Le 2018, https://arxiv.org/abs/1806.02847): the candidate's own
  frequency has no part in it.
- "candidate": the candidate's tokens; masked models see none of them and give their mean (Kocijan et al. 2019), causal ones
  their sum.

Index convention: i a schema, c a candidate, b a row of a batch, t a position.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.arguments import check_callable, check_kind, check_one_of, check_whole
from mechlearn_zoo.methods.language.schemas import Schema, Substituted, substituted
from mechlearn_zoo.methods.language.step_model import device_of
from mechlearn_zoo.methods.language.vocabulary import Encoding

KINDS = ("full", "partial", "candidate")


@dataclass(frozen=True)
class Scorer:
    """A model with its tokens.

    Args:
        logits: from ids (b, t) and a mask (b, t), False at padding, to logits (b, t, v): for a causal model of the next token,
            for a masked one of each position's own. A module is given them beside its parameters, a function on the CPU.
        encode: from a text to ids and where they stand, as `Vocabulary.encode`.
        mask: the id of the mask; None for a causal model.
        batch: rows of a batch.

    Raises:
        TypeError, ValueError: parts that cannot be called, a mask or batch that is no whole number.
    """

    logits: Callable[[Tensor, Tensor], Tensor]
    encode: Callable[[str], Encoding]
    mask: int | None = None
    batch: int = 64

    def __post_init__(self) -> None:
        check_callable("logits", self.logits, "a function from ids and a mask to logits")
        check_callable("encode", self.encode, "a function from a text to an Encoding")
        check_whole("batch", self.batch, 1)
        if self.mask is not None:
            check_whole("mask", self.mask)

    @classmethod
    def of_transformers(cls, model: Any, tokenizer: Any, batch: int = 64) -> "Scorer":  # noqa: ANN401  # whatever transformers has
        """Return a scorer of a causal (`...LMHeadModel`, `...ForCausalLM`) or masked (`...ForMaskedLM`) model.

        Args:
            model: in eval mode, on any device.
            tokenizer: a fast one, which says where its tokens stand.
            batch: rows of a batch.

        Raises:
            ValueError: a model in train mode, a slow tokenizer, a masked model whose tokenizer has no mask.
        """
        if model.training:
            raise ValueError("`model` should be in eval mode, as dropout would change scores. Call model.eval() first.")
        if not getattr(tokenizer, "is_fast", False):
            raise ValueError("`tokenizer` should be a fast one, which says where tokens stand. Load it with use_fast=True.")
        masked = type(model).__name__.endswith("ForMaskedLM")
        if masked and tokenizer.mask_token_id is None:
            raise ValueError("The tokenizer of a masked model should have a mask token. Found none. Set tokenizer.mask_token.")

        def logits(ids: Tensor, attended: Tensor) -> Tensor:
            return model(input_ids=ids.to(model.device), attention_mask=attended.long().to(model.device)).logits.cpu()

        def encode(text: str) -> Encoding:
            found = tokenizer(text, return_offsets_mapping=True)
            return Encoding(list(found["input_ids"]), [(int(a), int(b)) for a, b in found["offset_mapping"]])

        return cls(logits, encode, tokenizer.mask_token_id if masked else None, batch)


class _Line(NamedTuple):
    """A row to be run: its ids (with masks), whose it is, and which positions' tokens count."""

    ids: list[int]
    owner: int
    places: list[int]
    targets: list[int]


def score(scorer: Scorer, schemas: Sequence[Schema], kind: str = "full") -> Float[Tensor, "n 2"]:
    """Return the log-probability of each item with each candidate in the pronoun's place; the greater one is the answer.

    Args:
        scorer: a model with its tokens.
        schemas: the items.
        kind: "full", "partial" or "candidate"; the module says what counts in each.

    Raises:
        TypeError: no `Scorer`.
        ValueError: no item, another kind, an item of which no token counts.
    """
    check_kind("scorer", scorer, Scorer, "a Scorer")
    check_one_of("kind", kind, KINDS)
    if not schemas:
        raise ValueError("`schemas` should hold at least one item. Found none.")
    texts = [substituted(schema, candidate) for schema in schemas for candidate in (0, 1)]
    lines = [line for owner, text in enumerate(texts) for line in _lines(scorer, text, owner, kind)]
    device = device_of(scorer.logits)
    totals = torch.zeros(len(texts), dtype=torch.float64, device=device)
    order = sorted(range(len(lines)), key=lambda index: len(lines[index].ids))  # rows of like length share a batch
    for start in range(0, len(order), scorer.batch):
        some = [lines[index] for index in order[start : start + scorer.batch]]
        totals.index_add_(0, torch.tensor([line.owner for line in some], device=device), _sums(scorer, some, device))
    if kind == "candidate" and scorer.mask is not None:
        totals /= torch.tensor([len(line.places) for line in lines], dtype=torch.float64, device=device)  # one line a text
    return totals.view(-1, 2)


def predict(scores: Float[Tensor, "n 2"]) -> Int[Tensor, " n"]:
    """Return which candidate has the greater score, 0 where both are equal."""
    return scores.argmax(1)


def _lines(scorer: Scorer, text: Substituted, owner: int, kind: str) -> list[_Line]:
    ids, spans = scorer.encode(text.text)

    def counts(start: int, end: int) -> bool:
        if kind == "partial":
            return end > start >= text.end
        return end > start and (kind == "full" or (start < text.end and end > text.start))

    first = 1 if scorer.mask is None else 0
    places = [place for place, span in enumerate(spans) if place >= first and counts(*span)]
    if not places:
        raise ValueError(
            f'Some token should count as "{kind}". Found none in {text.text!r}. Use kind="full" where nothing follows the '
            f"pronoun."
        )
    if scorer.mask is None:
        return [_Line(ids, owner, [place - 1 for place in places], [ids[place] for place in places])]
    groups = [places] if kind == "candidate" else [[place] for place in places]
    return [
        _Line([scorer.mask if p in group else one for p, one in enumerate(ids)], owner, group, [ids[p] for p in group])
        for group in groups
    ]


@torch.no_grad()
def _sums(scorer: Scorer, lines: list[_Line], device: torch.device | None) -> Tensor:
    longest = max(len(line.ids) for line in lines)
    ids = torch.tensor([[*line.ids, *[0] * (longest - len(line.ids))] for line in lines], device=device)
    lengths = torch.tensor([len(line.ids) for line in lines], device=device)
    attended = torch.arange(longest, device=device) < lengths[:, None]
    logits = scorer.logits(ids, attended)
    rows = torch.tensor([row for row, line in enumerate(lines) for _ in line.places], device=device)
    places = torch.tensor([place for line in lines for place in line.places], device=device)
    targets = torch.tensor([target for line in lines for target in line.targets], device=device)
    chosen = logits[rows, places].to(ids.device).double()  # a function may answer from the device of a model within it
    found = chosen.gather(1, targets[:, None])[:, 0] - chosen.logsumexp(1)
    return found.new_zeros(len(lines)).index_add_(0, rows, found)
