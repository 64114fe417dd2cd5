"""Worlds to act in, a batch at a time: torch in, torch out; an episode that ends begins anew in the same step."""
