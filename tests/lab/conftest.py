from fake_copies import package

__all__ = ["package"]
