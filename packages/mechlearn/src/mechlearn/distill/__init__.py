"""Learning to distill trajectories (LDT): privileged data, there in training only, becomes targets for a student's activations.

A teacher T(x*; phi) reads what a student S(x; theta) never sees, and sets targets h* (and gates m) for the student's hidden
activations h. It is trained by the student's validation loss, differentiated through the student's own training steps:
`meta_gradient` is that derivative, `Distillation` the training loop's step around it. Thesis chapter 4 and appendix C.

Symbols are in docs/notation.md, choices that change a result in docs/evidence/deviations.md.
"""

from craik.distill.examples.batches import Batches, Examples, Labelled
from craik.distill.examples.inputs import Ragged
from craik.distill.examples.splits import Split, split_rows
from craik.distill.forward.calls import calls
from craik.distill.forward.students import OUTPUT
from craik.distill.lesson import Lesson
from craik.distill.losses import GatedSquaredError, HiddenSquaredError, KullbackLeibler, LabelLoss, TeachingLoss
from craik.distill.meta import MetaGradient, meta_gradient
from craik.distill.optimisers.adam import Adam
from craik.distill.optimisers.counterparts import inner_from
from craik.distill.optimisers.inner import Inner, InnerState
from craik.distill.optimisers.sgd import SGD
from craik.distill.optimisers.warm_start import state_from
from craik.distill.ordinary import teach
from craik.distill.populations.distillation import PopulationDistillation, PopulationTaught
from craik.distill.populations.population import Every, Population, WhenSolved
from craik.distill.saving.cards import Card, read_card, settings_of
from craik.distill.saving.files import load_student, load_teacher, save_student, save_teacher
from craik.distill.step import Distillation
from craik.distill.strategies import Adjoint, Checkpoint, Implicit, Strategy, Truncated, Unroll
from craik.distill.strategies.differences import Difference, finite_differences
from craik.distill.strategies.memory import Forecast, forecast_memory
from craik.distill.strategies.unrolling import Unrolling
from craik.distill.taught import MetaRecord, StudentRecord, Taught
from craik.distill.teachers.hoisting import Hoisting
from craik.distill.teachers.mixture import TimeMixture
from craik.distill.teachers.reading import Reading, read_teacher
from craik.distill.teachers.targets import Target, TeacherOutput
from craik.distill.teachers.units import UnitsTeacher

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
