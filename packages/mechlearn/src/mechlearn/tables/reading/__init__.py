"""Files to tables and trajectories."""

from craik.estimators.reading.files import clear as clear
from craik.estimators.reading.files import column as column
from craik.estimators.reading.files import digest as digest
from craik.estimators.reading.files import read_table as read_table
from craik.estimators.reading.large import RAW as RAW
from craik.estimators.reading.large import read_batches as read_batches
from craik.estimators.reading.large import read_part as read_part
from craik.estimators.reading.recorded import ORDER as ORDER
from craik.estimators.reading.recorded import Recorded as Recorded
from craik.estimators.reading.recorded import read_trajectories as read_trajectories
