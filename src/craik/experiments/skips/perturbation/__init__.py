"""What happens when the physics changes in the middle of training: from funnels without bounce to the standard ones."""
