"""What experiments share: training loops, an actor-critic, PPO with bonuses, a Q-learner, a planner, plots and films."""
