import sys
from importlib.metadata import distributions, packages_distributions

from claimlab.running.provenance.made import loaded


def test_the_distributions_of_loaded_modules_are_those_that_the_standard_library_finds():
    everything = packages_distributions()
    tops = {name for name in sys.modules if "." not in name} & set(everything)
    found = {one for top in tops for one in everything[top]}
    assert {"torch", "numpy", "pytest"} <= found
    names = [one.metadata["Name"] for one in distributions()]
    assert loaded([*names, "claimlab-of-nobody"]) == sorted(found & set(names))
    assert loaded([]) == []
