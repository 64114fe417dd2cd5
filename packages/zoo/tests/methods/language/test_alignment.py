import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import translation_oracles as oracle
from mechlearn_zoo.methods.language.alignment import Fillers, align, eager_feasible

FILLERS = Fillers(start=100, target=101, source=102)


@st.composite
def pairs(draw, most=5):
    n, m = draw(st.integers(1, most)), draw(st.integers(1, most))
    link = st.tuples(st.integers(0, n - 1), st.integers(0, m - 1))
    return n, m, draw(st.lists(link, max_size=5, unique=True)), draw(st.integers(0, 2))


@given(pairs())
def test_the_padded_pair_is_feasible_with_the_fewest_epsilons_and_gives_both_sentences_back(case):
    n, m, links, start = case
    source, target = list(range(n)), list(range(50, 50 + m))
    found = eager_feasible(source, target, links, FILLERS, start)
    assert len(found.source) == len(found.target)
    places = [place for place, word in enumerate(found.target) if word < 100]
    assert all(i <= places[j] for i, j in links)
    assert [word for word in found.source if word < 100] == source
    assert [word for word in found.target if word < 100] == target
    assert found.target[:start] == [100] * start
    inner = found.target[: places[-1]].count(101)
    assert inner == oracle.fewest_epsilons(n, m, links, start)


def test_without_conflict_nothing_is_put_in():
    assert eager_feasible([1, 2], [3, 4], [(0, 0), (1, 1)], FILLERS) == ([1, 2], [3, 4])
    assert eager_feasible([1, 2, 3], [4], [(0, 0)], FILLERS) == ([1, 2, 3], [4, 101, 101])
    assert eager_feasible([1], [4, 5, 6], [], FILLERS) == ([1, 102, 102], [4, 5, 6])


def test_links_may_come_in_any_order():
    links = [(3, 2), (2, 0), (1, 1)]
    assert eager_feasible([1, 2, 3, 4], [5, 6, 7], links, FILLERS) == eager_feasible(
        [1, 2, 3, 4], [5, 6, 7], links[::-1], FILLERS
    )


def corpus(seed=0, count=12):
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        source = generator.integers(0, 6, generator.integers(1, 6)).tolist()
        made.append((source, [w + 10 for w in generator.permutation(source).tolist()] + generator.integers(10, 16, 1).tolist()))
    return made


@pytest.mark.parametrize("diagonal", [0.0, 4.0])
@pytest.mark.parametrize("null", [None, 0.0, 0.08])
def test_em_is_the_literal_loop(diagonal, null):
    found = align(corpus(), 4, diagonal, null)
    table, links = oracle.em(corpus(), 4, diagonal, null)
    for (e, f), p in zip(found.pairs.tolist(), found.probabilities.tolist(), strict=True):
        assert p == pytest.approx(table.get((e, f), 0.0), abs=1e-12)
    assert found.links == links


def test_the_likelihood_never_falls():
    assert (align(corpus(3, 40), 8).likelihoods.diff() >= -1e-9).all()


@pytest.mark.extra("language", "nltk")
def test_without_diagonal_it_is_nltks_first_model():
    from nltk.translate import AlignedSent, IBMModel1

    # No target word twice in a sentence: nltk would count its normaliser twice.
    made = [(source, target) for source, target in corpus(count=60) if len(set(target)) == len(target)]
    assert len(made) > 5
    theirs = IBMModel1([AlignedSent([str(w) for w in target], [str(w) for w in source]) for source, target in made], 5)
    found = align(made, 5, 0.0, None)
    for (e, f), p in zip(found.pairs.tolist(), found.probabilities.tolist(), strict=True):
        assert p == pytest.approx(theirs.translation_table[str(f)][None if e < 0 else str(e)], abs=1e-8)


def test_a_known_reordering_is_found():
    generator = np.random.default_rng(0)
    made = []
    for _ in range(300):
        source = generator.integers(0, 30, 5).tolist()
        made.append((source, [w + 50 for w in source[::-1]]))
    links = align(made, 8, diagonal=0.0).links
    right = [sum(i == 4 - j for i, j in own) for own in links]
    assert np.mean(right) > 4.5


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: eager_feasible([], [1], [], FILLERS), "Both sides"),
        (lambda: eager_feasible([1], [1], [(1, 0)], FILLERS), "within sentences"),
        (lambda: eager_feasible([100], [1], [], FILLERS), "no sentence has"),
        (lambda: eager_feasible([1], [1], [], Fillers(5, 5, 6)), "no sentence has"),
        (lambda: eager_feasible([1], [1], [], FILLERS, -1), "`start_pads`"),
        (lambda: align([]), "pairs with words"),
        (lambda: align([([1], [])]), "pairs with words"),
        (lambda: align([([-1], [1])]), "negative"),
        (lambda: align(corpus(), 0), "`iterations`"),
        (lambda: align(corpus(), null=1.0), "`null`"),
        (lambda: align(corpus(), diagonal=-1.0), "`diagonal`"),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


def test_a_steep_prior_is_the_diagonal():
    made = [([1, 2, 3], [4, 5, 6])]
    assert align(made, diagonal=1e9, null=0.0).links == [[(0, 0), (1, 1), (2, 2)]]


def test_tensors_are_float64():
    assert align(corpus()).probabilities.dtype == torch.float64
