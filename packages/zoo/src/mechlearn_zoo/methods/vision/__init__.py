"""Pictures: captions that point at them, and what can be read of them from recordings."""
