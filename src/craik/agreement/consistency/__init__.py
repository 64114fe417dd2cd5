"""Consistency: how much environments disagree about a minimum (thesis section 3.2.1; definition (2) / (3.1))."""

from craik.agreement.consistency.choices import Choices as Choices
from craik.agreement.consistency.direct import Walk as Walk
from craik.agreement.consistency.direct import walk as walk
from craik.agreement.consistency.karcher import karcher_mean as karcher_mean
from craik.agreement.consistency.landscape import Landscape as Landscape
from craik.agreement.consistency.landscape import landscape_of_functions as landscape_of_functions
from craik.agreement.consistency.landscape import landscape_of_model as landscape_of_model
from craik.agreement.consistency.propositions import proposition_1_bound as proposition_1_bound
from craik.agreement.consistency.propositions import proposition_2_bound as proposition_2_bound
from craik.agreement.consistency.propositions import proposition_2_rate as proposition_2_rate
from craik.agreement.consistency.propositions import proposition_3_bound as proposition_3_bound
from craik.agreement.consistency.propositions import proposition_3_inconsistency as proposition_3_inconsistency
from craik.agreement.consistency.score import LearningConsistency as LearningConsistency
from craik.agreement.consistency.score import PairScore as PairScore
from craik.agreement.consistency.score import Score as Score
from craik.agreement.consistency.score import ilc as ilc
from craik.agreement.consistency.score import inconsistency as inconsistency
