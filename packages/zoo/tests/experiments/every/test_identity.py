"""What the records' identities cover: each experiment's own systems and tasks, and no other's."""

import pytest

from claimlab.experiment import listing
from claimlab.running.provenance.reach import Modules, reached
from claimlab.running.provenance.source_tree import folder_of, sources

PACKAGE = "mechlearn_zoo.experiments"
MODULES = Modules(tuple((top, folder_of(top)) for top in sources(PACKAGE)))
WHERE = {one.name: one.module for one in listing(PACKAGE)}


@pytest.mark.parametrize(
    ("experiment", "covered", "not_covered"),
    [
        ("linear", "mechlearn.agreement.rules.and_mask", "mechlearn.skips."),
        ("spirals", "mechlearn_zoo.tasks.boards.spirals", "mechlearn_zoo.tasks.frames."),
        ("skips-accuracy", "mechlearn.skips.matchings.greedy", "mechlearn.distill."),
        ("distill-xor", "mechlearn.distill.step", "mechlearn.agreement."),
        ("max-chain", "mechlearn_zoo.methods.control.disagreement", "mechlearn.agreement."),
    ],
)
def test_a_changed_line_elsewhere_makes_no_record_stale(experiment, covered, not_covered):
    found = reached(MODULES, WHERE[experiment])
    assert covered in found
    assert not [module for module in found if module.startswith(not_covered)]


@pytest.mark.parametrize("experiment", WHERE)
def test_its_own_run_is_covered_and_its_claims_and_figures_are_not(experiment):
    found = reached(MODULES, WHERE[experiment])
    assert f"{WHERE[experiment]}.run" in found
    assert f"{WHERE[experiment]}.measures" not in found
