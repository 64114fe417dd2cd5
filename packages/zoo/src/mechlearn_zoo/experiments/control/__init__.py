"""Reinforcement learning: methods of `mechlearn_zoo.methods.control` where their claims can fail."""
