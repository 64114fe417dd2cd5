"""Surfaces: what the losses of several environments look like around a point (thesis section 3.2)."""

from craik.surfaces.auditing import Audit as Audit
from craik.surfaces.auditing import audit as audit
from craik.surfaces.consistency.definition import Consistency as Consistency
from craik.surfaces.consistency.direct import Walk as Walk
from craik.surfaces.consistency.direct import walk as walk
from craik.surfaces.consistency.karcher import karcher_mean as karcher_mean
from craik.surfaces.consistency.propositions import proposition_1_bound as proposition_1_bound
from craik.surfaces.consistency.propositions import proposition_2_bound as proposition_2_bound
from craik.surfaces.consistency.propositions import proposition_2_rate as proposition_2_rate
from craik.surfaces.consistency.propositions import proposition_3_bound as proposition_3_bound
from craik.surfaces.consistency.propositions import proposition_3_inconsistency as proposition_3_inconsistency
from craik.surfaces.consistency.score import LearningConsistency as LearningConsistency
from craik.surfaces.consistency.score import PairScore as PairScore
from craik.surfaces.consistency.score import Score as Score
from craik.surfaces.consistency.score import ilc as ilc
from craik.surfaces.consistency.score import inconsistency as inconsistency
from craik.surfaces.consistency.searches import Ascent as Ascent
from craik.surfaces.consistency.searches import Exact as Exact
from craik.surfaces.consistency.searches import Subspace as Subspace
from craik.surfaces.landscape import Landscape as Landscape
from craik.surfaces.landscape import landscape_of_functions as landscape_of_functions
from craik.surfaces.model_landscape import landscape_of_model as landscape_of_model
