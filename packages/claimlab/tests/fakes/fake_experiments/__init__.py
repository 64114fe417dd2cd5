"""Somebody's experiments: of craik they import the lab alone. `fake_copies.package` gives a test a copy to edit."""
