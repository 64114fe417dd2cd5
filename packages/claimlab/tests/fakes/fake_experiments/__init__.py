"""Somebody's experiments: of mechlearn they import the lab alone. `fake_copies.package` gives a test a copy to edit."""
