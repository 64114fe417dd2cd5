"""Models to keep, and results on the way to one; no pickle is written or read."""

from craik.estimators.saving.cards import load as load
from craik.estimators.saving.cards import save as save
from craik.estimators.saving.models import SAVED as SAVED
from craik.estimators.saving.models import Model as Model
from craik.estimators.saving.models import Stepping as Stepping
from craik.estimators.saving.models import model_of as model_of
