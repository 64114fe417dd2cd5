"""Words that a call does not have end in a sentence: every choice and every large door, and the words people bring along."""

import copy
import dataclasses
import inspect
import pickle

import pytest
import torch
from torch import nn

import mechlearn
from mechlearn import agreement, distill, skips, surfaces
from mechlearn.arguments import Choice, worded
from mechlearn.environments import Environments

PACKAGES = (agreement, distill, skips, surfaces)
OBJECTS = {f"{package.__name__}.{name}": getattr(package, name) for package in PACKAGES for name in dir(package)}
CLASSES = {name: one for name, one in OBJECTS.items() if isinstance(one, type)}
CHOICES = {
    name: one
    for name, one in CLASSES.items()
    if dataclasses.is_dataclass(one) and one.__dataclass_params__.frozen and not issubclass(one, Environments)
}
RESULTS = {"Landscape", "Statistics", "Predictor", "Record", "Card"}
"""Frozen, and made by the library."""

DOORS = [
    *(agreement.Agreement, agreement.Agreement.backward, agreement.Agreement.accumulate, agreement.Agreement.explain),
    *(agreement.TemporalAndMaskAdam, agreement.TemporalMask),
    *(distill.meta_gradient, distill.teach, distill.forecast_memory, distill.Distillation, distill.Distillation.student_steps),
    *(skips.match, skips.training_step),
    *(surfaces.audit, surfaces.landscape_of_model, surfaces.surface_of_model, surfaces.line, surfaces.plane),
]


@pytest.mark.parametrize("name", [name for name in CHOICES if name.rpartition(".")[2] not in RESULTS])
def test_every_choice_refuses_words_that_it_does_not_have_in_a_sentence(name):
    made = CHOICES[name]
    assert issubclass(made, Choice)
    with pytest.raises(TypeError, match=rf"`{made.__name__}` should be called with arguments that it has: .*Found `qqqq`\. L"):
        made(qqqq=1)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__qualname__)
def test_every_large_door_does(door):
    with pytest.raises(TypeError, match=rf"`{door.__qualname__}` should be called with .*Found `qqqq`\. Leave it out"):
        door(qqqq=1)


def losses(model):
    return model(torch.ones(4, 2))[:, 0]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda m, a: agreement.AndMask(tau=1.0), "threshold, rescale. Found `tau`. Write threshold=..."),
        (lambda m, a: a.backward(losses(m), env=[0, 1, 0, 1]), "Found `env`. Write environments=..."),
        (lambda m, a: a.backward(losses(m), domains=[0, 1, 0, 1]), "Found `domains`. Write environments=..."),
        (lambda m, a: a.accumulate(losses(m), enviroments=[0, 1, 0, 1]), "Found `enviroments`. Write environments=..."),
        (lambda m, a: a.backward(losses(m), [0, 1, 0, 1], retain_graph=True), "run the model again for a second call"),
        (lambda m, a: a.backward(losses(m), [0, 1, 0, 1], create_graph=True), "a penalty on gradients goes into the losses"),
        (lambda m, a: agreement.Agreement(m, agreement.AndMask(), normalize="tensor"), "Write normalise=..."),
        (lambda m, a: skips.Greedy(H=3), "Found `H`. Write horizon=..."),
        (lambda m, a: skips.SoftGreedy(3, tau=0.1), "Found `tau`. Write temperature=..."),
        (lambda m, a: distill.SGD(learning_rate=0.1), "Found `learning_rate`. Write lr=..."),
        (lambda m, a: distill.Hoisting(Chunk=3), "Found `Chunk`. Write chunk=..."),
    ],
)
def test_the_words_of_papers_and_other_libraries_are_known(call, sentence):
    model = nn.Linear(2, 1)
    with pytest.raises(TypeError) as error:
        call(model, agreement.Agreement(model, agreement.AndMask()))
    assert sentence in str(error.value)
    assert model.weight.grad is None


def test_choices_are_what_they_were():
    rule = agreement.AndMask(threshold=0.5)
    assert rule == agreement.AndMask(0.5) == copy.deepcopy(rule) == pickle.loads(pickle.dumps(rule))
    assert dataclasses.replace(rule, threshold=0.7) == agreement.AndMask(0.7)
    assert list(inspect.signature(agreement.AndMask).parameters) == ["threshold", "rescale"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        rule.threshold = 1.0


def test_a_rule_of_ones_own_may_take_what_it_likes():
    class Open(agreement.AndMask):
        def __init__(self, **settings):
            super().__init__(settings["tau"])

    assert Open(tau=0.5).threshold == 0.5


def test_other_mistakes_keep_their_words():
    @worded
    def double(x: int, *, by: int = 2) -> int:
        return x * by + len(x)

    with pytest.raises(TypeError, match=r"object of type 'int' has no len\(\)"):
        inspect.unwrap(double)(3)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        double()
    with pytest.raises(TypeError, match=r"should be called with arguments that it has: x, by\. Found `times`"):
        double(3, times=2)
    assert double.__name__ == "double"


def test_the_list_of_choices_is_no_short_one():
    assert len(CHOICES) > 40
    assert mechlearn.agreement.AndMask in CHOICES.values()
