"""From a file's columns to an answer: what `craik fit` shows and keeps, as plain values for JSON and for the report."""

from craik.estimators.answering.privileged import distill_answer as distill_answer
from craik.estimators.answering.questions import Answer as Answer
from craik.estimators.answering.questions import Question as Question
from craik.estimators.answering.sites import agreement_answer as agreement_answer
from craik.estimators.answering.trajectories import skips_answer as skips_answer
