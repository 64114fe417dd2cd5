"""A teacher sees through label noise: task B, where labels are drawn at random and the privileged data know the odds."""
