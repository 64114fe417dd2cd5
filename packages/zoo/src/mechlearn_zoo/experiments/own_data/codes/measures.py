"""What the claims of each board measure: points of AUC between two methods, mean over seeds; several cells."""

from mechlearn_zoo.experiments.own_data.codes.run import CELLS
from mechlearn_zoo.experiments.own_data.comparing import TAUGHT
from mechlearn_zoo.experiments.own_data.measures import difference, least, share_of_gain

__all__ = ["TAUGHT", "difference", "least", "share_of_gain"]

CODED = tuple(cell for cell in CELLS["codes"].values() if cell["code"])
FEW = tuple(cell for cell in CELLS["codes"].values() if cell["size"] == "8x53")
CLINICS = tuple(CELLS["weak"].values())
REVERSED, SHUFFLED, KEPT = (
    tuple(cell for cell in CELLS["tag"].values() if cell["new"] == new) for new in ("reversed", "shuffled", "as before")
)
TURNED = REVERSED + SHUFFLED
