from fake_copies import package, trainings

__all__ = ["package", "trainings"]
