"""Files to tables and trajectories."""

from mechlearn.tables.reading.files import column as column
from mechlearn.tables.reading.files import digest as digest
from mechlearn.tables.reading.files import read_table as read_table
from mechlearn.tables.reading.large import RAW as RAW
from mechlearn.tables.reading.large import read_batches as read_batches
from mechlearn.tables.reading.large import read_part as read_part
from mechlearn.tables.reading.recorded import Recorded as Recorded
from mechlearn.tables.reading.recorded import read_trajectories as read_trajectories
