"""Learning to distill trajectories (LDT): privileged data, there in training only, becomes targets for a student's activations.

A teacher T(x*; phi) reads what a student S(x; theta) never sees, and sets targets h* (and gates m) for the student's hidden
activations h. It is trained by the student's validation loss, differentiated through the student's own training steps:
`meta_gradient` is that derivative, `Distillation` the training loop's step around it. Thesis chapter 4 and appendix C.

Symbols are in docs/notation.md, choices that change a result in docs/evidence/deviations.md.
"""

from mechlearn.distill.contexts import shuffle_contexts as shuffle_contexts
from mechlearn.distill.divergence import privileged_divergence as privileged_divergence
from mechlearn.distill.examples.batches import Batches as Batches
from mechlearn.distill.examples.batches import Examples as Examples
from mechlearn.distill.examples.batches import Labelled as Labelled
from mechlearn.distill.examples.inputs import Ragged as Ragged
from mechlearn.distill.examples.splits import Split as Split
from mechlearn.distill.examples.splits import split_rows as split_rows
from mechlearn.distill.fork import Chosen as Chosen
from mechlearn.distill.fork import Fork as Fork
from mechlearn.distill.forward.calls import calls as calls
from mechlearn.distill.forward.students import OUTPUT as OUTPUT
from mechlearn.distill.lesson import Lesson as Lesson
from mechlearn.distill.losses import GatedSquaredError as GatedSquaredError
from mechlearn.distill.losses import HiddenSquaredError as HiddenSquaredError
from mechlearn.distill.losses import KullbackLeibler as KullbackLeibler
from mechlearn.distill.losses import LabelLoss as LabelLoss
from mechlearn.distill.losses import TeachingLoss as TeachingLoss
from mechlearn.distill.meta import MetaGradient as MetaGradient
from mechlearn.distill.meta import meta_gradient as meta_gradient
from mechlearn.distill.optimisers.adam import Adam as Adam
from mechlearn.distill.optimisers.counterparts import inner_from as inner_from
from mechlearn.distill.optimisers.inner import Inner as Inner
from mechlearn.distill.optimisers.inner import InnerState as InnerState
from mechlearn.distill.optimisers.sgd import SGD as SGD
from mechlearn.distill.optimisers.warm_start import state_from as state_from
from mechlearn.distill.ordinary import teach as teach
from mechlearn.distill.populations.distillation import PopulationDistillation as PopulationDistillation
from mechlearn.distill.populations.distillation import PopulationTaught as PopulationTaught
from mechlearn.distill.populations.population import Every as Every
from mechlearn.distill.populations.population import Population as Population
from mechlearn.distill.populations.population import WhenSolved as WhenSolved
from mechlearn.distill.records import MetaRecord as MetaRecord
from mechlearn.distill.records import StudentRecord as StudentRecord
from mechlearn.distill.records import Taught as Taught
from mechlearn.distill.saving.cards import Card as Card
from mechlearn.distill.saving.cards import read_card as read_card
from mechlearn.distill.saving.cards import settings_of as settings_of
from mechlearn.distill.saving.files import load_student as load_student
from mechlearn.distill.saving.files import load_teacher as load_teacher
from mechlearn.distill.saving.files import save_student as save_student
from mechlearn.distill.saving.files import save_teacher as save_teacher
from mechlearn.distill.step import Distillation as Distillation
from mechlearn.distill.strategies import Adjoint as Adjoint
from mechlearn.distill.strategies import Checkpoint as Checkpoint
from mechlearn.distill.strategies import Implicit as Implicit
from mechlearn.distill.strategies import Strategy as Strategy
from mechlearn.distill.strategies import Truncated as Truncated
from mechlearn.distill.strategies import Unroll as Unroll
from mechlearn.distill.strategies.differences import Difference as Difference
from mechlearn.distill.strategies.differences import finite_differences as finite_differences
from mechlearn.distill.strategies.memory import Forecast as Forecast
from mechlearn.distill.strategies.memory import forecast_memory as forecast_memory
from mechlearn.distill.strategies.unrolling import Unrolling as Unrolling
from mechlearn.distill.teachers.hoisting import Hoisting as Hoisting
from mechlearn.distill.teachers.mixture import TimeMixture as TimeMixture
from mechlearn.distill.teachers.reading import Reading as Reading
from mechlearn.distill.teachers.reading import read_teacher as read_teacher
from mechlearn.distill.teachers.targets import Target as Target
from mechlearn.distill.teachers.targets import TeacherOutput as TeacherOutput
from mechlearn.distill.teachers.units import UnitsTeacher as UnitsTeacher
