"""How operations treat rows: one file a family; an operation that no table names mixes them."""

from mechlearn.agreement.compiled.calls import Rule
from mechlearn.agreement.compiled.tables import contractions, indexing, networks, reductions, views
from mechlearn.agreement.compiled.tables.pointwise import NAMES as POINTWISE
from mechlearn.agreement.compiled.tables.pointwise import is_pointwise, pointwise

RULES: dict[str, Rule] = {
    **dict.fromkeys(POINTWISE, pointwise),
    "aten.copy": pointwise,  # of the second operand's entries; the first has the shape
    **views.RULES,
    **reductions.RULES,
    **contractions.RULES,
    **indexing.RULES,
    **networks.RULES,
}
"""By the operation's name without its overload."""

__all__ = ["RULES", "is_pointwise", "pointwise"]
