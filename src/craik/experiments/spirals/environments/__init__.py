"""How many environments it takes: averaging needs a thousand before it finds the spirals, the AND-mask a handful."""
