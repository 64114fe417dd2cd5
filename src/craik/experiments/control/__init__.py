"""Reinforcement learning methods of the reading digest, each where its effect can be seen."""
