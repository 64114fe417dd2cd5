"""Reinforcement learning by other people: targets, bonuses, planners; loops, networks and optimisers stay the user's."""
