from fake_commands import asleep, command
from fake_copies import package, trainings

__all__ = ["asleep", "command", "package", "trainings"]
