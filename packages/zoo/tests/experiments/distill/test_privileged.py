from dataclasses import replace

import pytest
import torch
from torch.nn.functional import cross_entropy

from claimlab import Rows, judge
from mechlearn.distill import shuffle_contexts
from mechlearn.distill.examples.streams import Stream
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.privileged import EXPERIMENT, arms, language, students, swimmer, worlds
from mechlearn_zoo.experiments.distill.privileged import run as privileged
from mechlearn_zoo.experiments.distill.privileged.arms import Arm
from mechlearn_zoo.experiments.distill.privileged.digits import second_labels
from mechlearn_zoo.tasks.bodies.quantiles import BINS
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import stream

TINY = replace(EXPERIMENT.presets["quick"].config, seed=0, pretraining=2, updates=2)


def words(text):
    """Return the words of `W 3 | 7 ...`: a letter of its own, n3 a nonce, a digit a value."""
    letters = {
        "W": worlds.WORK, "D": worlds.DIRECT, "E": worlds.END, "U": worlds.UNKNOWN, "_": worlds.BLANK, "|": worlds.BREAK
    }  # fmt: skip
    nonce = worlds.VALUES + worlds.OPERATIONS
    return torch.tensor([letters.get(one) or (nonce + int(one[1:]) if one[0] == "n" else int(one)) for one in text.split()])


def test_rewards_are_of_the_word_before_the_first_end():
    completions = torch.stack([words(text) for text in (
        "W n3 1 2 7 E", "D 7 E _ _ _", "D 7 E 1 E _", "D 1 E 7 E _", "W n3 U E 7 E", "7 7 7 7 7 7", "E 7 7 E E E",
    )])  # fmt: skip
    assert worlds.rewards(completions, torch.full((7,), 7)).tolist() == [1, 1, 1, 0, 0, 0, 0]
    assert worlds.rewards(completions[4:5], torch.tensor([worlds.UNKNOWN])).tolist() == [1]
    assert worlds.told(completions).sum(-1).tolist() == [6, 3, 3, 3, 4, 6, 1]


@pytest.mark.parametrize("world", ["A", "B"])
def test_questions_follow_their_rules(world):
    rules = worlds.draw_rules(world, 3)
    questions = worlds.draw_questions(rules, 300, stream(3, "questions"))
    assert len({tuple(row) for row in questions.asked.tolist()}) == 300
    for asked, context, answer in zip(*(one.tolist() for one in questions), strict=True):
        value = asked[0]
        for operation, found in zip(asked[1:], context[1:], strict=True):
            hidden = world == "B" and operation - worlds.VALUES == worlds.HIDDEN
            value = found if hidden else rules.right[operation - worlds.VALUES][value]
            assert value == found
        unknown = world == "B" and worlds.HIDDEN + worlds.VALUES in asked[1:]
        assert answer == (worlds.UNKNOWN if unknown else context[3])


def test_pretraining_has_the_shares_that_it_is_said_to_have():
    rules = worlds.draw_rules("A", 0)
    found = worlds.pretraining(rules, 20_000, stream(0, "pretraining"))
    given = found[:, 0] != worlds.BLANK
    direct = found[:, -worlds.COMPLETION] == worlds.DIRECT
    right = worlds.values(rules, found[:, 4:8], stream(0, "x"))[:, -1]
    written = torch.where(direct, found[:, -5], found[:, -2])
    assert float(given.double().mean()) == pytest.approx(0.4, abs=0.02)
    assert float(direct[given].double().mean()) == pytest.approx(0.85, abs=0.02)
    assert float(direct[~given].double().mean()) == pytest.approx(0.1, abs=0.02)
    assert torch.equal(written[given], right[given])
    assert float((written == right)[~given].double().mean()) == pytest.approx((0.5 + 0.5 * 0.45) ** 3, abs=0.04)


def test_cached_words_have_the_logits_of_whole_sequences():
    drawn = {name: one.double() for name, one in students.draw_weights(stream(0, "weights")).items()}
    weights = {name: torch.cat([one, one + 0.1]) for name, one in drawn.items()}
    asked = torch.randint(worlds.WORDS, (2, 3, 9), generator=stream(0, "asked"))
    written = students.sample(weights, asked, 4, stream(0, "samples"))
    found = students.completion_logits(weights, asked, written)
    whole = torch.cat([asked.repeat_interleave(4, 1), written[..., :-1]], -1)
    torch.testing.assert_close(found, students.logits(weights, whole)[0][:, :, -6:])
    alone = {name: one[1:] for name, one in weights.items()}
    torch.testing.assert_close(students.completion_logits(alone, asked[1:], written[1:])[0], found[1])


def test_arms_are_their_equations():
    label, second = torch.tensor([1.0, -2.0, 3.0, 0.0]), torch.tensor([2.0, 2.0, -1.0, 5.0])
    half = torch.tensor([True, False, False, True])
    found = {
        form: arms.combine(Arm(form, 0.5), label, second, half).tolist()
        for form in ("label", "second", "mix", "and-add", "half")
    }
    assert found == {
        "label": [1, -2, 3, 0],
        "second": [2, 2, -1, 5],
        "mix": [2, -1, 2.5, 2.5],
        "and-add": [2, -2, 3, 0],
        "half": [2, -2, 3, 2.5],
    }
    gradients = [torch.tensor([[3.0], [0.3]]), torch.tensor([[4.0], [0.4]])]
    arms.clip(gradients, 1.0)
    torch.testing.assert_close(torch.cat(gradients, 1), torch.tensor([[0.6, 0.8], [0.3, 0.4]]))


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": 0, **row} for row in privileged.run(TINY))


def test_an_arm_does_not_depend_on_the_others(rows):
    board = language.make_board("A", 0, TINY.pretraining)
    (again,) = language.fine_tune(board, [Arm("and-add", 0.3, context="shuffled")], 2, (2,), 0)
    (before,) = rows.where(seed=0, cell="A", arm="and-add 0.3", context="shuffled")
    assert (again["held_out"], again["test"]) == pytest.approx((before["held_out"], before["test"]), abs=0.5)
    assert before["context"] == "shuffled"


def test_each_cell_has_a_row_for_each_arm(rows):
    first = rows.where(seed=0, cell="B")
    assert [(row["arm"], row["updates"]) for row in first[:3]] == [("label", 2), ("label", 4), ("label", 5)]
    assert len(first) == 3 + len(privileged.ARMS)


def test_shuffled_contexts_are_of_other_questions():
    board = language.make_board("A", 0, 1)
    questions = torch.arange(8)
    assert not (shuffle_contexts(questions, questions) == questions).any()
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    list(language.fine_tune(board, [Arm("label")], 1, (1,), 0))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_second_labels():
    y = torch.tensor([0, 1, 2, 9])
    assert second_labels("helpful", y, 0).tolist() == [0, 0, 1, 4]
    assert second_labels("harmful", y, 0).tolist() == [1, 2, 3, 0]
    useless = second_labels("useless", torch.arange(10).repeat(1000), 0).view(1000, 10)
    assert float(useless.double().mean(0).sub(2).abs().max()) < 0.2


def planted(**changes):
    """Return rows of six seeds where everything that is claimed of language is so, but for changes by arm."""
    scores = {
        "label": 80, "mix 0.03": 82, "mix 0.1": 82, "mix 0.3": 60, "mix 1": 40, "and-add 0.1": 81, "and-add 0.3": 84,
        "and-add 1": 85, "half 1": 40, "distill reverse": 40, "distill forward": 40, "distill teacher's samples": 40,
    }  # fmt: skip
    found = []
    for seed in range(6):
        for cell in ("A", "B"):
            for arm, score in {**scores, **changes}.items():
                row = {"kind": "score", "seed": seed, "cell": cell, "arm": arm, "updates": 150}
                found.append({**row, "context": "true", "held_out": score, "test": score})
                if arm != "label":
                    found.append({**row, "context": "shuffled", "held_out": score - 30, "test": score - 30})
            found.append({**found[-1], "arm": "label", "context": "true", "updates": 390, "held_out": 80, "test": 80})
    return Rows(found)


def verdicts(rows, preset="quick"):
    return {claim.id.split(".")[1]: judge(claim, rows, preset).verdict for claim in EXPERIMENT.claims}


def test_claims_are_refuted_by_what_they_deny():
    asked = {name for name in verdicts(planted()) if not name.startswith(("digits", "swimmer"))}
    assert {name for name, verdict in verdicts(planted()).items() if verdict == "holds"} == asked
    for changes, refuted in {
        ("and-add 1", 78): {"plateau"},
        ("half 1", 82): {"mask"},
        ("distill forward", 76): {"failure"},
        ("mix 0.03", 90): {"rival"},
        ("label", 86): {"cliff", "plateau", "compute", "rival", "null"},
    }.items():
        found = verdicts(planted(**{changes[0]: changes[1]}))
        assert {name for name in asked if found[name] == "does not hold"} <= refuted
        assert found[min(refuted)] == "does not hold"


def test_figures_of_both_presets(rows):
    assert set(EXPERIMENT.figures(planted())) == {"weights"}


def test_digits_have_a_row_for_each_arm():
    found = list(privileged.run(replace(EXPERIMENT.presets["digits"].config, updates=2, cells=("harmful",))))
    assert len(found) == 1 + len(privileged.DIGITS)
    assert all(0 <= row["test"] <= 100 for row in found)


@pytest.fixture(scope="module")
def body():
    """Return made-up examples of a body: 5 inputs, 3 steps of 2 numbers in the future, 32 bins."""
    made = stream(0, "body")
    parts = [
        Part(torch.randn(n, 5, generator=made), torch.randn(n, 3, 2, generator=made), torch.arange(n) % BINS)
        for n in (48, 9, 9)
    ]
    return PrivilegedData(*parts)


@pytest.mark.parametrize("form", ["label", "mix", "and-add"])
def test_swimmer_takes_the_steps_of_the_definition(form, body):
    config = bodies.Training(seed=3, rounds=2, student_steps=2, every=1, student_widths=(8, 8))
    found = swimmer.train(config, body, Arm(form, 2.0), 16)
    student, head = bodies.make_student(config, 5), relu_mlp((8, 6), stream(3, "head"))
    own, heads = list(student.parameters()), list(head.parameters())
    optimizer = torch.optim.Adam([*own, *heads], config.student_lr)
    batches = Stream(torch.arange(48), 16, stream(3, "batches"))
    expected = []
    for step in range(1, 5):
        rows = next(batches)
        for one in (*own, *heads):
            one.grad = None
        label = cross_entropy(student(body.train.x[rows]), body.train.y[rows])
        future = (head(student[:-1](body.train.x[rows])) - body.train.privileged[rows].flatten(1)).square().mean()
        first = torch.autograd.grad(label, own)
        second = torch.autograd.grad(future, [*own, *heads], materialize_grads=True)
        for one, g, h in zip(own, first, second, strict=False):
            one.grad = {"label": g, "mix": g + 2 * h, "and-add": g + 2 * h * (g * h > 0)}[form]
        if form != "label":
            for one, h in zip(heads, second[len(own) :], strict=True):
                one.grad = h
        optimizer.step()
        if step % 2 == 0:
            expected.append((step, *(bodies.mean_error(student, split) for split in (body.selection, body.test))))
    torch.testing.assert_close(torch.tensor(found), torch.tensor(expected))


def swum(**errors):
    """Return rows of Swimmer: six seeds, two weights, of which the first is chosen on held-out examples."""
    found = []
    for seed in range(6):
        for arm, error in errors.items():
            for weight, more in ((1, 0.0), (2, 0.1)):
                row = {"kind": "score", "cell": "Swimmer", "seed": seed, "arm": arm if arm == "label" else f"{arm} {weight}"}
                found.append({**row, "batch": 16, "selection": error + more, "selected": error + seed / 1000 - more / 10})
    return Rows({**row, "arm": str(row["arm"]).replace("_", "-")} for row in found)


def test_claims_of_swimmer():
    def words(rows):
        return {name: word for name, word in verdicts(rows, "swimmer").items() if name.startswith("swimmer")}

    assert set(words(swum(label=0.3, mix=0.2, and_add=0.1)).values()) == {"holds"}
    assert words(swum(label=0.2, mix=0.3, and_add=0.31)) == dict.fromkeys(words(swum(label=1)), "does not hold")
    rows = [{**row, "arm": f"{form} {w}"} for row in swum(label=0.3) for form in ("mix", "and-add") for w in (1, 2, 4)]
    assert set(EXPERIMENT.figures(Rows([*swum(label=0.3), *rows]))) == {"weights"}
