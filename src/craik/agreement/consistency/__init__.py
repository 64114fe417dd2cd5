"""Consistency: how much environments disagree about a minimum (thesis section 3.2.1; definition (2) / (3.1))."""

from craik.agreement.consistency.karcher import karcher_mean as karcher_mean
from craik.agreement.consistency.propositions import proposition_1_bound as proposition_1_bound
from craik.agreement.consistency.propositions import proposition_2_bound as proposition_2_bound
from craik.agreement.consistency.propositions import proposition_2_rate as proposition_2_rate
from craik.agreement.consistency.propositions import proposition_3_bound as proposition_3_bound
from craik.agreement.consistency.propositions import proposition_3_inconsistency as proposition_3_inconsistency
