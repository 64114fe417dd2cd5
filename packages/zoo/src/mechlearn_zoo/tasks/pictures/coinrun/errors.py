"""What can go wrong with the simulator, the expert and the recorded file."""


class CollectorError(Exception):
    """One sentence for the user: the rule, what was found, the way out."""
