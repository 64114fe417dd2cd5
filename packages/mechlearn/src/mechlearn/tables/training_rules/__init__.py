"""Ways to train a whole stack at once beside averaging and the AND-mask."""
