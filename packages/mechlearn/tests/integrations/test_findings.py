"""Sentences of a history: they name what is there, and name nothing by chance more often than they say."""

import math
import random
from dataclasses import replace

import pytest

from mechlearn.integrations.findings import LEVEL, Signs, halves, sentences, spans


def test_the_probability_of_a_count_is_that_of_coins():
    signs = Signs(5, 5, -0.1)
    assert not signs.rare(1)  # 2 / 32, as there are two halves
    assert Signs(6, 6, -0.1).rare(1)
    assert Signs(9, 10, 0.0).rare(2)  # 44 / 1024
    assert not Signs(9, 10, 0.0).rare(3)
    assert not Signs(0, 0, math.nan).rare(1)


def test_a_source_is_named_with_its_layers_its_count_and_its_step(history):
    first, *rest = sentences(history(lambda i, s, where: -0.5 if s == "c" and i >= 15 and where != "h.0" else 0.5))
    assert first == (
        "Source c has a negative cosine with the mean of the others in 20 of 20 measurements from step 400 on. "
        "Layers: h.1 to h.3."
    )
    assert rest == []


def test_a_source_that_pulled_early_is_named_with_its_steps(history):
    (said,) = sentences(history(lambda i, s, where: -0.5 if s == "c" and 2 <= i < 20 else 0.5))
    assert "in 18 of 20 measurements from step 0 to 380. Layers: h.0 to h.3." in said


def test_a_pair_is_named_where_neither_pulls_against_all(history):
    said = sentences(history(lambda i, s, where: -0.5 if (s, where) == ("b", "a") else 0.5))
    assert said[0] == "No source is against the others more often than chance explains, in 20 measurements from step 400 on."
    assert said[1] == "Sources a and b have a negative cosine in 20 of 20 measurements from step 400 on."


def test_a_loss_that_stands_out_is_said_first(history):
    runs = history(lambda i, s, where: 0.2)
    assert not sentences(runs)[0].startswith("Source")
    for one in runs:
        one.sources["c"] = replace(one.sources["c"], loss=1.6)
    assert sentences(runs)[0] == "Source c has the highest loss from step 400 on: 1.6. The median of the others is 1."


def test_nobody_is_named_where_nobody_pulls(history):
    (said,) = sentences(history(lambda i, s, where: 0.2))
    assert said.startswith("No source is against the others")


def test_chance_names_a_source_in_few_runs(history):
    """Cosines without a sign: over sources, 5 % of runs at most; of 400 runs the bound is three standard errors above."""
    draw = random.Random(0)
    runs = [any(half.against() for half in halves(history(lambda i, s, where: draw.gauss(0, 1), 48))) for _ in range(400)]
    assert sum(runs) / len(runs) <= LEVEL + 3 * (LEVEL * (1 - LEVEL) / len(runs)) ** 0.5


def test_few_measurements_say_nothing(history):
    (said,) = sentences(history(lambda i, s, where: -1.0, 6))
    assert said.startswith("Too few measurements from step 60 on to name a, b, c, d: it takes 8")


def test_a_source_seen_once_is_said_to_be(history, measurement):
    runs = history(lambda i, s, where: 0.3, names=["a", "b"])
    runs[3] = measurement(60, lambda s, where: -1.0, ["a", "rare"])
    said = sentences(runs)
    assert said[0].startswith("No source is against")
    assert said[1].startswith("Too few measurements from step 400 on to name rare: it takes 7")


def test_batches_of_one_source_are_said_to_compare_nothing(history, measurement):
    runs = [measurement(i, lambda s, where: math.nan, ["ab"[i % 2]]) for i in range(20)]
    (said,) = sentences(runs)
    assert said.startswith("Each measured batch has rows of one source")
    (said,) = sentences(runs[::2])
    assert said.startswith("All rows are of one source")


def test_sources_that_all_pull_apart_are_said_to_be_near_a_minimum(history):
    assert sentences(history(lambda i, s, where: -0.3)) == [
        "Most sources pull against the rest: read their losses and the pairs. Near a minimum gradients cancel, too."
    ]


@pytest.mark.parametrize(
    ("names", "said"), [(["b", "c"], ["b to c"]), (["d", "a"], ["a", "d"]), ([], []), (["a", "b", "d"], ["a to b", "d"])]
)
def test_neighbours_are_spans(names, said):
    assert spans(names, "abcd") == said
