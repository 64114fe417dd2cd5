"""A made-up experiment that declares ranges."""
