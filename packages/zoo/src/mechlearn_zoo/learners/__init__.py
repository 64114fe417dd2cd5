"""What several experiments share: training loops, an actor-critic, PPO with bonuses, plots and films, all plain functions."""
