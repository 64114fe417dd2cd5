import pytest
from torch import Generator

from mechlearn_zoo.experiments.language.eager.reorderings import END, FIRST, reorderings, vocabulary


def test_links_are_translations_and_every_word_has_one():
    for pair in reorderings(20, 3, Generator().manual_seed(0)):
        assert len(pair.source) == len(pair.target) == 13
        assert sorted(i for i, _ in pair.links) == sorted(j for _, j in pair.links) == list(range(13))
        for i, j in pair.links[:-1]:
            assert pair.target[j] == pair.source[i] + 40
        assert pair.source[-1] == pair.target[-1] == END
        assert max(pair.target) < vocabulary(20, 10, 10)
        assert min(pair.source) >= END
        assert FIRST == END + 1


def test_the_verb_moves_two_places():
    (pair,) = reorderings(1, 2, Generator().manual_seed(0))
    assert max(i - j for i, j in pair.links) == 2


@pytest.mark.parametrize("wrong", [{"count": 0}, {"clauses": 0}, {"verbs": 0}])
def test_bad_input(wrong):
    with pytest.raises(ValueError, match=f"`{next(iter(wrong))}`"):
        reorderings(**{"count": 1, "clauses": 1, "generator": Generator(), **wrong})
