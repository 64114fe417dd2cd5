"""What the AND-mask's success on the spirals hangs on: one setting changed at a time."""
