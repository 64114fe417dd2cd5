"""Models of a world, or of the other agents in it, learnt without reward and then used: dreamt in, planned in, looked at."""
