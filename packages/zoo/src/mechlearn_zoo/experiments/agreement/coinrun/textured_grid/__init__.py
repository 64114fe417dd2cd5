"""A grid world whose levels look different and work alike: a stand-in for CoinRun that runs anywhere.

Every level has a layout and textures of its own (colours of floor and walls, a pattern on the floor); agent and goal look the
same everywhere, and movement is the same. The expert is exact: with d(s) the number of steps from s to the goal, pi*(a | s)
is proportional to exp(-d(s after a) / temperature).

The texts have no such world: it replaces CoinRun (thesis section 3.3.3) where the simulator is not at hand.
"""
