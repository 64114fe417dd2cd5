"""Ways to match predictions with frames, one file each, and what they share."""
