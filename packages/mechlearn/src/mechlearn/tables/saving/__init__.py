"""Models to keep, and results on the way to one; no pickle is written or read."""

from mechlearn.tables.saving.cards import load as load
from mechlearn.tables.saving.cards import save as save
from mechlearn.tables.saving.models import Model as Model
from mechlearn.tables.saving.models import Stepping as Stepping
from mechlearn.tables.saving.models import model_of as model_of
