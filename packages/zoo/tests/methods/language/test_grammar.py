import re

import numpy as np
import pytest
import torch
from sklearn.neighbors import NearestNeighbors

import grammar_oracles as oracle
from mechlearn_zoo.methods.language.grammar import EmbeddingGrammar, Terminal, Vectors, expand, together, word_vectors


def vectors(seed=0, n=30, d=5):
    generator = torch.Generator().manual_seed(seed)
    return Vectors(tuple(f"w{k}" for k in range(n)), torch.randn(n, d, generator=generator, dtype=torch.float64))


def streams():
    generator = torch.Generator().manual_seed(0)
    return [[f"w{k}" for k in torch.randint(0, 9, (40,), generator=generator).tolist()] for _ in range(3)]


def many():
    return Vectors(tuple(map(str, range(10_001))), torch.ones(10_001, 2))


def test_vectors_factorise_the_literal_matrix():
    found = word_vectors(streams(), size=8, window=2, minimum=1)
    matrix = oracle.ppmi(streams(), list(found.words), 2, 0.75)
    left, values, _ = np.linalg.svd(matrix)
    wanted = left[:, :8] * np.sqrt(values[:8])
    np.testing.assert_allclose((found.table @ found.table.T).numpy(), wanted @ wanted.T, atol=1e-9)


@pytest.mark.parametrize("method", ["neighbours", "centroid", "hull", "span"])
@pytest.mark.parametrize("exemplars", [["w3"], ["w3", "w7"], ["w1", "w5", "w9"]])
def test_distances_are_the_literal_loops(method, exemplars):
    one = vectors()
    table = one.table.numpy()
    chosen = [table[one.words.index(word)] for word in exemplars]
    wanted = [0.0 if word in exemplars else oracle.distance(table[k], chosen, method) for k, word in enumerate(one.words)]
    np.testing.assert_allclose(one.distances(exemplars, method).numpy(), wanted, atol=1e-9)


def test_neighbours_are_scikit_learns():
    one = vectors(n=60)
    found = {word.word for word in expand([one], [Terminal(["w3", "w8"], 0.6)])[0]}
    near = NearestNeighbors(radius=0.6, metric="cosine").fit(one.table.numpy())
    places = near.radius_neighbors(one.table[[3, 8]].numpy(), return_distance=False)
    assert found == {f"w{k}" for row in places for k in row}


@pytest.mark.parametrize("method", ["neighbours", "centroid", "hull", "span"])
def test_terminals_read_at_once_are_those_read_alone(method):
    sources = [vectors(), vectors()]
    asked = [Terminal(["w3", "w8"], 0.6), Terminal(["w1"], 0.2), Terminal(["w2", "w5", "w9"], 1.0)]
    found = expand(sources, asked, method)
    for words, one in zip(found, asked, strict=True):
        distances = together(sources, one.exemplars, method)
        near = {word: distance for word, distance in distances.items() if distance <= one.epsilon}
        assert dict(words) == pytest.approx(near, abs=1e-12)
        assert [word.distance for word in words] == sorted(word.distance for word in words)


def test_more_epsilon_more_words():
    sizes = [len(expand([vectors()], [Terminal(["w3"], epsilon)])[0]) for epsilon in (0.0, 0.2, 0.5, 1.0, 2.0)]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert sizes[-1] == 30


@pytest.mark.parametrize("method", ["neighbours", "centroid", "hull", "span"])
def test_epsilon_zero_is_the_literal_expression(method):
    grammar = EmbeddingGrammar("(x|{a: w1 w2})+y{2,3}", vectors(), 0, method)
    literal = re.compile(r"(x|\b(?:w1|w2)\b)+y{2,3}")
    for text in ("xyy", "w1yy", "xw2yyy", "w3yy", "xy"):
        assert (grammar.fullmatch(text) is None) == (literal.fullmatch(text) is None), text


def test_sources_must_agree():
    a, b = vectors(0), vectors(1)
    both = together([a, b], ["w3"])
    single = [dict(zip(one.words, one.distances(["w3"]).tolist(), strict=True)) for one in (a, b)]
    assert both == {word: max(single[0][word], single[1][word]) for word in a.words}
    short = Vectors(b.words[:10], b.table[:10])
    assert set(together([a, short], ["w3"])) == set(b.words[:10])


def test_signs_are_escaped_and_words_are_whole():
    one = Vectors(("max", "min", "a.b", "c++"), torch.eye(4, dtype=torch.float64))
    grammar = EmbeddingGrammar("{f: max min a.b ~0}", one)
    assert [found.group() for found in grammar.finditer("max maximum min axb a.b")] == ["max", "min", "a.b"]
    assert [one.word for one in grammar.expansion("f")] == ["a.b", "max", "min"]


def test_vectors_are_read(tmp_path):
    path = tmp_path / "some.vec"
    path.write_text("2 3\nhello 1 0 0.5\nworld 0 1 -2\n")
    found = Vectors.read(path)
    assert found.words == ("hello", "world")
    assert found.table.tolist() == [[1, 0, 0.5], [0, 1, -2]]
    path.write_text("hello 1 0\nworld 1\n")
    with pytest.raises(ValueError, match="Line 2"):
        Vectors.read(path)


def test_a_word_may_hold_what_separates_lines_elsewhere(tmp_path):
    path = tmp_path / "some.vec"
    path.write_bytes("a\u2028b 1 0\r\nc\x85d 0 1\r\n".encode())
    assert Vectors.read(path).words == ("a\u2028b", "c\x85d")
    path.write_text("")
    with pytest.raises(ValueError, match="a vector a word"):
        Vectors.read(path)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: EmbeddingGrammar("{a: w33}", vectors()), "Near spellings: w3"),
        (lambda: EmbeddingGrammar("{a: w3 ~2.5}", vectors()), r"\[0, 2\]"),
        (lambda: EmbeddingGrammar("{a: w3}", vectors(), -0.1), r"\[0, 2\]"),
        (lambda: EmbeddingGrammar("{a: ~0.3}", vectors()), "an exemplar"),
        (lambda: EmbeddingGrammar("abc", vectors()), "a terminal"),
        (lambda: EmbeddingGrammar("{a: w3} {a: w4}", vectors()), "'a' twice"),
        (lambda: EmbeddingGrammar("({a: w3}", vectors()), "regular expression"),
        (lambda: EmbeddingGrammar("{a: w3}", []), "one source"),
        (lambda: EmbeddingGrammar("{a: w3}", vectors(), method="ball"), "`method`"),
        (lambda: EmbeddingGrammar("{a: w3}", vectors()).expansion("b"), "`name`"),
        (lambda: Vectors(("a", "a"), torch.ones(2, 2)), "'a' twice"),
        (lambda: Vectors(("a",), torch.zeros(1, 2)), "other than 0"),
        (lambda: Vectors(("a",), torch.ones(2, 2)), "a vector a word"),
        (lambda: Vectors(("a",), torch.ones(1, 2, dtype=torch.long)), "`table` should hold floating numbers"),
        (lambda: Vectors(("a",), [[1.0, 2.0]]), "`table` should be a tensor"),
        (lambda: word_vectors(streams(), size=50), "Take more"),
        (lambda: vectors().distances([f"w{k}" for k in range(9)], "hull"), "at most 8"),
        (
            lambda: EmbeddingGrammar("{a: 7}", Vectors(tuple(map(str, range(10_001))), torch.ones(10_001, 2))),
            "Lower the epsilon",
        ),
    ],
)
def test_bad_input(make, sentence, as_installed):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make()


@pytest.mark.parametrize("length", [1e-13, 1e-200, 1e200])
@pytest.mark.parametrize("method", ["neighbours", "centroid", "hull", "span"])
def test_distances_do_not_depend_on_lengths(length, method):
    one = vectors()
    other = Vectors(one.words, one.table * torch.tensor([[1.0], [length]], dtype=torch.float64).repeat(15, 1))
    torch.testing.assert_close(other.distances(["w3", "w8"], method), one.distances(["w3", "w8"], method))


@pytest.mark.parametrize("value", [0.0, float("inf"), float("nan")])
def test_vectors_without_a_direction_are_refused(value, as_installed):
    with pytest.raises(ValueError, match="finite vectors other than 0"):
        Vectors(("a", "b"), torch.tensor([[1.0, 0.0], [value, 0.0]]))
    with pytest.raises(ValueError, match="finite vectors other than 0"):
        Vectors(("a", "b"), torch.zeros(2, 0))
