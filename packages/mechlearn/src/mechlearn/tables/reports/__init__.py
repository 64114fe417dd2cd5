"""From a file's columns to an answer: what `mechlearn fit` shows and keeps, as plain values for JSON and for the report."""

from mechlearn.tables.reports.privileged import distill_answer as distill_answer
from mechlearn.tables.reports.questions import Answer as Answer
from mechlearn.tables.reports.questions import Question as Question
from mechlearn.tables.reports.sites import agreement_answer as agreement_answer
from mechlearn.tables.reports.trajectories import skips_answer as skips_answer
