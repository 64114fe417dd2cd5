"""What the claims of privileged columns measure: points between two methods, mean over seeds; several cells."""

from mechlearn_zoo.experiments.own_data.measures import difference, least, on_average
from mechlearn_zoo.experiments.own_data.privileged.run import CELLS, FORM_CELLS, TAUGHT

__all__ = ["difference", "least", "on_average"]

EVERY = tuple(CELLS.values())
NETWORKS = tuple(CELLS[cell] for cell in TAUGHT)
FORMS = tuple(FORM_CELLS.values())
