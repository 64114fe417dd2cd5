"""Learning to distill trajectories (LDT): privileged data, there in training only, becomes targets for a student's activations.

A teacher T(x*; phi) reads what a student S(x; theta) never sees, and sets targets h* (and gates m) for the student's hidden
activations h. It is trained by the student's validation loss, differentiated through the student's own training steps:
`meta_gradient` is that derivative, `Distillation` the training loop's step around it. Thesis chapter 4 and appendix C.

Symbols are in docs/notation.md, choices that change a result in docs/evidence/deviations.md.
"""

from mechlearn.distill.examples.batches import Batches, Examples, Labelled
from mechlearn.distill.examples.inputs import Ragged
from mechlearn.distill.examples.splits import Split, split_rows
from mechlearn.distill.forward.calls import calls
from mechlearn.distill.forward.students import OUTPUT
from mechlearn.distill.lesson import Lesson
from mechlearn.distill.losses import GatedSquaredError, HiddenSquaredError, KullbackLeibler, LabelLoss, TeachingLoss
from mechlearn.distill.meta import MetaGradient, meta_gradient
from mechlearn.distill.optimisers.adam import Adam
from mechlearn.distill.optimisers.counterparts import inner_from
from mechlearn.distill.optimisers.inner import Inner, InnerState
from mechlearn.distill.optimisers.sgd import SGD
from mechlearn.distill.optimisers.warm_start import state_from
from mechlearn.distill.ordinary import teach
from mechlearn.distill.populations.distillation import PopulationDistillation, PopulationTaught
from mechlearn.distill.populations.population import Every, Population, WhenSolved
from mechlearn.distill.records import MetaRecord, StudentRecord, Taught
from mechlearn.distill.saving.cards import Card, read_card, settings_of
from mechlearn.distill.saving.files import load_student, load_teacher, save_student, save_teacher
from mechlearn.distill.step import Distillation
from mechlearn.distill.strategies import Adjoint, Checkpoint, Implicit, Strategy, Truncated, Unroll
from mechlearn.distill.strategies.differences import Difference, finite_differences
from mechlearn.distill.strategies.memory import Forecast, forecast_memory
from mechlearn.distill.strategies.unrolling import Unrolling
from mechlearn.distill.teachers.hoisting import Hoisting
from mechlearn.distill.teachers.mixture import TimeMixture
from mechlearn.distill.teachers.reading import Reading, read_teacher
from mechlearn.distill.teachers.targets import Target, TeacherOutput
from mechlearn.distill.teachers.units import UnitsTeacher

__all__ = [
    "OUTPUT",
    "SGD",
    "Adam",
    "Adjoint",
    "Batches",
    "Card",
    "Checkpoint",
    "Difference",
    "Distillation",
    "Every",
    "Examples",
    "Forecast",
    "GatedSquaredError",
    "HiddenSquaredError",
    "Hoisting",
    "Implicit",
    "Inner",
    "InnerState",
    "KullbackLeibler",
    "LabelLoss",
    "Labelled",
    "Lesson",
    "MetaGradient",
    "MetaRecord",
    "Population",
    "PopulationDistillation",
    "PopulationTaught",
    "Ragged",
    "Reading",
    "Split",
    "Strategy",
    "StudentRecord",
    "Target",
    "Taught",
    "TeacherOutput",
    "TeachingLoss",
    "TimeMixture",
    "Truncated",
    "UnitsTeacher",
    "Unroll",
    "Unrolling",
    "WhenSolved",
    "calls",
    "finite_differences",
    "forecast_memory",
    "inner_from",
    "load_student",
    "load_teacher",
    "meta_gradient",
    "read_card",
    "read_teacher",
    "save_student",
    "save_teacher",
    "settings_of",
    "split_rows",
    "state_from",
    "teach",
]
