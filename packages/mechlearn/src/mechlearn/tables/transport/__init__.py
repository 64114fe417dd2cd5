"""Will my model survive the next site? Random folds beside folds of whole sites, the next site's interval, and the room."""

from mechlearn.tables.transport.answer import Transport as Transport
from mechlearn.tables.transport.comparison import transport as transport
from mechlearn.tables.transport.comparison import transport_table as transport_table
from mechlearn.tables.transport.evaluation import Failure as Failure
from mechlearn.tables.transport.intervals import Interval as Interval
from mechlearn.tables.transport.learners import SIMPLE as SIMPLE
from mechlearn.tables.transport.room import Room as Room
from mechlearn.tables.transport.scored import Scored as Scored
