from fake_experiments import package

__all__ = ["package"]
