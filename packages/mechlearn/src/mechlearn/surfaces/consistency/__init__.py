"""Consistency: how much environments disagree about a minimum (thesis section 3.2.1; definition (2) / (3.1))."""
