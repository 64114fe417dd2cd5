"""Reinforcement learning: methods of `craik.methods.control` where their claims can fail."""
