"""Somebody's experiments: they import claimlab alone. `fake_copies.package` gives a test a copy to edit."""
